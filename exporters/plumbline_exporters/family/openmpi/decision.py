"""What exported rules files of coll/tuned decide for a call: the classic one of Open MPI 4 and 5,
and the JSON one of Open MPI 6, read as the library reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from plumbline_db.records import UNBOUNDED_BYTES, Library
from plumbline_exporters.decision import Call, Decision
from plumbline_exporters.family.openmpi import mca_params, rules_reader, tuned

_SUFFIXES = ("", "_tree_fanout", "_segmentsize", "_max_requests")
_End = int | Literal["inf"]


class _Range(msgspec.Struct, frozen=True):
    msg_size_min: int
    msg_size_max: _End
    alg: int
    faninout: int
    seg_size: int
    reqs: int


class _Block(msgspec.Struct, frozen=True):
    comm_size_min: int
    comm_size_max: _End
    comm_rank_distribution: str
    rules: list[_Range]

    def is_for(self, call: Call) -> bool:
        one_node = self.comm_rank_distribution == mca_params.ONE_NODE
        return (call.nodes == 1 or not one_node) and self.comm_size_min <= call.nprocs <= _end(
            self.comm_size_max
        )


class _File(msgspec.Struct, frozen=True):
    collectives: dict[str, list[_Block]]


def of_files(files: Mapping[str, str], call: Call, library: Library) -> Decision | None:
    """The algorithm that a rules file among `files` (texts by name) decides on; None where it
    leaves the call to the library, or has no rules for its function."""
    name = mca_params.file_name(library)
    collective = tuned.COLLECTIVES.get(call.function)
    if name not in files or collective is None:
        return None
    size = _looked_up(collective, call)
    numbers = (
        _of_json(files[name], call, size)
        if tuned.version(library) >= tuned.JSON_SINCE
        else rules_reader.read(files[name]).decision(collective.rule_id, call.nprocs, size)
    )
    if not numbers[0]:
        return None
    values = [tuned.name_in(call.function, numbers[0], [tuned.version(library)])]
    values += [str(number) if number else "" for number in numbers[1:]]
    prefix = tuned.prefix(call.function)
    chosen = {
        prefix + suffix: value for suffix, value in zip(_SUFFIXES, values, strict=True) if value
    }
    return Decision(name, configuration=chosen)


def _looked_up(collective: tuned.Collective, call: Call) -> int:
    """The size under which the library looks up a call."""
    if collective.size == "none":
        return 0
    if collective.size == "average":
        return call.bytes // call.nprocs
    if collective.size == "blocks":
        return -(-call.bytes // call.nprocs) * call.nprocs
    return call.bytes


def _of_json(text: str, call: Call, size: int) -> list[int]:
    file = msgspec.json.decode(text, type=_File)
    blocks = file.collectives.get(call.function.removeprefix("MPI_").lower(), [])
    block = next((block for block in blocks if block.is_for(call)), None)
    for rule in block.rules if block else ():
        if rule.msg_size_min <= size <= _end(rule.msg_size_max):
            return [rule.alg, rule.faninout, rule.seg_size, rule.reqs]
    return [0, 0, 0, 0]


def _end(value: _End) -> int:
    return value if isinstance(value, int) else UNBOUNDED_BYTES
