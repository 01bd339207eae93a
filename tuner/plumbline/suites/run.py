"""A run: all suites of a file, look by look, in launches that are stored once.

First every suite is measured where it was asked for; then, of those that are to be refined, where
their curves ask for it (measure/refine.py), as often as they do. What is asked follows from what is
stored, so that the same command goes on where it was interrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from plumbline.core.plan import Plan
from plumbline.measure import settling
from plumbline.measure.launches import LaunchStore, Series
from plumbline.measure.refine import (
    CurveValue,
    Proposal,
    Refinement,
    SweptCurve,
    Threshold,
    estimate,
    proposals,
    repeated_place,
    thresholds,
)
from plumbline.settings import identity
from plumbline.settings.cases import AFTER_BARRIER, AT_ROOT, OWN_BARRIER
from plumbline.settings.toolchain import Toolchain
from plumbline.suites.cases import (
    NamedOperation,
    RanksThere,
    cases,
    operations,
    places,
    refinement,
)
from plumbline.suites.description import AskedSuite
from plumbline.system.placement import Placement
from plumbline.system.words import counted
from plumbline_db import points, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.layout import SUITES
from plumbline_db.points import SuitePoint, stored_suite
from plumbline_db.records import Campaign, Medians

_MOST_LOOKS = 30


class SuiteRun(msgspec.Struct, frozen=True):
    """A run as it is asked for: its settings in the database."""

    nprocs: int
    title: str
    suites: tuple[AskedSuite, ...]
    seed: int = 1
    simulate: str | None = None
    command: str = SUITES

    @property
    def is_simulated(self) -> bool:
        return self.simulate is not None


class Prepared(NamedTuple):
    """A suite with what the probe knows of it; its first places."""

    suite: AskedSuite
    operations: list[NamedOperation]
    how: Refinement
    first: list[int]


def prepare(asked: SuiteRun, toolchain: Toolchain, placement: Placement) -> list[Prepared]:
    """Raises UsageError for what the probe does not know, or ranks that are missing."""
    ranks = RanksThere(placement.nprocs, placement.nodes)
    prepared = []
    for suite in asked.suites:
        if suite.by_rank and asked.is_simulated:
            raise UsageError(
                f"suite {suite.name!r}: by_rank: a simulated machine tells the time of a whole call"
            )
        of = operations(suite, toolchain.catalogue)
        how = refinement(suite, of, ranks)
        prepared.append(Prepared(suite, of, how, places(suite, of, ranks)))
    return prepared


def begin(
    db: Database, toolchain: Toolchain, asked: SuiteRun, placement: Placement, *, new: bool
) -> Campaign:
    """The row that the launches belong to."""
    text = msgspec.json.encode(asked).decode()
    return identity.enter(db, toolchain, identity.Identity(text, placement, "s"), new=new)


def whole_plan(of: Prepared, asked: SuiteRun, ranks: RanksThere, at: Sequence[int]) -> Plan:
    suite = of.suite
    plan = Plan(
        "check",
        asked.seed,
        cases(suite, of.operations, at, ranks),
        suite.data,
        nrep=suite.rule,
        use=suite.use or AFTER_BARRIER,
    )
    if asked.is_simulated:
        use = plan.use if plan.use == AT_ROOT else ""
        plan = msgspec.structs.replace(plan, use=use, sync=OWN_BARRIER, nrep=None)
    if plan.nrep is not None:
        return plan
    return settling.until_settled(plan, simulated=asked.is_simulated)


def measure(
    store: LaunchStore, campaign: Campaign, asked: SuiteRun, every: Sequence[Prepared]
) -> None:
    """Launches what is missing, a launch of each suite in turn; then the run is finished. Raises
    PlumblineError when launches fail."""
    ranks = RanksThere(campaign.nprocs, campaign.nodes)
    for look in range(1, _MOST_LOOKS + 1):
        points_by_suite = _wanted(store.db, campaign, every, look)
        if not points_by_suite:
            break
        new_points = [point for asked_for in points_by_suite.values() for point in asked_for]
        points.put(store.db, campaign.id, new_points)
        series = {
            of.suite.name: Series(
                store,
                stored_suite(of.suite.name, look),
                whole_plan(of, asked, ranks, _places(of, points_by_suite[of.suite.name])),
                {},
            )
            for of in every
            if of.suite.name in points_by_suite
        }
        _take_turns(store, asked, every, series, points_by_suite, look)
    identity.finish(store.db, campaign)


def _places(of: Prepared, asked_for: Sequence[SuitePoint]) -> list[int]:
    """Return the places of a look. A later one repeats the place of the first look that is nearest
    to what it adds, so that a drift between the looks is seen."""
    added = [point.place for point in asked_for]
    if asked_for[0].look == 1:
        return added
    return [*added, repeated_place(of.first, added[0])]


def _take_turns(
    store: LaunchStore,
    asked: SuiteRun,
    every: Sequence[Prepared],
    series: Mapping[str, Series],
    wanted: Mapping[str, Sequence[SuitePoint]],
    look: int,
) -> None:
    launches = {of.suite.name: launches_of(of.suite, asked) for of in every}
    for turn in range(max(launches[name] for name in series)):
        for name, suite_series in series.items():
            if turn >= launches[name]:
                continue
            points_text = counted(len(wanted[name]), "point")
            reasons = ", ".join(f"{point.place} ({point.why})" for point in wanted[name])
            why = "" if look == 1 else f", look {look}: {reasons}"
            store.progress.step(
                f"{name}: {points_text}{why}, launch {turn + 1} of {launches[name]}"
            )
            suite_series.advance()


def launches_of(suite: AskedSuite, asked: SuiteRun) -> int:
    """A simulated machine repeats itself."""
    return 1 if asked.is_simulated else suite.launches


def _wanted(
    db: Database, campaign: Campaign, every: Sequence[Prepared], look: int
) -> dict[str, list[SuitePoint]]:
    """Return by name of a suite, what is measured in a look; no entry: nothing is missing."""
    points_by_suite = {}
    for of in every:
        name, axis = of.suite.name, of.suite.vary
        if look == 1:
            points_by_suite[name] = [
                SuitePoint(stored_suite(name).name, axis, place) for place in of.first
            ]
        elif of.suite.refine and (added := _next(db, campaign, of, look)):
            points_by_suite[name] = [
                SuitePoint(
                    stored_suite(name).name,
                    axis,
                    addition.place,
                    look,
                    addition.why,
                    addition.detail,
                )
                for addition in added
            ]
    return points_by_suite


def _next(db: Database, campaign: Campaign, of: Prepared, look: int) -> list[Proposal]:
    """Return what is next by the launches of the looks before; nothing, where the last of these
    found nothing."""
    if look > 2 and not runs.listing(db, campaign.id, [stored_suite(of.suite.name, look - 1).name]):
        return []
    return proposals(curves(db, campaign, of, range(1, look)), of.how)


class PlaceTimes(NamedTuple):
    """The times at a place: seconds by launch."""

    place: int
    seconds: dict[int, float]


def read(
    db: Database, campaign: Campaign, of: Prepared, looks: Sequence[int] = range(1, _MOST_LOOKS + 1)
) -> dict[str, list[PlaceTimes]]:
    """Return what is stored of a suite, by the name of the operation, in the order of the
    places."""
    names = [stored_suite(of.suite.name, look).name for look in looks]
    by_case = {
        (measured.case.function, measured.case.variant, _place(of, measured, campaign)): measured
        for measured in runs.medians(db, campaign.id, names)
    }
    result: dict[str, list[PlaceTimes]] = {}
    for operation in of.operations:
        place_times = [
            PlaceTimes(place, dict(zip(measured.runs, measured.seconds, strict=True)))
            for (function, variant, place), measured in by_case.items()
            if (function, variant) == (operation.function, operation.variant)
        ]
        result[operation.name] = sorted(place_times)
    return result


def _place(of: Prepared, measured: Medians, campaign: Campaign) -> int:
    if of.suite.vary == "ranks":
        return measured.case.ranks or campaign.nprocs
    return measured.case.bytes


def curves(
    db: Database, campaign: Campaign, of: Prepared, looks: Sequence[int] = range(1, _MOST_LOOKS + 1)
) -> list[SweptCurve]:
    """Return the curves as refinement sees them; ratios are to the first operation, paired by
    launch."""
    times_by_operation = read(db, campaign, of, looks)
    base = {
        place_times.place: place_times.seconds
        for place_times in times_by_operation[of.operations[0].name]
    }
    return [
        SweptCurve(
            name,
            {
                times_at_place.place: estimate(list(times_at_place.seconds.values()))
                for times_at_place in operation_times
                if times_at_place.seconds
            },
            {} if name == of.operations[0].name else _ratios(operation_times, base),
        )
        for name, operation_times in times_by_operation.items()
    ]


def _ratios(
    operation_times: Sequence[PlaceTimes], base: Mapping[int, Mapping[int, float]]
) -> dict[int, CurveValue]:
    estimates = {}
    for times_at_place in operation_times:
        shared = times_at_place.seconds.keys() & base.get(times_at_place.place, {}).keys()
        if shared:
            estimates[times_at_place.place] = estimate(
                [
                    times_at_place.seconds[launch] / base[times_at_place.place][launch]
                    for launch in sorted(shared)
                ]
            )
    return estimates


def found_thresholds(db: Database, campaign: Campaign, of: Prepared) -> list[Threshold]:
    """Return those of message sizes; the next number of ranks may always take another way."""
    return thresholds(curves(db, campaign, of), of.how) if of.suite.vary == "bytes" else []
