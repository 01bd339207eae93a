"""Curves over message sizes, over numbers of ranks, or rank by rank: what they are called in an
address, their points, and how those stand to the points of another curve.

A name is SIDE|FUNCTION|CONFIGURATION, the side as in `plumbline compare`: RUN:TABLE, RUN/SUITE. A
suite of `plumbline suite` is one, whatever the looks at it: its points know why they are there."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from starlette.exceptions import HTTPException

from plumbline.measure.hockney import median_interval
from plumbline.results import sides
from plumbline.search.outcome import label
from plumbline.verify.significance.signed_rank import paired_ratio
from plumbline_db import campaigns, findings, points, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.points import SuitePoint, Sweep
from plumbline_db.records import Campaign, Case, Medians


class Offered(msgspec.Struct, frozen=True):
    """The choice of a table or a suite: names with words, by function. `axis`: what its curves are
    over; `by_rank`: at which sizes the times of single ranks are there too."""

    side: str
    functions: dict[str, list[tuple[str, str]]]
    axis: str = "bytes"
    by_rank: list[int] = []


def offered(db: Database, campaign: str, *, every: bool) -> list[Offered]:
    """Return the choices of its tables; with `every` of all its suites too, and of a run of suites
    of these."""
    described = points.described(db, campaign)
    if described:
        return [
            _offered(f"{campaign}/{suite.name}", suite.sweeps, suite.axis, suite.by_rank)
            for suite in described
        ]
    choices = []
    for stage in findings.stages(db, campaign):
        names = table_samples.suites(findings.get_verdicts(db, campaign, stage))
        choices.append(_offered(f"{campaign}:{stage}", points.sweeps(db, campaign, names)))
    if every or not choices:
        by_suite: dict[str, list[Sweep]] = {}
        for sweep in points.sweeps(db, campaign):
            by_suite.setdefault(sweep.suite, []).append(sweep)
        choices += [_offered(f"{campaign}/{name}", listed) for name, listed in by_suite.items()]
    return [choice for choice in choices if choice.functions]


def _offered(
    side: str, listed: Sequence[Sweep], axis: str = "bytes", by_rank: Sequence[int] = ()
) -> Offered:
    functions: dict[str, dict[str, str]] = {}
    for sweep in listed:
        words = configuration_of(sweep.variant, sweep.knobs, sweep.ranks)
        words_by_name = functions.setdefault(sweep.function, {})
        words_by_name[named(side, sweep.function, words)] = words
    return Offered(
        side,
        {name: list(names.items()) for name, names in sorted(functions.items())},
        axis,
        list(by_rank),
    )


def of_suite(db: Database, campaign: str, suite: str) -> list[str]:
    """The names of all curves of a suite that a file described."""
    campaigns.require(db, campaign)
    (choice,) = [
        choice
        for choice in offered(db, campaign, every=False)
        if choice.side == f"{campaign}/{suite}"
    ]
    return [name for words_by_name in choice.functions.values() for name, _ in words_by_name]


_BAR = "|"
EVERYWHERE = (0, 2**63 - 1)

_Parts = tuple[str, str, str]  # side, function, configuration

# What the axis of a curve is: `rank` has the times of single ranks at one size.
CurveAxis = Literal["bytes", "ranks", "rank"]


class TimeRatio(msgspec.Struct, frozen=True):
    """The time of a point over that of the base at this place. `together`: over launches that both
    share, with its interval; else of the medians alone."""

    ratio: float
    low: float | None
    high: float | None
    together: bool


class PlottedPoint(msgspec.Struct, frozen=True):
    """The point at a place of the axis: the median over `n` launches of their medians, seconds,
    with its interval of 95 % (None: too few launches). `factor`: None where the base has no such
    place. `why`: of a suite's points, those that were added."""

    place: int
    n: int
    seconds: float
    low: float | None
    high: float | None
    factor: TimeRatio | None
    why: str = ""


class Curve(msgspec.Struct, frozen=True):
    """`text`: for people; what all curves of a picture share is not in it."""

    name: str
    text: str
    run: str
    side: str
    function: str
    configuration: str
    nprocs: int
    is_base: bool
    points: list[PlottedPoint]
    axis: CurveAxis = "bytes"


def named(side: str, function: str, configuration: str) -> str:
    return _BAR.join((side, function, configuration))


def configuration_of(variant: str, knobs: dict[str, str], ranks: int) -> str:
    return label(variant, knobs) + (f" on {ranks} ranks" if ranks else "")


class _Taken(msgspec.Struct, frozen=True):
    """All that launches of a side say of some functions: a time of a launch each. `place`: of the
    axis; `configuration` does not name what the axis varies."""

    function: str
    configuration: str
    place: int
    launch: int
    seconds: float


class _Source(msgspec.Struct, frozen=True):
    """The source that a side stands for: its suites by name; `table`: of a table its stage."""

    campaign: Campaign
    suites: list[str]
    table: str
    axis: CurveAxis
    why: dict[int, str]


def read(
    db: Database, names: Sequence[str], base: str, bounds: tuple[int, int], at: int | None = None
) -> list[Curve]:
    """Return the curves in the order of the names; `bounds`: the smallest and the largest place.
    With `at` rank by rank at so many bytes, of suites that kept the times of ranks. Raises
    HTTPException for a name that is none, or curves over different axes (400), or that names
    nothing here (404)."""
    parts = {name: _parts(name) for name in names}
    functions: dict[str, set[str]] = {}
    for side, function, _ in parts.values():
        functions.setdefault(side, set()).add(function)
    sources = {side: _source(db, side) for side in functions}
    if at is None and len({source.axis for source in sources.values()}) > 1:
        raise HTTPException(400, "curve: curves over bytes and over ranks do not share an axis")
    taken = {
        side: list(
            _taken(db, sources[side], names_of_side)
            if at is None
            else _taken_by_rank(db, sources[side], at)
        )
        for side, names_of_side in functions.items()
    }
    places = {name: _places(parts[name], taken[parts[name][0]], bounds, at) for name in parts}
    under = places.get(base, {})
    curves = []
    for (name, (side, function, configuration)), text in zip(
        parts.items(), _texts(list(parts.values())), strict=True
    ):
        source = sources[side]
        why = source.why if at is None else {}
        curves.append(
            Curve(
                name=name,
                text=text,
                run=source.campaign.id,
                side=side,
                function=function,
                configuration=configuration,
                nprocs=source.campaign.nprocs,
                is_base=name == base,
                points=[
                    _point(place, seconds, under.get(place, {}), why.get(place, ""))
                    for place, seconds in places[name].items()
                ],
                axis=source.axis if at is None else "rank",
            )
        )
    return curves


def _parts(name: str) -> _Parts:
    parts = name.split(_BAR)
    if len(parts) != 3 or not all(parts):
        raise HTTPException(400, f"curve: {name!r} is not SIDE|FUNCTION|CONFIGURATION")
    return parts[0], parts[1], parts[2]


def _source(db: Database, side: str) -> _Source:
    try:
        name = sides.parse(side)
    except UsageError as error:
        raise HTTPException(400, f"curve: {error}") from error
    if name.file is not None or name.variant:
        raise HTTPException(400, f"curve: {side!r} is no RUN:TABLE and no RUN/SUITE")
    campaign = campaigns.known(db, name.campaign)
    if campaign is None:
        raise HTTPException(404, f"curve: there is no run {name.campaign}")
    if name.suite:
        own_suites = runs.suites(db, campaign.id)
        described = points.stored_suite(name.suite).name
        stored = described if described in own_suites else name.suite
        if stored not in own_suites:
            raise HTTPException(404, f"curve: {side} is no suite of this run")
        asked = [each for each in points.get(db, campaign.id) if each.suite == stored]
        looks = sides.all_looks(own_suites, stored) if asked else [stored]
        axis = asked[0].axis if asked else "bytes"
        return _Source(campaign, looks, "", axis, {each.place: _why(each) for each in asked})
    if not findings.get_verdicts(db, campaign.id, name.stage):
        raise HTTPException(404, f"curve: {side} is no table of this run")
    return _Source(campaign, [], name.stage, "bytes", {})


def _why(of: SuitePoint) -> str:
    return "" if of.why == "asked" else f"{of.why}: {of.detail}"


def _taken(db: Database, of: _Source, functions: set[str]) -> Iterator[_Taken]:
    id = of.campaign.id
    medians: list[Medians]
    if of.table:
        table = findings.get_verdicts(db, id, of.table)
        medians = table_samples.medians(db, id, table, functions=functions)
    else:
        medians = runs.medians(db, id, of.suites, functions=functions)
    for measured in medians:
        case = measured.case
        place = (case.ranks or of.campaign.nprocs) if of.axis == "ranks" else case.bytes
        configuration = _configuration(case, of.axis)
        for launch, seconds in zip(measured.runs, measured.seconds, strict=True):
            yield _Taken(case.function, configuration, place, launch, seconds)


def _configuration(case: Case, axis: CurveAxis) -> str:
    ranks = 0 if axis == "ranks" else case.ranks
    return configuration_of(case.variant, case.knobs, ranks)


def _taken_by_rank(db: Database, of: _Source, at: int) -> Iterator[_Taken]:
    for measured in table_samples.rank_medians(db, of.campaign.id, of.suites):
        if measured.bytes == at:
            configuration = configuration_of(measured.variant, {}, measured.ranks)
            yield _Taken(
                measured.function, configuration, measured.rank, measured.launch, measured.seconds
            )


def _places(
    parts: _Parts, taken: Sequence[_Taken], bounds: tuple[int, int], at: int | None
) -> dict[int, dict[int, float]]:
    """Seconds by launch number, by place."""
    side, function, configuration = parts
    places: dict[int, dict[int, float]] = {}
    is_measured = False
    for each in taken:
        if (each.function, each.configuration) == (function, configuration):
            is_measured = True
            if bounds[0] <= each.place <= bounds[1]:
                places.setdefault(each.place, {})[each.launch] = each.seconds
    if not is_measured and at is not None:
        raise HTTPException(404, f"at: {side} has no times of ranks of {function} at {at} B")
    if not is_measured:
        raise HTTPException(404, f"curve: {side} has no {function} with {configuration}")
    return dict(sorted(places.items()))


def _texts(parts: Sequence[_Parts]) -> list[str]:
    """Return what tells them apart; the function always."""
    apart = [len({part[place] for part in parts}) > 1 for place in (0, 2)]
    return [
        ", ".join(
            [
                function,
                *(word for word, differs in zip((side, rest), apart, strict=True) if differs),
            ]
        )
        for side, function, rest in parts
    ]


def _point(place: int, seconds: dict[int, float], base: dict[int, float], why: str) -> PlottedPoint:
    middle = median_interval(list(seconds.values()))
    times = middle.value, middle.low, middle.high
    return PlottedPoint(place, len(seconds), *times, _factor(seconds, base), why)


def _factor(seconds: dict[int, float], base: dict[int, float]) -> TimeRatio | None:
    if not base or min(*seconds.values(), *base.values()) <= 0:
        return None
    shared = sorted(seconds.keys() & base.keys())
    if seconds == base:
        return TimeRatio(1.0, 1.0, 1.0, True)
    if shared:
        estimate = paired_ratio(
            [math.log(seconds[run] / base[run]) for run in shared], alternative="two-sided"
        )
        if estimate.ratio is not None:
            return TimeRatio(estimate.ratio, estimate.low, estimate.high, True)
    ratio = statistics.median(seconds.values()) / statistics.median(base.values())
    return TimeRatio(ratio, None, None, False)


def together(curves: Sequence[Curve]) -> bool:
    """All were measured in launches that the base shares."""
    factors = [
        point.factor for single_curve in curves for point in single_curve.points if point.factor
    ]
    return all(factor.together for factor in factors)


_COLUMNS = (
    *("side", "function", "configuration", "nprocs", "axis", "place", "launches"),
    *("seconds", "seconds_low", "seconds_high"),
    *("over_base", "over_base_low", "over_base_high", "measured_together", "why"),
)


def csv_of(curves: Sequence[Curve]) -> str:
    """All points, a line each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for single_curve in curves:
        about = [
            single_curve.side,
            single_curve.function,
            single_curve.configuration,
            single_curve.nprocs,
            single_curve.axis,
        ]
        for point in single_curve.points:
            times = [point.place, point.n, point.seconds, point.low, point.high]
            factor = point.factor
            ratios: list[object] = ["", "", "", ""]
            if factor is not None:
                ratios = [factor.ratio, factor.low, factor.high, int(factor.together)]
            writer.writerow([*about, *times, *ratios, point.why])
    return text.getvalue()
