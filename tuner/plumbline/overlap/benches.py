"""Names of overlap benchmarks as people write them: `sender`, `sender:16` (so many requests pending
to each peer), `collective:MPI_Iallreduce`, `collectives` (all of them); progress aids; the time
that cells are going to take; and the launches of a suite: where the ranks are (this machine, or
what a campaign file says), and what each aid to progress needs of the launch, the library and the
machine. Nothing is started here."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import OverlapCell, Plan, PlanCase
from plumbline.libraries.space import ProgressThread
from plumbline.settings import Settings, campaign_file, identity
from plumbline.settings.cases import Sampling
from plumbline.settings.toolchain import Toolchain
from plumbline.system.machine import processing_units
from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.probe_records import ConfigRecord

if TYPE_CHECKING:
    from plumbline.launch.starter import Starter

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


HELPERS = ("helper", "spare")  # a thread of the probe


def aid_environment(plan: Plan) -> dict[str, str]:
    """Return how the probe is to start MPI for the cells of a plan; MPI_Init where nothing is
    set."""
    from plumbline.launch.starter import THREADS

    if any(overlap.helper or overlap.bench == MULTIPLE for overlap in plan.overlaps):
        return {THREADS: "multiple"}
    if any(overlap.bench in (LOAD, OPENMP) for overlap in plan.overlaps):
        return {THREADS: "funneled"}
    return {}


def aid_in_force(
    settings: OverlapSettings, toolchain: Toolchain, where: Settings
) -> OverlapSettings:
    """The settings with the knobs that their aid wants. Raises UsageError where the library or the
    machine of the ranks does not have what it takes."""
    units = toolchain.launcher.processing_units() or processing_units()
    ranks = where.ranks.ppn
    if settings.aid == "spare":
        every = [of(name).bench for name in settings.benches]
        if not THREADED.isdisjoint(every):
            raise UsageError(
                "--aid spare: threads of load, multiple and openmp take the spare cores"
            )
        pairs = all(toolchain in IN_PAIRS for toolchain in every)
        require_spare(ranks, min(2, ranks) if pairs else ranks, units)
    if settings.aid != "library":
        return settings
    values = {name: knob.value for name, knob in toolchain.knobs.items()} | settings.knobs.as_dict()
    knobs = aids_of_library(
        toolchain.space.progress, toolchain.installation.library.id, values, ranks, units
    )
    merged = settings.knobs.as_dict() | knobs
    return msgspec.structs.replace(settings, knobs=Configuration.of(merged))


def require_spare(ranks: int, threads: int, units: int) -> None:
    """Raises UsageError where there are fewer processing units than ranks and threads beside them
    that never sleep."""
    if ranks + threads > units:
        raise UsageError(
            f"{counted(ranks, 'rank')} and {counted(threads, 'thread')} that help them never "
            f"sleep, and want {ranks + threads} processing units; there are {units}. Start fewer "
            "ranks, or take --aid helper (beside the work) or --aid test"
        )


def aids_of_library(
    progress: ProgressThread, library: str, values: Mapping[str, str], ranks: int, units: int
) -> dict[str, str]:
    """Knobs that start the library's own progress threads; `values`: of its knobs, as they are.
    Raises UsageError where it has none, or none that would do anything."""
    if progress.none:
        raise UsageError(
            f"{library} has no progress thread of its own: {progress.none}. Take --aid helper, or "
            "--aid test"
        )
    for knob, good in progress.where.items():
        if values.get(knob, "") not in good:
            raise UsageError(
                f"the progress thread of {library} moves no messages with {knob} = "
                f"{values.get(knob, '') or 'not set'}, only with {' or '.join(good)}. Set that, or "
                "take --aid helper"
            )
    if progress.spins:
        require_spare(ranks, ranks, units)
    return dict(progress.knobs)


def given(toolchain: Toolchain, words: Sequence[str], where: Settings) -> Configuration:
    """Return the configuration that `NAME=VALUE` words give, with what the library wants beside
    them. Raises UsageError for what it does not know, and for threads that want cores which are not
    there."""
    from plumbline.search.process import Settable

    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--knob takes NAME=VALUE, not {word!r}")
        if toolchain.knobs and name not in toolchain.knobs:
            raise UsageError(f"{toolchain.installation.library.id} reports no parameter {name}")
        for knob, need in toolchain.space.with_needs(name, value).items():
            if values.setdefault(knob, need) != need:
                raise UsageError(f"--knob: {knob} cannot be {values[knob]} and {need}")
    Settable.of(toolchain, where).require_core(values)
    return Configuration.of(values)


def require_in_force(starter: Starter, chosen: Configuration) -> None:
    """A short launch with these settings, which reads them back where the library shows them.
    Raises UsageError for one that is not in force, PlumblineError where the launch fails."""
    if not chosen:
        return
    case = PlanCase("MPI_Allreduce", 64, configuration=chosen)
    plan = Plan("settings", 1, (case,), blocks=1, reps=1, warmup=1, knobs="start")
    environment = starter.family.in_environment(chosen.as_dict())
    run, records = starter.start("settings", "settings", 0, plan.text(), environment)
    if not run.finished:
        names = str(chosen).replace(" ", ", ")
        raise PlumblineError(
            f"a launch with {names} fails; leave the setting out, or correct it: {run.reason}\n"
            f"{run.stderr[-1500:]}"
        )
    for record in records:
        if isinstance(record, ConfigRecord) and not record.in_force:
            raise UsageError(f"--knob is not in force: {record.reason}")


_WHERE = ("nodes", "bind", "map_by", "hosts", "job", "environment")
_TAKEN = ("nprocs", "launch_timeout_seconds", *_WHERE)
_ELSEWHERE = {
    "simulate": "computation takes no time on a simulated machine, and cannot overlap",
    "libraries": "overlap is measured with one library; name it with --mpi",
    "layouts": "overlap is measured in one layout; name it with --nprocs and --nodes",
}
NPROCS = 2


def settings(file: Path | None, options: dict[str, Any]) -> Settings:
    """Return the settings that say where ranks are, from a campaign file; its other keys are about
    collectives. `options` are put over them. Raises UsageError."""
    source = campaign_file.read(file)
    for key, why in _ELSEWHERE.items():
        if key in source.values:
            raise source.refused(f"{key}: {why}")
    taken = {key: source.values[key] for key in _TAKEN if key in source.values}
    standing = {"nprocs": NPROCS}
    return bound(campaign_file.of(source, standing | taken, options))


def bound(chosen: Settings) -> Settings:
    """On this machine, where each rank has a processing unit, ranks are bound to cores unless
    something else is asked for: one that wanders computes at another speed. Raises UsageError."""
    if chosen.ranks.nprocs < NPROCS:
        raise UsageError(f"--nprocs {chosen.ranks.nprocs}: overlap needs {NPROCS} ranks at least")
    fits = not facts(chosen) and chosen.ranks.nprocs <= processing_units()
    return chosen.but(bind="core") if fits else chosen


def patient(chosen: Settings, seconds: float) -> Settings:
    """Return the settings with so many seconds for a launch, unless they set another limit."""
    is_set = chosen.sampling.launch_timeout_seconds != Sampling().launch_timeout_seconds
    return chosen if is_set else chosen.but(launch_timeout_seconds=seconds)


def facts(chosen: Settings) -> list[str]:
    """Return what makes launches elsewhere another campaign; nothing on this machine."""
    values = identity.identifying(chosen)
    places = {key: values[key] for key in _WHERE if key in values}
    return [msgspec.json.encode(places).decode()] if places else []
