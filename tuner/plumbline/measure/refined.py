"""Places that are added to a measurement side by side, look by look, where its curves ask for them
(refine.py): sizes, or numbers of ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Data, Plan, PlanCase, part_bytes
from plumbline.measure import refine, side_by_side
from plumbline.measure.launches import LaunchStore
from plumbline.measure.refine import Estimate, Refinement, SweptCurve, estimate
from plumbline.measure.side_by_side import SUITE, MeasuredCase
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.points import SuitePoint

_MOST_LOOKS = 30


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
    """The cases by place; `added`: the places that nobody asked for, and why they are there."""

    cases: list[MeasuredCase]
    added: list[SuitePoint]


def run(
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
    """`plan` has all cases at each place that is asked for; `label` names a variant with knobs."""
    last = max(axis.place(case) for case in plan.cases)
    there = [case for case in plan.cases if axis.place(case) == last]
    cases = side_by_side.run(store, plan, launches, environment, settings)
    added: list[SuitePoint] = []
    for look in range(2, _MOST_LOOKS):
        proposed = refine.proposals(swept(cases, axis, label), how)
        if not proposed:
            break
        added += [
            SuitePoint(SUITE.name, axis.name, each.place, look, each.why, each.detail)
            for each in proposed
        ]
        places = ", ".join(f"{each.place} {axis.name} ({each.why})" for each in proposed)
        store.progress.step(f"look {look}: {places}")
        more = msgspec.structs.replace(
            plan,
            cases=tuple(
                axis.at(each.place, case, plan.data) for each in proposed for case in there
            ),
        )
        cases += side_by_side.run(
            store, more, launches, environment, settings, suite=SUITE.at(look)
        )
    return RefinedCases(sorted(cases, key=axis.place), added)


def swept(
    cases: Sequence[MeasuredCase], axis: Axis, label: Callable[[str, dict[str, str]], str]
) -> list[SweptCurve]:
    points: dict[str, dict[int, Estimate]] = {}
    ratios: dict[str, dict[int, Estimate]] = {}
    for case in cases:
        name = label(case.variant, case.knobs)
        ratios.setdefault(name, {})
        if case.seconds:
            points.setdefault(name, {})[axis.place(case)] = estimate(case.seconds)
        if case.ratio is not None and (ratio := _ratio(case.ratio)):
            ratios[name][axis.place(case)] = ratio
    return [SweptCurve(name, at, ratios[name]) for name, at in points.items()]


def _ratio(of: Comparison) -> Estimate | None:
    """Return the ratio; a single launch, of which nobody knows how far it is off, decides
    nothing."""
    if of.ratio is None:
        return None
    if of.low is None or of.high is None:
        return Estimate(math.log(of.ratio), math.inf)
    return Estimate(math.log(of.ratio), math.log(of.high / of.low) / 2)
