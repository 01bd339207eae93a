"""The overlap suite: every benchmark over a grid of message sizes and amounts of work, in launches
of their own, kept in the database, and the ratios that the ranks of each cell have seen. Run again
with the same settings it goes on where it was interrupted, or gives what is stored.

An adaptive grid is measured stage by stage: the cells of a stage follow from what is stored of the
stages before it. Every fourth value of both axes, the ends and the middles of the rectangles
between them come first. A box whose cells agree within what a heat map can show is not looked into:
what lies in it is inferred. Others are cut in four, until neighbours are next to each other. Cells
are named by their numbers on both axes; each has a ratio for every rank that takes its time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec
import numpy as np

from plumbline.core.plan import OverlapCell, Plan
from plumbline.measure import conditions
from plumbline.measure.conditions import Weakness
from plumbline.measure.launches import LaunchStore, Series
from plumbline.overlap import benches, metric
from plumbline.overlap.benches import OverlapSettings
from plumbline.overlap.metric import Ratio, latency, ratio, slowdown
from plumbline.settings import identity
from plumbline.settings.toolchain import Toolchain
from plumbline.system.machine import processing_units
from plumbline.system.placement import Placement, here
from plumbline.system.words import counted
from plumbline_db import runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.probe_records import Overlap
from plumbline_db.records import Campaign, Library, Suite

_DRIFT = 0.2  # of the median


def conditions_of(db: Database, campaign: Campaign) -> list[Weakness]:
    launches = runs.surroundings(db, campaign.id)
    records = (table_samples.of_launch(db, launch.run) for launch in launches)
    cells = ([cell for cell in record if isinstance(cell, Overlap)] for record in records)
    return conditions.of_launches(launches) + drift(cells)


def drift(launches: Iterable[Sequence[Overlap]]) -> list[Weakness]:
    """Return the drift of messages alone: in one launch the same message is measured beside every
    amount of work, and should take the same time."""
    count = apart = 0
    for cells in launches:
        by_message: dict[tuple[int, int, int], list[float]] = {}
        for cell in cells:
            if cell.communication_ns:
                key = (cell.bytes, cell.rank, cell.threads)
                by_message.setdefault(key, []).append(float(np.median(cell.communication_ns)))
        for medians in by_message.values():
            middle = float(np.median(medians))
            count += len(medians)
            apart += sum(abs(time - middle) > _DRIFT * middle for time in medians)
    if not apart:
        return []
    text = (
        f"in {apart} of {count} cells of launches the message alone took over {_DRIFT:.0%} more or "
        "less than at other amounts of work in the same launch: other load, or caches that the "
        "work has emptied; look at their intervals, and measure again when the machine is quiet"
    )
    return [Weakness("drift", text)]


_LOAD_WORK = 100_000  # of each thread of `load`, at a time
_COARSE = 4  # steps between the first values
STAGES = 3  # until cells are next to each other: steps of 4, 2 and 1
# Of the overhead ratio: what makes no visible colour, and what makes none that the intervals tell
# apart. From 1 on relative: the colours end at 2.
_SAME, _SAME_IF_INTERVALS_MEET = 0.1, 0.2

Index = tuple[int, int]
_Seen = Mapping[Index, Sequence[Ratio | None]]


class _Rectangle(msgspec.Struct, frozen=True):
    """Between two columns and two rows; of one cell where they are the same. `middle`: the cell in
    the middle is one of those that must agree."""

    left: int
    right: int
    low: int
    high: int
    middle: bool = False

    def corners(self) -> list[Index]:
        return sorted(itertools.product({self.left, self.right}, {self.low, self.high}))

    def cells(self) -> list[Index]:
        """Return the cells that are measured before the rectangle is judged."""
        middle = [((self.left + self.right) // 2, (self.low + self.high) // 2)]
        return sorted({*self.corners(), *(middle if self.middle else [])})

    def quarters(self) -> list[_Rectangle]:
        """None where there is no cell inside."""
        columns, rows = _halves(self.left, self.right), _halves(self.low, self.high)
        if len(columns) == len(rows) == 1:
            return []
        return [_Rectangle(*column, *row) for column in columns for row in rows]

    def inside(self) -> Iterator[Index]:
        return itertools.product(range(self.left, self.right + 1), range(self.low, self.high + 1))


class OverlapResult(msgspec.Struct, frozen=True):
    """The result that is known of a cell on a rank; no ratio where there is nothing to overlap, and
    a slowdown in its place of `load` (metric.py). `bench` as in benches.py; `threads`: of `load`,
    whose other axis they are, and of `multiple`. Not `measured`: in no launch, inferred from the
    cells around it, which agree."""

    bench: str
    bytes: int
    work_ns: int
    launches: int
    ratio: Ratio | None
    rank: int = 0
    threads: int = 0
    measured: bool = True


Place = tuple[int, int, int]  # of a cell: bytes, nanoseconds of work, threads


def plan(settings: OverlapSettings, bench: str, chosen: Sequence[Place] | None = None) -> Plan:
    """Return the plan of the cells that are `chosen` (None: all cells of the grid)."""
    parts = benches.of(bench)
    cells = tuple(
        OverlapCell(
            parts.bench,
            size,
            work,
            settings.kernel,
            settings.test_ns,
            settings.triples,
            parts.function,
            parts.requests,
            threads,
            settings.aid in benches.HELPERS,
            spare=settings.aid == "spare",
        )
        for size, work, threads in (every_cell(settings, bench) if chosen is None else chosen)
    )
    return Plan("check", settings.seed, (), overlaps=cells, blocks=1)


def every_cell(settings: OverlapSettings, bench: str) -> list[Place]:
    """All cells of the grid. A barrier moves no data."""
    parts = benches.of(bench)
    sizes = (0,) if parts.function == "MPI_Barrier" else settings.sizes
    return [(size, *up) for size in sizes for up in _upwards(settings, parts)]


def _upwards(settings: OverlapSettings, bench: benches.Bench) -> list[tuple[int, int]]:
    """The other axis beside sizes: work and threads."""
    if bench.bench == benches.LOAD:
        return [(_LOAD_WORK, threads) for threads in settings.loads]
    return [(work, bench.threads) for work in settings.work_ns]


def with_loads(settings: OverlapSettings, toolchain: Toolchain) -> OverlapSettings:
    """Return the settings with the numbers of threads of `load`, if that benchmark is asked for: up
    to the processing units of the ranks' machine."""
    if benches.LOAD not in settings.benches:
        return settings
    units = toolchain.launcher.processing_units() or processing_units()
    return msgspec.structs.replace(settings, loads=loads(units))


def loads(units: int) -> tuple[int, ...]:
    """Numbers of threads of `load`: none, powers of two, and as many as processing units."""
    powers = itertools.takewhile(lambda n: n < units, (1 << step for step in itertools.count()))
    return (0, *powers, units)


def is_adaptive(settings: OverlapSettings, bench: str) -> bool:
    """Return whether the grid of a benchmark is, where the settings ask for it: one of sizes and
    work."""
    parts = benches.of(bench)
    return settings.adaptive and parts.bench != benches.LOAD and parts.function != "MPI_Barrier"


def every_plan(settings: OverlapSettings) -> list[Plan]:
    """Return the plan of each benchmark, with all cells of the grid."""
    return [plan(settings, bench) for bench in settings.benches]


def announced(settings: OverlapSettings) -> str:
    """Return how long it is going to take, by the model."""
    all_ = every_plan(settings)
    most = settings.launches * sum(benches.duration_seconds(plan.overlaps) for plan in all_)
    launches = counted(settings.launches, "launch")
    cells = sum(len(plan.overlaps) for plan in all_)
    if not settings.adaptive:
        return f"{counted(cells, 'cell')} in {launches} each: about {benches.duration_words(most)}"
    first = [_first(settings, bench).overlaps for bench in settings.benches]
    least = benches.duration_words(settings.launches * sum(map(benches.duration_seconds, first)))
    return (
        f"{sum(map(len, first))} of {cells} cells first, then those between which something "
        f"changes, in {launches} each: {least} to {benches.duration_words(most)}"
    )


def _first(settings: OverlapSettings, bench: str) -> Plan:
    start = _plan_after(settings, bench, []) if is_adaptive(settings, bench) else None
    return start or plan(settings, bench)


def title(library: Library, settings: OverlapSettings) -> str:
    """Return the title of a picture."""
    knobs = [f"{name}={value}" for name, value in settings.knobs.values]
    words = [library.version_string.partition(",")[0], counted(settings.nprocs, "rank")]
    return ", ".join([*words, settings.kernel, *knobs])


def begin(
    db: Database,
    toolchain: Toolchain,
    settings: OverlapSettings,
    *,
    new: bool,
    placement: Placement | None = None,
    place: Sequence[str] = (),
) -> Campaign:
    """The row that the launches of these settings belong to. `placement` None: on this machine;
    `place`: what else says where its ranks are."""
    text = msgspec.json.encode(settings).decode()
    where = placement or here(settings.nprocs, processing_units())
    return identity.enter(db, toolchain, identity.Identity(text, where, "ov", place), new=new)


def run(
    store: LaunchStore,
    campaign: Campaign,
    settings: OverlapSettings,
    expect: Callable[[float], None] = lambda seconds: None,
) -> list[OverlapResult]:
    """Launches what is missing, a launch of each benchmark in turn. `expect` is told about how many
    seconds the stage has left. Raises PlumblineError when launches fail."""
    clock = benches.TimeLeft()
    stage = 1
    while plans := _plans(store.db, campaign, settings, stage):
        _launch(store, settings, plans, stage, clock, expect)
        stage += 1
    identity.finish(store.db, campaign)
    return read(store.db, campaign, settings)


def _launch(
    store: LaunchStore,
    settings: OverlapSettings,
    plans: Mapping[str, Plan],
    stage: int,
    clock: benches.TimeLeft,
    expect: Callable[[float], None],
) -> None:
    environment = store.starter.family.in_environment(settings.knobs.as_dict())
    series = {
        bench: Series(
            store, suite_of(bench, stage), plan, environment | benches.aid_environment(plan)
        )
        for bench, plan in plans.items()
    }
    modelled = {bench: benches.duration_seconds(plan.overlaps) for bench, plan in plans.items()}
    remaining_seconds = settings.launches * sum(modelled.values())
    part, of_it = (f", part {stage}", " of it") if settings.adaptive else ("", "")
    for launch, (bench, series_of_bench) in itertools.product(
        range(settings.launches), series.items()
    ):
        seconds = clock.left(remaining_seconds)
        expect(seconds)
        store.progress.step(
            f"overlap: {bench}{part}, launch {launch + 1} of {settings.launches}, "
            f"about {benches.duration_words(seconds)} left{of_it}"
        )
        before = store.spent_seconds
        series_of_bench.advance()
        clock.took(modelled[bench], store.spent_seconds - before)
        remaining_seconds -= modelled[bench]


def _plans(
    db: Database, campaign: Campaign, settings: OverlapSettings, stage: int
) -> dict[str, Plan]:
    """Return what each benchmark measures in a stage, by what is stored of the stages before it; no
    plans: nothing is missing."""
    plans_by_bench = {}
    for bench in settings.benches:
        if is_adaptive(settings, bench):
            own_cells = _measured(db, campaign, bench, range(1, stage))
            next_plan = _plan_after(settings, bench, own_cells)
        else:
            next_plan = plan(settings, bench) if stage == 1 else None
        if next_plan is not None:
            plans_by_bench[bench] = next_plan
    return plans_by_bench


def _plan_after(
    settings: OverlapSettings, bench: str, own_cells: Sequence[OverlapResult]
) -> Plan | None:
    """Return what an adaptive grid misses; None: nothing."""
    missing = missing_cells(len(settings.sizes), len(settings.work_ns), _seen(settings, own_cells))
    threads = benches.of(bench).threads
    chosen = [(settings.sizes[x], settings.work_ns[y], threads) for x, y in missing]
    return plan(settings, bench, chosen) if chosen else None


def suite_of(bench: str, stage: int = 1) -> Suite:
    return Suite("overlap", step=bench, look=stage)


def read(db: Database, campaign: Campaign, settings: OverlapSettings) -> list[OverlapResult]:
    """Return what is stored, by benchmark, and in an adaptive grid what it says of the other cells.
    Raises PlumblineError where data did not come as they were sent."""
    results = []
    for bench in settings.benches:
        cells = _measured(db, campaign, bench, range(1, STAGES + 1))
        if is_adaptive(settings, bench):
            cells += _inferred(settings, bench, cells)
        results += sorted(cells, key=attrgetter("bytes", "work_ns", "rank", "threads"))
    return results


def _measured(
    db: Database, campaign: Campaign, bench: str, stages: Sequence[int]
) -> list[OverlapResult]:
    suites = [suite_of(bench, stage).name for stage in stages]
    by_cell: dict[tuple[int, int, int, int], list[tuple[Overlap, float]]] = {}
    for launched in runs.listing(db, campaign.id, suites):
        if launched.finished:
            records = table_samples.of_launch(db, launched.id)
            metric.require_data(records)
            empty_ns = latency(records)
            for record in records:
                if isinstance(record, Overlap):
                    key = (record.bytes, record.work_ns, record.rank, record.threads)
                    by_cell.setdefault(key, []).append((record, empty_ns))
    value = slowdown if benches.of(bench).bench == benches.LOAD else ratio
    return [
        OverlapResult(bench, size, work, len(launches), value(launches), rank, threads)
        for (size, work, rank, threads), launches in by_cell.items()
    ]


def _seen(
    settings: OverlapSettings, cells: Sequence[OverlapResult]
) -> dict[Index, list[Ratio | None]]:
    """Return by numbers on both axes, in the order of the ranks."""
    columns = {size: number for number, size in enumerate(settings.sizes)}
    rows = {work: number for number, work in enumerate(settings.work_ns)}
    by_cell: dict[Index, list[Ratio | None]] = {}
    for cell in sorted(cells, key=lambda result: result.rank):
        by_cell.setdefault((columns[cell.bytes], rows[cell.work_ns]), []).append(cell.ratio)
    return by_cell


def _inferred(
    settings: OverlapSettings, bench: str, cells: Sequence[OverlapResult]
) -> list[OverlapResult]:
    ranks = sorted({cell.rank for cell in cells})
    threads = benches.of(bench).threads
    between = inferred_cells(len(settings.sizes), len(settings.work_ns), _seen(settings, cells))
    return [
        OverlapResult(
            bench, settings.sizes[x], settings.work_ns[y], 0, ratio, rank, threads, measured=False
        )
        for (x, y), ratios in between.items()
        for rank, ratio in zip(ranks, ratios, strict=True)
    ]


def lines(cells: Sequence[OverlapResult]) -> dict[int, float]:
    """Seconds of communication alone by size, where it was measured: the white line of a heat
    map."""
    by_size: dict[int, list[float]] = {}
    for cell in cells:
        if cell.ratio is not None and cell.measured:
            by_size.setdefault(cell.bytes, []).append(cell.ratio.communication)
    return {size: sorted(seconds)[len(seconds) // 2] for size, seconds in sorted(by_size.items())}


def missing_cells(columns: int, rows: int, measured: _Seen) -> list[Index]:
    """The cells to be measured next, of a grid of so many columns and rows; none: it is known."""
    missing: set[Index] = set()
    open_ = _first_rectangles(columns, rows)
    while open_:
        box = open_.pop()
        unknown = [cell for cell in box.cells() if cell not in measured]
        missing.update(unknown)
        if not unknown and not _agrees(box, measured):
            open_ += box.quarters()
    return sorted(missing)


def inferred_cells(columns: int, rows: int, measured: _Seen) -> dict[Index, list[Ratio | None]]:
    """The cells that are not measured. Where cells are missing, as in an unfinished campaign,
    nothing is inferred from the others of their rectangle."""
    inferred: dict[Index, list[Ratio | None]] = {}
    open_ = _first_rectangles(columns, rows)
    while open_:
        box = open_.pop()
        if any(cell not in measured for cell in box.cells()):
            continue
        if not _agrees(box, measured):
            open_ += box.quarters()
            continue
        for cell in box.inside():
            if cell not in measured and cell not in inferred:
                inferred[cell] = _between(box, cell, measured)
    return inferred


def _first_rectangles(columns: int, rows: int) -> list[_Rectangle]:
    return [
        _Rectangle(*column, *row, middle=True) for column in _spans(columns) for row in _spans(rows)
    ]


def _spans(count: int) -> list[Index]:
    """0-4, 4-8 … to the last value."""
    if count == 1:
        return [(0, 0)]
    return [(low, min(low + _COARSE, count - 1)) for low in range(0, count - 1, _COARSE)]


def _halves(low: int, high: int) -> list[Index]:
    if high - low < 2:
        return [(low, high)]
    middle = (low + high) // 2
    return [(low, middle), (middle, high)]


def _agrees(box: _Rectangle, measured: _Seen) -> bool:
    """On every rank: all say nothing, or none does and they are alike, and the line where the
    message takes as long as the work does not pass between them."""
    by_rank = zip(*(measured[cell] for cell in box.cells()), strict=True)
    return all(_alike(ratios) for ratios in by_rank)


def _alike(ratios: Sequence[Ratio | None]) -> bool:
    clear = [ratio for ratio in ratios if ratio is not None and not ratio.noisy]
    if len(clear) < len(ratios):
        return not clear
    if len({ratio.communication > ratio.computation for ratio in clear}) > 1:
        return False
    values = [ratio.value for ratio in clear]
    apart = (max(values) - min(values)) / max(1.0, min(values))
    meet = max(ratio.low for ratio in clear) <= min(ratio.high for ratio in clear)
    return apart < _SAME or (meet and apart < _SAME_IF_INTERVALS_MEET)


def _between(box: _Rectangle, cell: Index, measured: _Seen) -> list[Ratio | None]:
    """Return the ratio of every rank: the corners, weighed by how near they are (on logarithmic
    axes)."""
    corners = box.corners()
    weights = [_share(box, corner, cell) for corner in corners]
    return [
        _mixed(ratios, weights) for ratios in zip(*(measured[at] for at in corners), strict=True)
    ]


def _share(box: _Rectangle, corner: Index, cell: Index) -> float:
    across = abs(corner[0] - cell[0]) / max(1, box.right - box.left)
    up = abs(corner[1] - cell[1]) / max(1, box.high - box.low)
    return (1 - across) * (1 - up)


def _mixed(ratios: Sequence[Ratio | None], weights: Sequence[float]) -> Ratio | None:
    """The interval is as wide as those of all corners together."""
    measured = [ratio for ratio in ratios if ratio is not None]
    if len(measured) < len(ratios):
        return None
    pairs = list(zip(measured, weights, strict=True))
    communication = math.exp(sum(weight * math.log(ratio.communication) for ratio, weight in pairs))
    computation = math.exp(sum(weight * math.log(ratio.computation) for ratio, weight in pairs))
    value = sum(weight * ratio.value for ratio, weight in pairs)
    return Ratio(
        communication=communication,
        computation=computation,
        both=max(communication, computation) + value * min(communication, computation),
        value=value,
        low=min(ratio.low for ratio in measured),
        high=max(ratio.high for ratio in measured),
        noisy=measured[0].noisy,
    )


# The ratios that the ranks of a cell have seen: where every rank takes its time, the least, the
# middle and the largest of their ratios. Pure.


class RankSpread(msgspec.Struct, frozen=True):
    """The spread of one cell, by ratio: `median` is the lower of the two in the middle where their
    number is even. Of `ranks` only those count that are `clear`, whose times do not scatter too
    much to say anything; where none are, all of them."""

    low: OverlapResult
    median: OverlapResult
    high: OverlapResult
    ranks: int
    clear: int


def spreads(cells: Sequence[OverlapResult]) -> list[RankSpread]:
    """A spread for each cell that has a ratio on some rank, in the order of benchmarks, sizes,
    work and threads."""
    with_ratio = [cell for cell in cells if cell.ratio is not None]
    place = {
        bench: at for at, bench in enumerate(dict.fromkeys(result.bench for result in with_ratio))
    }

    def key(result: OverlapResult) -> tuple[int, int, int, int]:
        return place[result.bench], result.bytes, result.work_ns, result.threads

    grouped = itertools.groupby(sorted(with_ratio, key=key), key)
    return [_spread(list(members)) for _, members in grouped]


def _spread(ranks: Sequence[OverlapResult]) -> RankSpread:
    clear = [rank for rank in ranks if rank.ratio and not rank.ratio.noisy]
    by_ratio = sorted(clear or ranks, key=_value)
    middle = by_ratio[(len(by_ratio) - 1) // 2]
    return RankSpread(by_ratio[0], middle, by_ratio[-1], len(ranks), len(clear))


def ranks_apart(spread: RankSpread) -> float:
    """Return how far the ratios of the ranks lie apart."""
    return _value(spread.high) - _value(spread.low)


def _value(result: OverlapResult) -> float:
    return result.ratio.value if result.ratio else 0.0


def spread_text(spread: RankSpread) -> str:
    """Return the spread for a table: the median and, of several ranks, the least and the largest;
    `~` where no more than half of them say anything."""
    if 2 * spread.clear <= spread.ranks:
        return "~"
    middle = f"{_value(spread.median):.1f}"
    if spread.ranks == 1:
        return middle
    return f"{middle} ({_value(spread.low):.1f}…{_value(spread.high):.1f})"
