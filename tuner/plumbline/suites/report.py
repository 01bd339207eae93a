"""The report of a run, suite by suite: measurements, why points were added, thresholds, and where
curves cross. As records for programs, and as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from plumbline.measure.hockney import median_interval
from plumbline.measure.refine import Drift, SweptCurve, Threshold, drifts_since
from plumbline.suites.run import Prepared, curves, found_thresholds, read
from plumbline_db import points, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.points import Axis, Why, stored_suite
from plumbline_db.records import Campaign


class Measurement(msgspec.Struct, frozen=True):
    """The measurement at a place of the axis: the median over `n` launches of their medians, with
    its interval of 95 % (None: too few launches); `over_first`: over the time of the first
    operation of the suite, paired by launch. `why` the place was measured, in which `look`."""

    place: int
    n: int
    seconds: float
    low: float | None
    high: float | None
    over_first: float | None
    why: Why
    look: int
    detail: str


class MeasuredRank(msgspec.Struct, frozen=True):
    """The median over launches of what one rank takes."""

    bytes: int
    rank: int
    seconds: float


class OperationCurve(msgspec.Struct, frozen=True):
    operation: str
    measurements: list[Measurement]
    ranks: list[MeasuredRank]


class Crossover(msgspec.Struct, frozen=True):
    """`faster` up to `low`, slower than the suite's first operation from `high` on; or the other
    way round, `slower`."""

    operation: str
    low: int
    high: int
    faster_below: bool


class MeasuredSuite(msgspec.Struct, frozen=True):
    name: str
    pattern: str
    axis: Axis
    operations: list[OperationCurve]
    thresholds: list[Threshold]
    crossovers: list[Crossover]
    drifts: list[Drift] = []


def of_suite(db: Database, campaign: Campaign, of: Prepared) -> MeasuredSuite:
    times_by_operation = read(db, campaign, of)
    swept = curves(db, campaign, of)
    stored = stored_suite(of.suite.name).name
    point_by_place = {
        suite_point.place: suite_point
        for suite_point in points.get(db, campaign.id)
        if suite_point.suite == stored
    }
    ranks = _ranks(db, campaign, of)
    lines = []
    for curve, operation in zip(swept, of.operations, strict=True):
        measurements = []
        for place_times in times_by_operation[operation.name]:
            middle = median_interval(list(place_times.seconds.values()))
            ratio = curve.ratios.get(place_times.place)
            point = point_by_place[place_times.place]
            measurements.append(
                Measurement(
                    place_times.place,
                    len(place_times.seconds),
                    middle.value,
                    middle.low,
                    middle.high,
                    None if ratio is None else ratio.factor,
                    point.why,
                    point.look,
                    point.detail,
                )
            )
        own = [
            rank
            for (function, variant), rank in ranks
            if (function, variant) == (operation.function, operation.variant)
        ]
        lines.append(OperationCurve(operation.name, measurements, own))
    return MeasuredSuite(
        of.suite.name,
        of.suite.pattern,
        of.suite.vary,
        lines,
        found_thresholds(db, campaign, of),
        crossovers(swept),
        _drifts(db, campaign, of, max(point.look for point in point_by_place.values())),
    )


def _drifts(db: Database, campaign: Campaign, of: Prepared, looks: int) -> list[Drift]:
    first = _seconds(db, campaign, of, 1)
    return [
        drift
        for look in range(2, looks + 1)
        for drift in drifts_since(first, _seconds(db, campaign, of, look), look)
    ]


def _seconds(
    db: Database, campaign: Campaign, of: Prepared, look: int
) -> dict[str, dict[int, list[float]]]:
    """Return the seconds of a look by operation and place, one value a launch."""
    return {
        operation: {place: list(seconds.values()) for place, seconds in place_times}
        for operation, place_times in read(db, campaign, of, [look]).items()
    }


def _ranks(
    db: Database, campaign: Campaign, of: Prepared
) -> list[tuple[tuple[str, str], MeasuredRank]]:
    if not of.suite.by_rank:
        return []
    names = [
        name
        for name, suite in runs.suites(db, campaign.id).items()
        if (suite.stage, suite.step) == ("suite", of.suite.name)
    ]
    seconds_by_rank: dict[tuple[str, str, int, int], list[float]] = {}
    for rank_median in table_samples.rank_medians(db, campaign.id, names):
        key = (rank_median.function, rank_median.variant, rank_median.bytes, rank_median.rank)
        seconds_by_rank.setdefault(key, []).append(rank_median.seconds)
    return [
        ((function, variant), MeasuredRank(size, rank, median_interval(seconds).value))
        for (function, variant, size, rank), seconds in sorted(seconds_by_rank.items())
    ]


def crossovers(of: Sequence[SweptCurve]) -> list[Crossover]:
    """Between neighbouring places at which it is decided which one is faster."""
    crossovers_found = []
    for curve in of:
        decided = [
            (place, ratio.value)
            for place, ratio in sorted(curve.ratios.items())
            if abs(ratio.value) > ratio.half
        ]
        for (low, before), (high, after) in pairwise(decided):
            if before * after < 0:
                crossovers_found.append(Crossover(curve.name, low, high, before < 0))
    return crossovers_found


def text(of: MeasuredSuite, library: str) -> list[str]:
    """A report of one suite, as SKaMPI's were: what was measured and how, then a line a place."""
    unit = "bytes" if of.axis == "bytes" else "ranks"
    names = [operation.operation for operation in of.operations]
    width = max(12, *map(len, names)) + 2
    lines = [
        f"suite {of.name}: pattern {of.pattern}, varied over {unit}, {library}",
        f"{unit:>9}  n  " + "".join(f"{name:>{width}}" for name in names) + "  µs, 95 % interval",
    ]
    by_place: dict[int, dict[str, Measurement]] = {}
    for each in of.operations:
        for measured in each.measurements:
            by_place.setdefault(measured.place, {})[each.operation] = measured
    for place, row in sorted(by_place.items()):
        first = next(iter(row.values()))
        cells = "".join(f"{_microseconds(row.get(name)):>{width}}" for name in names)
        why = "" if first.why == "asked" else f"  {first.why}, look {first.look}"
        ends = ", ".join(
            f"{1e6 * measured.low:.4g}–{1e6 * measured.high:.4g}"
            for measured in row.values()
            if measured.low is not None and measured.high is not None
        )
        lines.append(f"{place:>9} {first.n:>2}  {cells}  {ends or 'no interval'}{why}")
    lines += [
        f"{threshold.curve} jumps between {threshold.low} and {threshold.high} {unit}: "
        f"{threshold.factor:.2f} times as long"
        for threshold in of.thresholds
    ]
    lines += [_crossing(crossover, names[0], unit) for crossover in of.crossovers]
    lines += [drift.text(unit) for drift in of.drifts]
    return lines + _rank_lines(of)


def _microseconds(of: Measurement | None) -> str:
    return "-" if of is None else f"{1e6 * of.seconds:.4g}"


def _crossing(of: Crossover, first: str, unit: str) -> str:
    below, above = ("faster", "slower") if of.faster_below else ("slower", "faster")
    return (
        f"{of.operation} is {below} than {first} up to {of.low} {unit}, {above} from {of.high} on"
    )


def _rank_lines(of: MeasuredSuite) -> list[str]:
    lines = []
    for operation in of.operations:
        by_size: dict[int, list[MeasuredRank]] = {}
        for measured in operation.ranks:
            by_size.setdefault(measured.bytes, []).append(measured)
        for size, measured_ranks in by_size.items():
            times = " ".join(f"{1e6 * measured.seconds:.4g}" for measured in measured_ranks)
            lines.append(f"{operation.operation} at {size} B, rank by rank, µs: {times}")
    return lines
