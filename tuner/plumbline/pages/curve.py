"""Curves over message sizes: which there are, what they are called in an address, their points, and
how those stand to the points of another curve.

A name is SIDE|FUNCTION|CONFIGURATION, the side as in `plumbline compare`: RUN:TABLE, RUN/SUITE."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Sequence

import msgspec
from starlette.exceptions import HTTPException

from plumbline.measure.hockney import median_interval
from plumbline.results import sides
from plumbline.search.outcome import label
from plumbline.verify.statistics import paired_ratio
from plumbline_db import campaigns, runs, suites, sweeps, table_samples, verdicts
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Case, Medians

_BAR = "|"


class Factor(msgspec.Struct, frozen=True):
    """The time of a point over that of the base at this size. `together`: over launches that both
    share, with its interval; else of the medians alone."""

    ratio: float
    low: float | None
    high: float | None
    together: bool


class Point(msgspec.Struct, frozen=True):
    """The median over `n` launches of their medians, seconds, with its interval of 95 % (None: too
    few launches). `factor`: None where the base has no such size."""

    bytes: int
    n: int
    seconds: float
    low: float | None
    high: float | None
    factor: Factor | None


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
    points: list[Point]


class Offered(msgspec.Struct, frozen=True):
    """What can be chosen of a table or a suite: names with words, by function."""

    side: str
    functions: dict[str, list[tuple[str, str]]]


def named(side: str, function: str, configuration: str) -> str:
    return _BAR.join((side, function, configuration))


def _label(variant: str, knobs: dict[str, str], ranks: int) -> str:
    return label(variant, knobs) + (f" on {ranks} ranks" if ranks else "")


def offered(db: Database, campaign: str, *, every: bool) -> list[Offered]:
    """Of its tables; with `every` of all its suites too."""
    found = []
    for stage in verdicts.stages(db, campaign):
        names = table_samples.suites(verdicts.get(db, campaign, stage))
        found.append(_offered(f"{campaign}:{stage}", sweeps.listed(db, campaign, names)))
    if every or not found:
        by_suite: dict[str, list[sweeps.Sweep]] = {}
        for sweep in sweeps.listed(db, campaign):
            by_suite.setdefault(sweep.suite, []).append(sweep)
        found += [_offered(f"{campaign}/{name}", listed) for name, listed in by_suite.items()]
    return [each for each in found if each.functions]


def _offered(side: str, listed: Sequence[sweeps.Sweep]) -> Offered:
    functions: dict[str, dict[str, str]] = {}
    for sweep in listed:
        words = _label(sweep.variant, sweep.knobs, sweep.ranks)
        known = functions.setdefault(sweep.function, {})
        known[named(side, sweep.function, words)] = words
    return Offered(side, {name: list(known.items()) for name, known in sorted(functions.items())})


class _Read(msgspec.Struct, frozen=True):
    """Seconds by launch number, by size."""

    name: str
    run: str
    side: str
    function: str
    configuration: str
    nprocs: int
    sizes: dict[int, dict[int, float]]


def read(db: Database, names: Sequence[str], base: str, bounds: tuple[int, int]) -> list[Curve]:
    """In the order of the names; `bounds`: the smallest and the largest size. Raises HTTPException
    for a name that is none (400) or that names nothing here (404)."""
    parts = {name: _parts(name) for name in names}
    functions: dict[str, set[str]] = {}
    for side, function, _ in parts.values():
        functions.setdefault(side, set()).add(function)
    medians = {side: _medians(db, side, wanted) for side, wanted in functions.items()}
    found = [_read(db, name, parts[name], medians[parts[name][0]], bounds) for name in names]
    texts = _texts(found)
    under = next((each for each in found if each.name == base), None)
    return [_curve(each, text, under) for each, text in zip(found, texts, strict=True)]


def _parts(name: str) -> tuple[str, str, str]:
    parts = name.split(_BAR)
    if len(parts) != 3 or not all(parts):
        raise HTTPException(400, f"curve: {name!r} is not SIDE|FUNCTION|CONFIGURATION")
    return parts[0], parts[1], parts[2]


def _medians(db: Database, side: str, functions: set[str]) -> list[Medians]:
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
        if name.suite not in suites.get(db, campaign.id):
            raise HTTPException(404, f"curve: {side} is no suite of this run")
        return runs.medians(db, campaign.id, [name.suite], functions=functions)
    table = verdicts.get(db, campaign.id, name.stage)
    if not table:
        raise HTTPException(404, f"curve: {side} is no table of this run")
    return table_samples.medians(db, campaign.id, table, functions=functions)


def _read(
    db: Database,
    name: str,
    parts: tuple[str, str, str],
    medians: Sequence[Medians],
    bounds: tuple[int, int],
) -> _Read:
    side, function, configuration = parts
    sizes: dict[int, dict[int, float]] = {}
    known = False
    for found in medians:
        if _is(found.case, function, configuration):
            known = True
            if found.runs and bounds[0] <= found.case.bytes <= bounds[1]:
                pairs = zip(found.runs, found.seconds, strict=True)
                sizes.setdefault(found.case.bytes, {}).update(pairs)
    if not known:
        raise HTTPException(404, f"curve: {side} has no {function} with {configuration}")
    run = sides.parse(side).campaign
    campaign = campaigns.known(db, run)
    nprocs = 0 if campaign is None else campaign.nprocs
    return _Read(name, run, side, function, configuration, nprocs, dict(sorted(sizes.items())))


def _is(case: Case, function: str, configuration: str) -> bool:
    same = _label(case.variant, case.knobs, case.ranks) == configuration
    return case.function == function and same


def _texts(found: Sequence[_Read]) -> list[str]:
    """What tells them apart; the function always."""
    rest = [(each.side, each.configuration) for each in found]
    parted = [len({parts[place] for parts in rest}) > 1 for place in range(2)]
    texts = []
    for each, parts in zip(found, rest, strict=True):
        words = [part for part, differs in zip(parts, parted, strict=True) if differs]
        texts.append(", ".join([each.function, *words]))
    return texts


def _curve(found: _Read, text: str, base: _Read | None) -> Curve:
    return Curve(
        name=found.name,
        text=text,
        run=found.run,
        side=found.side,
        function=found.function,
        configuration=found.configuration,
        nprocs=found.nprocs,
        is_base=found is base,
        points=[
            _point(size, seconds, base.sizes.get(size, {}) if base else {})
            for size, seconds in found.sizes.items()
        ],
    )


def _point(size: int, seconds: dict[int, float], base: dict[int, float]) -> Point:
    middle = median_interval(list(seconds.values()))
    factor = _factor(seconds, base)
    return Point(size, len(seconds), middle.value, middle.low, middle.high, factor)


def _factor(seconds: dict[int, float], base: dict[int, float]) -> Factor | None:
    if not base or min(*seconds.values(), *base.values()) <= 0:
        return None
    shared = sorted(seconds.keys() & base.keys())
    if seconds == base:
        return Factor(1.0, 1.0, 1.0, True)
    if shared:
        found = paired_ratio(
            [math.log(seconds[run] / base[run]) for run in shared], alternative="two-sided"
        )
        if found.ratio is not None:
            return Factor(found.ratio, found.low, found.high, True)
    ratio = statistics.median(seconds.values()) / statistics.median(base.values())
    return Factor(ratio, None, None, False)


def together(curves: Sequence[Curve]) -> bool:
    """All were measured in launches that the base shares."""
    factors = [point.factor for each in curves for point in each.points if point.factor]
    return all(factor.together for factor in factors)


_COLUMNS = (
    *("side", "function", "configuration", "nprocs", "bytes", "launches"),
    *("seconds", "seconds_low", "seconds_high"),
    *("over_base", "over_base_low", "over_base_high", "measured_together"),
)


def csv_of(curves: Sequence[Curve]) -> str:
    """All points, a line each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for each in curves:
        about = [each.side, each.function, each.configuration, each.nprocs]
        for point in each.points:
            times = [point.bytes, point.n, point.seconds, point.low, point.high]
            factor = point.factor
            ratios: list[object] = ["", "", "", ""]
            if factor is not None:
                ratios = [factor.ratio, factor.low, factor.high, int(factor.together)]
            writer.writerow([*about, *times, *ratios])
    return text.getvalue()
