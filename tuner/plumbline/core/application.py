"""An application's use of collectives, as `plumbline profile` writes it (docs/application.md), and
what a campaign makes of it: which sizes it measures, and what each cell weighs.

Pure, but for reading the file. A weight is the share in the application's work: its collective time
without waiting. What ranks wait for each other no tuning removes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, Self, TypeVar

import msgspec

from plumbline.core.plan import COUNT_SHAPES, FUNCTIONS_IN_PARTS, REDUCTIONS, TYPE_BYTES
from plumbline.system.words import counted
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError, UsageError, command_name

# The share of an application's work that its heaviest cells make up together; the rest is ignored.
_WORTH = 0.99
# The most sizes of a function that are measured: as many as in a campaign without an application.
_MOST_SIZES = 21
# A call is represented by a measured size that is no farther away than this factor.
_REACH = 2.0
# Prefixes of functions that are recorded but not measured by campaigns.
_UNMEASURED = ("MPI_Alltoallw", "MPI_Neighbor_")


class _Cell(Protocol):
    @property
    def function(self) -> str: ...
    @property
    def bytes(self) -> int: ...


Key = TypeVar("Key")
Cell = TypeVar("Cell", bound=_Cell)


class Calls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls of one function with one volume on communicators of one shape. `calls` and `seconds`
    are those of a rank, on the average over all ranks of the job; `fastest_seconds` is the fastest
    call of the rank whose fastest one is slowest; `work_seconds` is what the calls take when nobody
    is late, as far as that can be told. `nodes`, `ppn`: ranks a node at most; None where nobody
    could say (inter-communicators). `bytes`: None where a rank does not know the volume.

    `type` and `counts`: the datatype (or its class, where campaigns measure none of it) and the
    count shape with most time; empty where nobody knows. `following` of the calls began sooner
    behind another collective than they took. `spread_seconds`: how far apart the ranks of a node
    enter, in the middle of sampled calls."""

    function: str
    nprocs: int
    nodes: int | None
    ppn: int | None
    bytes: int | None
    calls: float
    seconds: float
    fastest_seconds: float
    work_seconds: float
    type: str = ""
    counts: str = ""
    following: float = 0.0
    spread_seconds: float | None = None


def joined(sites: Iterable[Calls]) -> list[Calls]:
    """Calls of one function and volume at several places of a program are one."""
    calls_by_volume: dict[tuple[str, int | None], Calls] = {}
    for site in sites:
        calls_so_far = calls_by_volume.setdefault((site.function, site.bytes), site)
        if calls_so_far is not site:
            calls_by_volume[site.function, site.bytes] = msgspec.structs.replace(
                calls_so_far,
                calls=calls_so_far.calls + site.calls,
                seconds=calls_so_far.seconds + site.seconds,
                fastest_seconds=min(calls_so_far.fastest_seconds, site.fastest_seconds),
                work_seconds=calls_so_far.work_seconds + site.work_seconds,
            )
    return list(calls_by_volume.values())


def alike(calls: Sequence[Calls]) -> list[Calls]:
    """Return the calls that one campaign measures as the application makes them: all that do not
    ask for another value of a key than the first of them that asks for one."""
    chosen = way(calls)
    return [each for each in calls if way([each]).items() <= chosen.items()]


def way(calls: Iterable[Calls]) -> dict[str, str]:
    """Return the keys of a campaign about calls: the datatype, the count shape and the way of use,
    as far as they are known and not the usual ones. The first call that asks for a key decides."""
    keys: dict[str, str] = {}
    for each in calls:
        if each.function in REDUCTIONS and each.type in TYPE_BYTES:
            keys.setdefault("type", each.type)
        if each.function in FUNCTIONS_IN_PARTS and each.counts in COUNT_SHAPES[1:]:
            keys.setdefault("counts", each.counts)
        if 2 * each.following > each.calls:
            keys.setdefault("use", "stream")
        elif each.spread_seconds is not None and each.spread_seconds > each.fastest_seconds:
            keys.setdefault("use", "loop")
    return keys


class Application(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="record", tag="application"
):
    """One run. `nprocs` and `nodes` of its largest job; `ranks` that were heard of, `finished` of
    them reached MPI_Finalize; `seconds` from MPI_Init to the last thing that was heard of a rank.
    `lost`: calls that the record had no room for. `status`: the exit status of `command`."""

    schema: Literal[1]
    version: str
    command: list[str]
    started: str
    status: int
    library: str
    nprocs: int
    ranks: int
    finished: int
    seconds: float
    lost: int
    calls: list[Calls]

    @classmethod
    def profiled(
        cls, nprocs: int, seconds: float, calls: list[Calls], version: str, command: str = ""
    ) -> Self:
        """Return what another tool's profile says, which is written where all ranks have ended."""
        words = command.split()
        whole = (nprocs, nprocs, nprocs)
        return cls(1, version.strip(), words, "", 0, "not known", *whole, seconds, 0, calls)

    @property
    def collective_seconds(self) -> float:
        return sum(call.seconds for call in self.calls)

    def on(self, nprocs: int, nodes: int) -> list[Calls]:
        """On communicators of these ranks, of a function and volume that can be measured."""
        return [
            call
            for call in self.calls
            if (call.nprocs, call.nodes) == (nprocs, nodes)
            and call.bytes is not None
            and not call.function.startswith(_UNMEASURED)
        ]

    def sizes(self, function: str, nprocs: int, nodes: int) -> list[int]:
        """The volumes that make up most of the function's work there, in order."""
        work: dict[int, float] = {}
        for calls in self.on(nprocs, nodes):
            if calls.function == function and calls.bytes:
                work[calls.bytes] = work.get(calls.bytes, 0.0) + calls.work_seconds
        return sorted(heaviest(work)[:_MOST_SIZES])

    def functions(self, nprocs: int, nodes: int) -> list[str]:
        """Return the functions that are called there with some volume, in order."""
        return sorted({calls.function for calls in self.on(nprocs, nodes) if calls.bytes})


def decoded(data: bytes, path: Path) -> Application:
    """Return the application of a file's bytes. Raises UsageError where they are no record of
    one."""
    if not data.lstrip().startswith(b"{"):
        raise UsageError(
            f"{path} is no profile of Plumbline, mpiP, mpisee or Score-P; "
            f"`{command_name()} profile -- mpirun … application` writes one"
        )
    try:
        application = msgspec.json.decode(data, type=Application)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"profile {path}: {error}; "
            f"`{command_name()} profile -- mpirun … application` writes one"
        ) from error
    for number, call in enumerate(application.calls):
        times = [call.calls, call.seconds, call.fastest_seconds, call.work_seconds]
        times += [call.following, call.spread_seconds or 0.0]
        if call.nprocs < 1 or min(times) < 0 or (call.bytes or 0) < 0 or not call.function:
            raise UsageError(f"profile {path}: calls[{number}]: a number is impossible")
    return application


def write(path: Path, application: Application) -> None:
    """The file is the old one or the new one, whatever happens."""
    try:
        with scratch.replacing(path) as part:
            part.write_bytes(
                msgspec.json.format(msgspec.json.encode(application), indent=1) + b"\n"
            )
    except OSError as error:
        raise PlumblineError(f"cannot write {path}: {error.strerror}; name another file") from error


def require(application: Application, nprocs: int, nodes: int) -> None:
    """Raises UsageError, with what there is, where nothing was called on such communicators."""
    if any(calls.bytes for calls in application.on(nprocs, nodes)):
        return
    raise UsageError(
        f"the profile has no calls that can be measured on communicators of {nprocs} ranks on "
        f"{counted(nodes, 'node')}; it has "
        + (
            ", ".join(f"{share:.0%} on {name}" for name, share in shapes(application))
            or "none at all"
        )
        + ": choose nprocs and nodes from these"
    )


def shapes(application: Application) -> list[tuple[str, float]]:
    """Communicators in words, with their shares of the work, the largest share first."""
    work: dict[str, float] = {}
    for call in application.calls:
        where = counted(call.nprocs, "rank")
        where += f" on {counted(call.nodes, 'node')}" if call.nodes else " of two groups"
        work[where] = work.get(where, 0.0) + call.work_seconds
    total = sum(work.values()) or 1.0
    return sorted(
        ((name, part / total) for name, part in work.items()),
        key=lambda name_and_share: -name_and_share[1],
    )


def weights(
    application: Application, nprocs: int, nodes: int, sizes: Mapping[str, Sequence[int]]
) -> dict[tuple[str, int], float]:
    """The share of each measured cell (function, bytes) in the work of all calls on communicators
    of these ranks; 0 for what the application does not call. A call counts for the measured size
    that is nearest, as a factor, if it is within reach."""
    calls = application.on(nprocs, nodes)
    total = sum(call.work_seconds for call in calls) or 1.0
    shares = {(function, size): 0.0 for function, its_sizes in sizes.items() for size in its_sizes}
    for call in calls:
        size = nearest(call.bytes or 0, sizes.get(call.function, ()))
        if size is not None:
            shares[call.function, size] += call.work_seconds / total
    return shares


def nearest(asked_size: int, sizes: Iterable[int]) -> int | None:
    """None where every size is out of reach."""
    if asked_size < 1:
        return None
    nearest_size = min(
        sizes, key=lambda size: (abs(math.log(size / asked_size)), size), default=None
    )
    if nearest_size is None or not 1 / _REACH <= nearest_size / asked_size <= _REACH:
        return None
    return nearest_size


def worth(targets: Iterable[Cell], weights: Mapping[tuple[str, int], float] | None) -> list[Cell]:
    """The cells to be searched, the heaviest first, without those that together make up less than a
    hundredth of what all cells weigh. Without weights all of them, as they are."""
    if weights is None:
        return list(targets)
    heavy = {cell: place for place, cell in enumerate(heaviest(weights))}
    worthwhile = [target for target in targets if (target.function, target.bytes) in heavy]
    return sorted(worthwhile, key=lambda cell: heavy[cell.function, cell.bytes])


def heaviest(work: Mapping[Key, float]) -> list[Key]:
    """Return the keys that make up most of the whole, the heaviest first; of equals in their own
    order."""
    whole = sum(work.values())
    heaviest_keys: list[Key] = []
    so_far = 0.0
    for key, part in sorted(work.items(), key=lambda key_and_part: -key_and_part[1]):
        if part <= 0 or so_far >= _WORTH * whole:
            break
        heaviest_keys.append(key)
        so_far += part
    return heaviest_keys
