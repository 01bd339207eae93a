"""Overlap campaigns that the database holds: which there are, how they were set, their cells.
Reads; measures nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from plumbline.measure import factors
from plumbline.overlap import suite
from plumbline.overlap.benches import LOAD, OverlapSettings
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import OverlapResult
from plumbline.results import compare, sides
from plumbline.results.sides import ComparedSide, Name, SideConditions
from plumbline_db import campaigns, machines, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError, command_name
from plumbline_db.records import Campaign, Library, Machine

# Settings that say how something was measured, not how much; knobs do too.
_HOW = ("kernel", "aid", "test_ns")


class Stored(msgspec.Struct, frozen=True):
    campaign: Campaign
    settings: OverlapSettings
    library: Library
    machine: Machine

    @property
    def name(self) -> str:
        """One line of a sheet: library, ranks and what is not as usual."""
        ranks = f"{self.campaign.nprocs} ranks"
        crowded = " (oversubscribed)" if self.campaign.oversubscribed else ""
        return ", ".join([self.library.id, ranks + crowded, *self.configuration()])

    @property
    def label(self) -> str:
        """The same with its id."""
        return f"{self.name} ({self.campaign.id})"

    def configuration(self) -> list[str]:
        """The settings that other campaigns may have otherwise."""
        usual = how(OverlapSettings(self.campaign.nprocs))
        values = how(self.settings).items()
        return [f"{name} {value}" for name, value in values if value != usual.get(name)]


def how(settings: OverlapSettings) -> dict[str, str]:
    """Each setting that is not about how much is measured, as text; a knob is one."""
    return {name: str(getattr(settings, name)) for name in _HOW} | settings.knobs.as_dict()


class _Asked(msgspec.Struct):
    command: str = ""


def every(db: Database) -> list[Stored]:
    """Return the overlap campaigns in the order in which they were started."""
    return [_stored(db, campaign) for campaign in campaigns.every(db) if _is_overlap(campaign)]


def one(db: Database, id: str) -> Stored:
    """Raises UsageError that lists what there is."""
    overlap_campaigns = {
        campaign.id: campaign for campaign in campaigns.every(db) if _is_overlap(campaign)
    }
    if id not in overlap_campaigns:
        listed = ", ".join(overlap_campaigns) or f"none (run `{command_name()} overlap` first)"
        raise UsageError(f"{db.path} contains no overlap campaign {id}; it contains: {listed}")
    return _stored(db, overlap_campaigns[id])


def _is_overlap(campaign: Campaign) -> bool:
    try:
        return msgspec.json.decode(campaign.settings, type=_Asked).command == "overlap"
    except msgspec.DecodeError:
        return False


def _stored(db: Database, campaign: Campaign) -> Stored:
    return Stored(
        campaign,
        msgspec.json.decode(campaign.settings, type=OverlapSettings),
        machines.library(db, campaign.library_fingerprint),
        machines.machine(db, campaign.machine),
    )


class MeasuredCampaign(msgspec.Struct, frozen=True):
    """A campaign with its cells so far, and its launches and their surroundings as a comparison has
    them."""

    stored: Stored
    side: ComparedSide
    cells: list[OverlapResult]


def measured(db: Database, stored: Stored) -> MeasuredCampaign:
    """Raises UsageError where nothing is measured yet; PlumblineError where its launches may not be
    joined, or as `suite.read`."""
    id = stored.campaign.id
    launches = runs.surroundings(db, id)
    if not launches:
        raise UsageError(f"overlap campaign {id} has no finished launch yet")
    factors.require_joinable(
        factors.named(launches), across_suites=True, otherwise="Measure afresh with --new"
    )
    side = ComparedSide(
        name=Name(id, None, id, "", "", ""),
        database=db.path,
        campaign=stored.campaign,
        machine=stored.machine,
        library=stored.library,
        suites=list(dict.fromkeys(launch.suite for launch in launches)),
        launches=launches,
        samples=[],
    )
    return MeasuredCampaign(stored, side, suite.read(db, stored.campaign, stored.settings))


class Between(msgspec.Struct, frozen=True):
    """`differences`: factors and settings that the sides do not share. `launches`: of each side, of
    the benchmark that has the fewest."""

    a: MeasuredCampaign
    b: MeasuredCampaign
    found: CampaignDifference
    differences: list[factors.Difference]
    conditions: tuple[SideConditions, SideConditions]
    launches: tuple[int, int]


def campaigns_apart(
    a: MeasuredCampaign, b: MeasuredCampaign, benches: Collection[str] = ()
) -> Between:
    """`benches`: only these. Raises UsageError when both are the same campaign, or share no
    cell."""
    same = a.stored.campaign == b.stored.campaign and a.side.database == b.side.database
    if same:
        raise UsageError(f"{a.stored.campaign.id} is on both sides: nothing to compare")
    cells_of_a, cells_of_b = (
        [cell for cell in measured.cells if not benches or cell.bench in benches]
        for measured in (a, b)
    )
    return Between(
        a=a,
        b=b,
        found=find(cells_of_a, cells_of_b),
        differences=_settings(a.stored, b.stored) + compare.differences(a.side, b.side),
        conditions=(sides.of_side(a.side.launches), sides.of_side(b.side.launches)),
        launches=(_fewest(a), _fewest(b)),
    )


def _settings(a: Stored, b: Stored) -> list[factors.Difference]:
    settings_of_a, settings_of_b = how(a.settings), how(b.settings)
    noted = factors.FactorRule("noted")
    return [
        factors.Difference(f"setting {name}", noted, [(value_of_a, ["A"]), (right, ["B"])])
        for name in dict.fromkeys([*settings_of_a, *settings_of_b])
        if (value_of_a := settings_of_a.get(name, factors.NOT_SET))
        != (right := settings_of_b.get(name, factors.NOT_SET))
    ]


def _fewest(side: MeasuredCampaign) -> int:
    return min((cell.launches for cell in side.cells if cell.launches), default=0)


def document(one: Between) -> dict[str, Any]:
    """All of it, for JSON."""
    sides = {
        letter: about(side.stored)
        | {"database": str(side.side.database), "conditions": msgspec.to_builtins(conditions)}
        for letter, side, conditions in zip("ab", (one.a, one.b), one.conditions, strict=True)
    }
    differences = [
        {"factor": difference.factor, "a": difference.values[0][0], "b": difference.values[1][0]}
        for difference in one.differences
    ]
    lines: dict[str, Any] = msgspec.to_builtins(one.found)
    return {**sides, "together": False, "differences": differences, **lines}


def about(stored: Stored) -> dict[str, Any]:
    """A campaign in a few facts, for JSON."""
    campaign = stored.campaign
    return {
        "id": campaign.id,
        "library": stored.library.version_string,
        "machine": stored.machine.host,
        "nprocs": campaign.nprocs,
        "oversubscribed": campaign.oversubscribed,
        "state": campaign.state,
        "started": campaign.started,
        "settings": msgspec.to_builtins(stored.settings),
    }


class CellDifference(msgspec.Struct, frozen=True):
    """A cell of both sides. `overlap`: ratio of A less that of B; of the benchmark `load` the
    slowdown of A over that of B. `times`: time of communication and computation together, A over B.
    `…_told`: the 95 % intervals do not touch, and no side is noisy. `measured`: on both sides, not
    inferred. `regret_…`: what each side takes beside the better message and work."""

    bench: str
    bytes: int
    work_ns: int
    threads: int
    rank: int
    a: Ratio
    b: Ratio
    overlap: float
    overlap_told: bool
    times: float
    times_told: bool
    regret_a: float
    regret_b: float
    measured: bool


class Total(msgspec.Struct, frozen=True):
    """The total of a benchmark, over the `cells` that were measured on both sides: how often each
    side's time is shorter, and its ratio lower, where that is told; the medians of `times`, of the
    regrets, and of the times of computation alone, A over B: far from 1, a launch's calibration was
    another one, and the sides did not do the same work (`load` has no amount of work); the cell
    where times lie furthest apart, of those that are told."""

    bench: str
    cells: int
    a_shorter: int
    b_shorter: int
    a_overlaps_more: int
    b_overlaps_more: int
    times: float
    work: float | None
    regret_a: float
    regret_b: float
    furthest: CellDifference | None


class CampaignDifference(msgspec.Struct, frozen=True):
    """`only_a`, `only_b`: cells that the other side has not."""

    lines: list[CellDifference]
    only_a: int
    only_b: int
    totals: list[Total]


def find(a: Sequence[OverlapResult], b: Sequence[OverlapResult]) -> CampaignDifference:
    """Raises UsageError when there is no common cell."""
    cells_of_a, cells_of_b = _by_key(a), _by_key(b)
    lines = [_line(*cells_of_a[key], *cells_of_b[key]) for key in cells_of_a if key in cells_of_b]
    if not lines:
        raise UsageError(
            "no cell is on both sides: cells are matched by benchmark, size, work, threads and "
            f"rank; A has {_some(a)}; B has {_some(b)}"
        )
    benches = dict.fromkeys(line.bench for line in lines)
    totals = [total(bench, [line for line in lines if line.bench == bench]) for bench in benches]
    return CampaignDifference(
        lines, len(cells_of_a) - len(lines), len(cells_of_b) - len(lines), totals
    )


def _by_key(
    cells: Sequence[OverlapResult],
) -> dict[tuple[str, int, int, int, int], tuple[OverlapResult, Ratio]]:
    """Return the ratios, by key, of the cells that took more time than an empty message: other
    cells have no quotient."""
    return {
        (cell.bench, cell.bytes, cell.work_ns, cell.threads, cell.rank): (cell, cell.ratio)
        for cell in cells
        if cell.ratio is not None and cell.ratio.both > 0
    }


def _some(cells: Sequence[OverlapResult]) -> str:
    return ", ".join(dict.fromkeys(cell.bench for cell in cells)) or "none"


def _line(cell_of_a: OverlapResult, a: Ratio, cell_of_b: OverlapResult, b: Ratio) -> CellDifference:
    load = cell_of_a.bench == LOAD
    regret_a, regret_b = regret((a, b))
    return CellDifference(
        bench=cell_of_a.bench,
        bytes=cell_of_a.bytes,
        work_ns=cell_of_a.work_ns,
        threads=cell_of_a.threads,
        rank=cell_of_a.rank,
        a=a,
        b=b,
        overlap=a.value / b.value if load else a.value - b.value,
        overlap_told=not (a.noisy or b.noisy) and _apart((a.low, a.high), (b.low, b.high)),
        times=a.both / b.both,
        times_told=_apart((a.both_low, a.both_high), (b.both_low, b.both_high)),
        regret_a=regret_a,
        regret_b=regret_b,
        measured=cell_of_a.launches > 0 and cell_of_b.launches > 0,
    )


def ideal(cell: Sequence[Ratio]) -> float:
    """Seconds that the same cell would take at best, by several configurations. ValueError: there
    are none."""
    return max(min(ratio.communication for ratio in cell), min(ratio.computation for ratio in cell))


def regret(cell: Sequence[Ratio]) -> list[float]:
    """Return the regret of each configuration, in the same cell."""
    return [ratio.both / ideal(cell) for ratio in cell]


Interval = tuple[float | None, float | None]


def _apart(first: Interval, second: Interval) -> bool:
    (low, high), (others_low, others_high) = first, second
    if low is None or high is None or others_low is None or others_high is None:
        return False
    return low > others_high or others_low > high


def total(bench: str, lines: Sequence[CellDifference]) -> Total:
    """Return the totals over the lines of a benchmark."""
    measured = [line for line in lines if line.measured]
    chosen = measured or lines
    timed = [difference for difference in measured if difference.times_told]
    neutral = 1.0 if bench == LOAD else 0.0
    overlaps = [difference.overlap for difference in measured if difference.overlap_told]
    return Total(
        bench=bench,
        cells=len(measured),
        a_shorter=sum(difference.times < 1 for difference in timed),
        b_shorter=sum(difference.times > 1 for difference in timed),
        a_overlaps_more=sum(overlap < neutral for overlap in overlaps),
        b_overlaps_more=sum(overlap > neutral for overlap in overlaps),
        times=statistics.median(difference.times for difference in chosen),
        work=None
        if bench == LOAD
        else statistics.median(
            difference.a.computation / difference.b.computation for difference in chosen
        ),
        regret_a=statistics.median(difference.regret_a for difference in chosen),
        regret_b=statistics.median(difference.regret_b for difference in chosen),
        furthest=max(timed, key=lambda difference: abs(math.log(difference.times)), default=None),
    )
