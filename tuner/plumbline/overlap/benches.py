"""Names of overlap benchmarks as people write them: `sender`, `sender:16` (so many requests pending
to each peer), `collective:MPI_Iallreduce`, `collectives` (all of them); progress aids; and the time
that cells are going to take."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import OverlapCell, Plan
from plumbline_db.errors import UsageError

LAUNCHES = 5
_SMALL, _LARGE = 64, 4 << 20  # bytes
_SHORT, _LONG = 2_000, 4_096_000  # nanoseconds of work


def _steps(low: int, high: int, parts: int) -> tuple[int, ...]:
    sizes = (round(low * 2 ** (step / parts)) for step in itertools.count())
    return tuple(itertools.takewhile(lambda size: size <= high, sizes))


LOAD = "load"  # work of so many threads all the time: no amount of work, but a number of threads
# The six of A. Denis and F. Trahay (ICPP 2016, section III.D): the default.
QUICK = ("sender", "receiver", "both", "vector", "overhead", LOAD)
# With a number after a colon: of requests to each peer.
_PAIRS = frozenset(QUICK) - {LOAD} | {"structure"}
_MORE_RANKS = frozenset({"fan_out", "fan_in", "ring"})
_COLLECTIVE = "collective"
_COLLECTIVES = "collectives"
_LOCAL = frozenset({"MPI_Reduce_local"})  # no non-blocking form
# With a number after a colon, of threads: on each side, with messages of their own; of a region.
MULTIPLE, OPENMP = "multiple", "openmp"
THREADED = frozenset({LOAD, MULTIPLE, OPENMP})
# Those whose timed side makes blocking calls where nothing is computed.
_BLOCKING = frozenset(
    {"sender", "both", "vector", "structure", "overhead", "ring", MULTIPLE, OPENMP}
)
IN_PAIRS = _PAIRS | THREADED  # between the first and the last rank
ALL = (*QUICK, "structure", *sorted(_MORE_RANKS), _COLLECTIVE, MULTIPLE, OPENMP)

# What helps messages on beside computation: nothing, MPI_Test in it, a thread of the library, a
# thread of ours (MPI_THREAD_MULTIPLE) that asks the library, beside it or on a core of its own.
Aid = Literal["none", "test", "library", "helper", "spare"]


class Bench(msgspec.Struct, frozen=True):
    """`bench`: the probe's name. `function`: the blocking form of what a collective benchmark
    begins; `requests` to each peer; `threads` of the benchmarks `multiple` and
    `openmp`."""

    name: str
    bench: str
    function: str = ""
    requests: int = 1
    threads: int = 0

    @property
    def blocking(self) -> bool:
        """Return whether its communication alone is made of other calls than what begins and
        waits."""
        return self.bench in _BLOCKING


def of(name: str) -> Bench:
    """Raises UsageError with what can be written."""
    bench, _, detail = name.partition(":")
    if bench == _COLLECTIVE and detail.startswith("MPI_I") and len(detail) > len("MPI_I"):
        rest = detail.removeprefix("MPI_I")
        return Bench(name, bench, function="MPI_" + rest[0].upper() + rest[1:])
    number = int(detail) if detail.isascii() and detail.isdigit() else 0
    if bench in _PAIRS | _MORE_RANKS and (not detail or number):
        return Bench(name, bench, requests=number or 1)
    if bench == LOAD and not detail:
        return Bench(name, bench)
    if bench in (MULTIPLE, OPENMP) and (not detail or number):
        return Bench(name, bench, threads=number or 2)
    raise UsageError(
        f"no benchmark {name}; there are {', '.join(sorted(_PAIRS | _MORE_RANKS))}, each with a "
        "number of requests if you like (sender:16), load, multiple:2 and openmp:2 (threads), "
        "collective:MPI_Iallreduce and the like, and collectives"
    )


def usual(aid: Aid) -> tuple[str, ...]:
    """Return the benchmarks that are measured where none is named: those that the aid can help."""
    return tuple(name for name in QUICK if name != LOAD or aid not in ("test", "spare"))


def names(text: str, *, groups: bool = False) -> tuple[str, ...]:
    """Return the names of the benchmarks in a text with commas between, each in one spelling; with
    `groups` also `collectives` (`expanded`). Raises UsageError where one is unknown."""
    if not groups and _COLLECTIVES in text.split(","):
        raise UsageError("collectives: name them one by one here (collective:MPI_Iallreduce)")
    benches = (name if name == _COLLECTIVES else _usual(of(name)) for name in text.split(","))
    return tuple(dict.fromkeys(benches))


def _usual(bench: Bench) -> str:
    if bench.function:
        return _collective(bench.function)
    return written(bench.bench, bench.requests, bench.threads)


def written(bench: str, requests: int, threads: int) -> str:
    """A benchmark of the probe, not a collective, as people write it."""
    number = threads or (requests if requests > 1 else 0)
    return f"{bench}:{number}" if number else bench


def expanded(names: Sequence[str], functions: Sequence[str]) -> tuple[str, ...]:
    """`collectives` replaced by a benchmark for each of the probe's `functions`."""
    every = [_collective(function) for function in functions if function not in _LOCAL]
    benches = [bench for name in names for bench in (every if name == _COLLECTIVES else [name])]
    return tuple(dict.fromkeys(benches))


def _collective(function: str) -> str:
    rest = function.removeprefix("MPI_")
    return f"{_COLLECTIVE}:MPI_I{rest[0].lower()}{rest[1:]}"


class OverlapSettings(msgspec.Struct, frozen=True):
    """`launches` of each benchmark (names of benches.py), `triples` of each cell in them; `knobs`:
    of the library, in force in all of them; `adaptive`: cells where nothing changes are not
    measured; `loads`: numbers of threads of the benchmark `load`."""

    nprocs: int
    benches: tuple[str, ...] = QUICK
    sizes: tuple[int, ...] = ()
    work_ns: tuple[int, ...] = ()
    kernel: str = "registers"
    aid: Aid = "none"
    test_ns: int = 0
    knobs: Configuration = Configuration()
    triples: int = 50
    launches: int = LAUNCHES
    seed: int = 1
    command: str = "overlap"
    adaptive: bool = False
    loads: tuple[int, ...] = ()


def axes(*, quick: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and amounts of work: in steps of a factor of 2, or of its square root."""
    return _steps(_SMALL, _LARGE, 1 if quick else 2), _steps(_SHORT, _LONG, 1 if quick else 2)


# The time that overlap cells are going to take: by a model, then by launches that are done. Pure.

# Of a message in shared memory; a slower network is seen in the first launches.
_MESSAGE_SECONDS, _BYTE_SECONDS = 2e-6, 2e-10
_WARM_TRIPLES = 2
_SETTLE_SECONDS = 4e-3  # of threads of `load`, on each side, before each message
_STARTED_SECONDS = 1.0  # a launch, its work calibrated
# What it took here beyond the model (docs/design/overlap.md, "The grid").
_BEYOND = 1.3
_LEAST_LIMIT, _MANY = 120.0, 10
_LIMIT_BY_SCHEDULER = 3600.0  # where threads share cores, and a message may wait 50 ms for its own


def duration_seconds(cells: Iterable[OverlapCell]) -> float:
    """Return the seconds of one launch: in every triple communication, computation, and both one
    after the other."""
    return _STARTED_SECONDS + _BEYOND * sum(
        (cell.triples + _WARM_TRIPLES)
        * (2 * (_message(cell) + cell.work_ns / 1e9) + _settling(cell))
        for cell in cells
    )


def _settling(cell: OverlapCell) -> float:
    return _SETTLE_SECONDS if cell.bench == LOAD and cell.threads else 0.0


def _message(cell: OverlapCell) -> float:
    return cell.requests * (_MESSAGE_SECONDS + cell.bytes * _BYTE_SECONDS)


class TimeLeft:
    """The time that is left, by the model and by how launches so far compare with it."""

    def __init__(self) -> None:
        self._modelled = self._taken = 0.0

    def took(self, modelled: float, taken: float) -> None:
        """A launch of so many seconds by the model, and in truth."""
        self._modelled += modelled
        self._taken += taken

    def left(self, modelled: float) -> float:
        """Seconds of launches that the model gives so many seconds."""
        return modelled * (self._taken / self._modelled if self._modelled else 1.0)


def launch_limit(plans: Iterable[Plan]) -> float:
    """Seconds after which a launch of any of these plans hangs."""
    every = list(plans)
    waits = any(cell.helper or cell.bench == LOAD for plan in every for cell in plan.overlaps)
    least = _LIMIT_BY_SCHEDULER if waits else _LEAST_LIMIT
    return max(least, _MANY * max(duration_seconds(plan.overlaps) for plan in every))


def duration_words(seconds: float) -> str:
    """`12 min`, `40 s`"""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds)):d} s"
