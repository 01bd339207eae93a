"""The places on the axis of some curves where the next points tell most, and why. Pure.

Curves are looked at in log space, where a factor is a distance. Three things ask for a point:

* a jump: between two neighbours the time rises (or falls) by more than the slopes on both sides
  explain; what jumps is a protocol or an algorithm, and the place is bisected to the threshold;
* a crossover: of two curves one is surely faster at one place and surely slower at another;
* curvature: a straight line between two neighbours is wrong by more than the allowed error.

What noise explains asks for nothing. SKaMPI's refinement (Reussner, 1999) takes arithmetic
midpoints and knows no noise: large sizes win there."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Data, Plan, PlanCase, part_bytes
from plumbline.measure import side_by_side
from plumbline.measure.hockney import median_interval
from plumbline.measure.launches import LaunchStore
from plumbline.measure.side_by_side import SUITE, MeasuredCase
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.points import SuitePoint, Why

_MOST_LOOKS = 30
# Four launches at each of two looks have disjoint spans by chance in one case of 35, five in 126.
_LEAST_FOR_DRIFT = 5


class Axis(NamedTuple):
    """The axis that is refined, in launches of `nprocs` ranks: over `ranks` the first ones of them
    call."""

    name: Literal["bytes", "ranks"]
    nprocs: int

    def place(self, of: PlanCase | MeasuredCase) -> int:
        return of.bytes if self.name == "bytes" else of.ranks or self.nprocs

    def at(self, place: int, case: PlanCase, data: Data) -> PlanCase:
        """`case`, which is of all ranks, at a place: on fewer ranks with the counts of each."""
        if self.name == "bytes":
            return msgspec.structs.replace(case, bytes=place)
        size = part_bytes(case.function, case.bytes, self.nprocs, place, data)
        ranks = 0 if place == self.nprocs else place
        return msgspec.structs.replace(case, bytes=size, ranks=ranks)


class RefinedCases(msgspec.Struct, frozen=True):
    """The cases by place; `added`: the places that nobody asked for, and why they are there;
    `drifts`: of the repeated places, those whose time has changed."""

    cases: list[MeasuredCase]
    added: list[SuitePoint] = []
    drifts: list[Drift] = []


def run_refined(
    store: LaunchStore,
    plan: Plan,
    launches: int,
    environment: Mapping[str, str],
    settings: Sequence[Configuration] = (),
    *,
    how: Refinement,
    axis: Axis,
    label: Callable[[str, dict[str, str]], str],
) -> RefinedCases:
    """`plan` has all cases at each place that is asked for; `label` names a variant with knobs.
    Each later look repeats a place of the first one; its times there only tell a drift."""
    asked_for = {axis.place(case) for case in plan.cases}
    there = [case for case in plan.cases if axis.place(case) == max(asked_for)]
    cases = side_by_side.run(store, plan, launches, environment, settings)
    first_times = _times(cases, axis, label)
    added: list[SuitePoint] = []
    drifts: list[Drift] = []
    for look in range(2, _MOST_LOOKS):
        proposed = proposals(_swept(cases, axis, label), how)
        if not proposed:
            break
        added += [
            SuitePoint(SUITE.name, axis.name, each.place, look, each.why, each.detail)
            for each in proposed
        ]
        places = ", ".join(f"{each.place} {axis.name} ({each.why})" for each in proposed)
        store.progress.step(f"look {look}: {places}")
        new_places = [each.place for each in proposed]
        look_places = [*new_places, repeated_place(asked_for, new_places[0])]
        more = msgspec.structs.replace(
            plan,
            cases=tuple(axis.at(place, case, plan.data) for place in look_places for case in there),
        )
        look_cases = side_by_side.run(
            store, more, launches, environment, settings, suite=SUITE.at(look)
        )
        drifts += drifts_since(first_times, _times(look_cases, axis, label), look)
        cases += [case for case in look_cases if axis.place(case) in new_places]
    return RefinedCases(sorted(cases, key=axis.place), added, drifts)


def _times(
    cases: Sequence[MeasuredCase], axis: Axis, label: Callable[[str, dict[str, str]], str]
) -> dict[str, dict[int, list[float]]]:
    times: dict[str, dict[int, list[float]]] = {}
    for case in cases:
        times.setdefault(label(case.variant, case.knobs), {})[axis.place(case)] = case.seconds
    return times


def _swept(
    cases: Sequence[MeasuredCase], axis: Axis, label: Callable[[str, dict[str, str]], str]
) -> list[SweptCurve]:
    points: dict[str, dict[int, CurveValue]] = {}
    ratios: dict[str, dict[int, CurveValue]] = {}
    for case in cases:
        name = label(case.variant, case.knobs)
        ratios.setdefault(name, {})
        if case.seconds:
            points.setdefault(name, {})[axis.place(case)] = estimate(case.seconds)
        if case.ratio is not None and (ratio := _ratio(case.ratio)):
            ratios[name][axis.place(case)] = ratio
    return [SweptCurve(name, at, ratios[name]) for name, at in points.items()]


def _ratio(of: Comparison) -> CurveValue | None:
    """Return the ratio; a single launch, of which nobody knows how far it is off, decides
    nothing."""
    if of.ratio is None:
        return None
    if of.low is None or of.high is None:
        return CurveValue(math.log(of.ratio), math.inf)
    return CurveValue(math.log(of.ratio), math.log(of.high / of.low) / 2)


# Of what is expected of the best place: places that promise less wait for the next look.
_NEARLY_AS_GOOD = 0.5
_PER_LOOK = 3


class CurveValue(NamedTuple):
    """The estimate of a curve at a place: the logarithm of its time, and half the width of its
    interval."""

    value: float
    half: float

    @property
    def factor(self) -> float:
        return math.exp(self.value)


class SweptCurve(msgspec.Struct, frozen=True):
    """`points` by place; `ratios`: the logarithm of its time over that of the first curve, paired
    by launch, by place (none: it is the first)."""

    name: str
    points: Mapping[int, CurveValue]
    ratios: Mapping[int, CurveValue] = {}


class Refinement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`error`: relative error of a straight line between neighbours that is allowed; `resolution`:
    neighbours that lie no farther apart, relatively, are near enough; `most`: places in all;
    `unit`: places are multiples of it."""

    error: float = 0.05
    resolution: float = 0.05
    most: int = 24
    unit: int = 1


class Proposal(msgspec.Struct, frozen=True):
    """A place that asks for a point; `gain`: what is expected of it, as an error over a stretch of
    the axis."""

    place: int
    why: Why
    detail: str
    gain: float


class Threshold(msgspec.Struct, frozen=True):
    """A jump of a curve between two neighbours, by a factor."""

    curve: str
    low: int
    high: int
    factor: float


class Drift(msgspec.Struct, frozen=True):
    """A place of the first look that a later `look` repeated took `factor` times as long, and the
    intervals of both do not overlap: what this look has added is off by about as much."""

    operation: str
    place: int
    look: int
    factor: float

    def text(self, unit: str) -> str:
        return (
            f"{self.operation} at {self.place} {unit} took {self.factor:.2f} times as long in look "
            f"{self.look} as in the first one: the points that this look added are off by as much"
        )


def repeated_place(first: Collection[int], added: int) -> int:
    """Return the place of the `first` look that is nearest to an `added` one."""
    return min(first, key=lambda place: abs(math.log(max(place, 1) / added)))


def drifts_since(
    first: Mapping[str, Mapping[int, Sequence[float]]],
    later: Mapping[str, Mapping[int, Sequence[float]]],
    look: int,
) -> list[Drift]:
    """Return the drifts of a later `look`, from both looks' seconds by operation and place, one
    value a launch. Fewer than five launches show none."""
    drifts = []
    for operation, times in later.items():
        for place in sorted(times.keys() & first.get(operation, {}).keys()):
            if min(len(times[place]), len(first[operation][place])) < _LEAST_FOR_DRIFT:
                continue
            before, after = estimate(first[operation][place]), estimate(times[place])
            if abs(after.value - before.value) > before.half + after.half:
                factor = math.exp(after.value - before.value)
                drifts.append(Drift(operation, place, look, factor))
    return drifts


class _Stretch(NamedTuple):
    """Between two neighbours, in log space: its width, the rise over it, what the slopes before and
    behind it would have it rise, how far noise may raise it, and up to which rise the intervals of
    its ends overlap."""

    low: int
    high: int
    width: float
    rise: float
    before: float | None
    behind: float | None
    noise: float
    overlap: float

    @property
    def jump(self) -> float:
        """Return what neither slope explains, signed; 0 where noise may be it."""
        slopes = [slope for slope in (self.before, self.behind) if slope is not None]
        if not slopes:
            return 0.0
        # A curve does not fall where larger messages merely cost more.
        low, high = min(*slopes, 0.0), max(*slopes, 0.0)
        over = self.rise - high if self.rise > high else min(self.rise - low, 0.0)
        return over if abs(over) > self.noise and abs(self.rise) > self.overlap else 0.0

    @property
    def is_told_from_a_bend(self) -> bool:
        """A jump is: at an end of the axis nothing is known behind it, unless it is short."""
        return self.is_short or None not in (self.before, self.behind)

    @property
    def is_short(self) -> bool:
        return self.width < math.log(1.5)

    @property
    def bend(self) -> float:
        """About how far a straight line is from the curve."""
        # At an end of the axis the slope changes over this stretch as it does to the next one.
        before = 2 * self.rise - self.behind if self.before is None and self.behind else self.before
        behind = 2 * self.rise - self.before if self.behind is None and self.before else self.behind
        if before is None or behind is None:
            return 0.0
        # The error in the middle is 1/16 of it where the slope changes steadily over both
        # neighbours (y'' w² / 8, with y'' = change / 2 w²), and 1/4 where it changes there at once.
        change = behind - before
        return abs(change) / 8 if abs(change) > 4 * self.noise else 0.0


def estimate(values: Sequence[float]) -> CurveValue:
    """Return the estimate from one value a launch: their median, and half of its interval in log
    space (of too few: half of what they span)."""
    middle = median_interval(values)
    low, high = middle.low, middle.high
    if low is None or high is None:
        low, high = min(values), max(values)
    return CurveValue(math.log(middle.value), math.log(high / low) / 2)


def proposals(curves: Sequence[SweptCurve], how: Refinement) -> list[Proposal]:
    """Return what to measure next, the most telling first: at most three places at a time, so that
    each look learns from the one before; none where nothing is missing, or all places are used
    up."""
    places = {place for curve in curves for place in curve.points}
    by_place: dict[int, Proposal] = {}
    for curve in curves:
        for proposal in (*_of_curve(curve, how), *_crossovers(curve, curves[0], how)):
            earlier = by_place.get(proposal.place)
            if proposal.place not in places and (earlier is None or earlier.gain < proposal.gain):
                by_place[proposal.place] = proposal
    ranked = sorted(by_place.values(), key=lambda each: (-each.gain, each.place))
    room = min(_PER_LOOK, how.most - len(places))
    return [
        each for each in ranked[: max(room, 0)] if each.gain >= _NEARLY_AS_GOOD * ranked[0].gain
    ]


def _stretches(curve: SweptCurve) -> list[_Stretch]:
    places = sorted(place for place in curve.points if place > 0)
    at = [math.log(place) for place in places]
    values = [curve.points[place].value for place in places]
    slopes = [
        (after - before) / (right - left)
        for (left, right), (before, after) in zip(pairwise(at), pairwise(values), strict=True)
    ]
    stretches = []
    for index, (low, high) in enumerate(pairwise(places)):
        width = at[index + 1] - at[index]
        halves = curve.points[low].half, curve.points[high].half
        stretches.append(
            _Stretch(
                low,
                high,
                width,
                values[index + 1] - values[index],
                slopes[index - 1] * width if index else None,
                slopes[index + 1] * width if index + 1 < len(slopes) else None,
                math.hypot(*halves),
                sum(halves),
            )
        )
    return stretches


def _of_curve(curve: SweptCurve, how: Refinement) -> list[Proposal]:
    proposed = []
    stretches = _stretches(curve)
    cliffs = [
        stretch
        for stretch in stretches
        if abs(stretch.jump) > max(how.error, abs(stretch.rise) / 2)
    ]
    beside = {place for stretch in cliffs for place in (stretch.low, stretch.high)}
    for stretch in stretches:
        place = _between(stretch.low, stretch.high, 0.5, how)
        if place is None:
            continue
        where = f"{curve.name}, between {stretch.low} and {stretch.high}"
        if abs(stretch.jump) > how.error:
            by = f"{math.exp(stretch.jump):.2f} times what slopes beside it explain"
            gain = abs(stretch.jump) * stretch.width
            why: Why = "jump" if stretch.is_told_from_a_bend else "curvature"
            proposed.append(Proposal(place, why, f"{where}: {by}", gain))
        elif stretch.bend > how.error and beside.isdisjoint((stretch.low, stretch.high)):
            wrong = f"a straight line is wrong by about {100 * stretch.bend:.0f} %"
            proposed.append(
                Proposal(place, "curvature", f"{where}: {wrong}", stretch.bend * stretch.width)
            )
    return proposed


def _crossovers(curve: SweptCurve, first: SweptCurve, how: Refinement) -> list[Proposal]:
    """Between neighbours of which one surely is faster and one surely slower, where a straight line
    between their ratios says 1; where one between them is undecided, that is where they cross."""
    crossovers = []
    decided = sorted(
        place
        for place, ratio in curve.ratios.items()
        if place > 0 and abs(ratio.value) > max(ratio.half, 0.0)
    )
    for low, high in pairwise(decided):
        before, after = curve.ratios[low].value, curve.ratios[high].value
        if before * after > 0 or any(low < place < high for place in curve.ratios):
            continue
        place = _between(low, high, before / (before - after), how)
        if place is not None:
            detail = f"{curve.name} and {first.name} cross between {low} and {high}"
            stretch = math.log(high / low)
            gain = min(abs(before), abs(after)) / 4 * stretch
            crossovers.append(Proposal(place, "crossover", detail, gain))
    return crossovers


def _between(low: int, high: int, part: float, how: Refinement) -> int | None:
    """A place inside, about so far along; None where they are near enough, or nothing is between
    them."""
    if high <= low * (1 + how.resolution):
        return None
    part = min(max(part, 0.2), 0.8)
    wanted = math.exp(math.log(low) + part * math.log(high / low))
    place = round(wanted / how.unit) * how.unit
    return place if low < place < high else None


def thresholds(curves: Sequence[SweptCurve], how: Refinement) -> list[Threshold]:
    """Jumps whose place is known to a factor of 1.5, or better: as far as they were bisected."""
    return [
        Threshold(curve.name, stretch.low, stretch.high, math.exp(stretch.jump))
        for curve in curves
        for stretch in _stretches(curve)
        if abs(stretch.jump) > how.error and stretch.is_short
    ]


def grid(low: int, high: int, points: int, *, scale: str, unit: int = 1) -> list[int]:
    """So many places from `low` to `high`, in equal steps or in equal factors (`logarithmic`), each
    once."""
    if points < 2 or low == high:
        return sorted({low, high})
    parts = [step / (points - 1) for step in range(points)]
    if scale == "linear" or low == 0:
        places = [low + part * (high - low) for part in parts]
    else:
        places = [low * (high / low) ** part for part in parts]
    inside = {max(low, min(high, round(place / unit) * unit)) for place in places[1:-1]}
    return sorted({low, high} | inside)
