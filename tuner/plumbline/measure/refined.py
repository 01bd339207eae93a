"""Sizes that are added to a measurement side by side, look by look, where its curves ask for them
(refine.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan
from plumbline.measure import refine, side_by_side
from plumbline.measure.launches import LaunchStore
from plumbline.measure.refine import Estimate, Refinement, SweptCurve, estimate
from plumbline.measure.side_by_side import SUITE, MeasuredCase
from plumbline.verify.statistics import Comparison
from plumbline_db.records import SuitePoint

_MOST_LOOKS = 30


class RefinedCases(msgspec.Struct, frozen=True):
    """By size; `added`: the sizes that nobody asked for, and why they are there."""

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
    label: Callable[[str, dict[str, str]], str],
    compare: side_by_side.Compare,
) -> RefinedCases:
    """`plan` has all cases at each size that is asked for; `label` names a variant with knobs."""
    asked = sorted({case.bytes for case in plan.cases})
    there = [case for case in plan.cases if case.bytes == asked[-1]]
    found = side_by_side.run(store, plan, launches, environment, settings, compare=compare)
    added: list[SuitePoint] = []
    for look in range(2, _MOST_LOOKS):
        wanted = refine.proposals(swept(found, label), how)
        if not wanted:
            break
        sizes = [each.place for each in wanted]
        added += [
            SuitePoint(SUITE.name, "bytes", each.place, look, each.why, each.detail)
            for each in wanted
        ]
        told = ", ".join(f"{each.place} B ({each.why})" for each in wanted)
        store.progress.step(f"look {look}: {told}")
        more = msgspec.structs.replace(
            plan,
            cases=tuple(
                msgspec.structs.replace(case, bytes=size) for size in sizes for case in there
            ),
        )
        found += side_by_side.run(
            *(store, more, launches, environment, settings), suite=SUITE.at(look), compare=compare
        )
    return RefinedCases(sorted(found, key=lambda case: case.bytes), added)


def swept(
    cases: Sequence[MeasuredCase], label: Callable[[str, dict[str, str]], str]
) -> list[SweptCurve]:
    points: dict[str, dict[int, Estimate]] = {}
    ratios: dict[str, dict[int, Estimate]] = {}
    for case in cases:
        name = label(case.variant, case.knobs)
        ratios.setdefault(name, {})
        if case.seconds:
            points.setdefault(name, {})[case.bytes] = estimate(case.seconds)
        if case.ratio is not None and (known := _ratio(case.ratio)):
            ratios[name][case.bytes] = known
    return [SweptCurve(name, those, ratios[name]) for name, those in points.items()]


def _ratio(of: Comparison) -> Estimate | None:
    """Of a single launch nobody knows how far it is off; it decides nothing."""
    if of.ratio is None:
        return None
    if of.low is None or of.high is None:
        return Estimate(math.log(of.ratio), math.inf)
    return Estimate(math.log(of.ratio), math.log(of.high / of.low) / 2)
