"""Reads what the probe wrote, strictly: docs/plan-and-records.md, "Records".

Every error names file and line. A file that the probe could not finish (`.part`) is read with
`partial=True`: its last line may be cut, and its footer may be missing.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import (
    Begin,
    CaseRecord,
    Check,
    ClockError,
    ConfigRecord,
    Footer,
    Header,
    Nrep,
    Order,
    ProbeRecord,
    Refused,
    Samples,
)

SCHEMA = 1
_INT64_MAX = 2**63 - 1
_REMEDY = "the file is damaged, or probe and Plumbline are of different versions (make build)"

_decoder = msgspec.json.Decoder(ProbeRecord)


def decode(path: Path, *, partial: bool = False) -> list[ProbeRecord]:
    """All records of a file, in order. Raises PlumblineError that names file and line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}") from error
    lines = data.split(b"\n")
    cut = lines.pop()  # what follows the last newline: nothing, unless the writer was stopped
    if cut and not partial:
        raise _bad(path, len(lines) + 1, "the last line is cut")
    records: list[ProbeRecord] = []
    grammar = _Grammar()
    for number, line in enumerate(lines, 1):
        try:
            record = _decoder.decode(line)
            grammar.accept(record)
        except (msgspec.DecodeError, ValueError) as error:
            raise _bad(path, number, str(error)) from error
        records.append(record)
    if not partial and not grammar.ended:
        raise _bad(path, len(lines) + 1, "no footer: the probe did not finish")
    return records


def _bad(path: Path, line: int, what: str) -> PlumblineError:
    return PlumblineError(f"{path}, line {line}: {what}; {_REMEDY}")


class _Grammar:
    """The order of records: header first, a thing before what refers to it, footer last."""

    def __init__(self) -> None:
        self.started = self.ended = False
        self.configs = {"default"}
        self.cases: set[int] = set()
        self.begun: int | None = None  # the case whose check is under way
        self.seen: set[tuple[str, int, int]] = set()

    def accept(self, record: ProbeRecord) -> None:
        if self.ended:
            raise ValueError("a record after the footer")
        if isinstance(record, Header) == self.started:
            raise ValueError("the header must be the first record, once")
        match record:
            case Header():
                if record.schema != SCHEMA:
                    raise ValueError(
                        f"record schema {record.schema}, this Plumbline reads {SCHEMA}"
                    )
                self.started = True
            case ConfigRecord():
                if record.id in self.configs:
                    raise ValueError(f"config {record.id} a second time")
                self.configs.add(record.id)
            case CaseRecord():
                if record.config not in self.configs:
                    raise ValueError(f"case {record.case}: no config {record.config}")
                if record.case in self.cases:
                    raise ValueError(f"case {record.case} a second time")
                self.cases.add(record.case)
            case Begin():
                self._known("begin", record.case)
                if self.begun is not None:
                    raise ValueError(f"begin of case {record.case} before the check of another")
                self.begun = record.case
            case Check():
                if record.case != self.begun:
                    raise ValueError(f"check of case {record.case}, which has not begun")
                self.begun = None
            case Samples():
                self._of_case("samples", record.case, record.block)
                for value in (*record.warmup_ns, *record.ns):
                    if not 0 <= value <= _INT64_MAX:
                        raise ValueError(f"case {record.case}: {value} is no time in nanoseconds")
            case Order():
                self._once("order", 0, record.block)
                if unknown := set(record.cases) - self.cases:
                    raise ValueError(f"order of block {record.block}: no case {min(unknown)}")
            case Refused():
                self._of_case("refused", record.case, 0)
            case Nrep():
                self._of_case("nrep", record.case, 0)
            case ClockError():
                self._once(f"clock_error at the {record.when}", 0, 0)
            case Footer():
                self.ended = True

    def _known(self, kind: str, case: int) -> None:
        if case not in self.cases:
            raise ValueError(f"{kind} of case {case}, which has no case record")

    def _of_case(self, kind: str, case: int, block: int) -> None:
        self._known(kind, case)
        self._once(kind, case, block)

    def _once(self, kind: str, case: int, block: int) -> None:
        if (kind, case, block) in self.seen:
            raise ValueError(f"{kind} of case {case}, block {block} a second time")
        self.seen.add((kind, case, block))
