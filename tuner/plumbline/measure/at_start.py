"""Knobs that are put in force when a launch starts, beside the library as it is: launches with each
setting take turns with launches without, and a ratio is of the launches of one turn.

Two launches differ by more than two cases of one: these ratios want more of them. What the library
says of its own variables (MPI_T) must be what it was started with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.starter import Starter
from plumbline.measure import side_by_side
from plumbline.measure.side_by_side import MeasuredCase
from plumbline.verify.statistics import Comparison
from plumbline_db.errors import PlumblineError
from plumbline_db.records import ProbeRecord


def run(
    starter: Starter,
    plan: Plan,
    settings: Sequence[Configuration],
    launches: int,
    environment: Mapping[str, str],
    compare: Callable[[Sequence[float]], Comparison],
) -> tuple[list[MeasuredCase], list[list[ProbeRecord]]]:
    """The lines of `plan`, and those of its defaults under each of `settings`, by size."""
    raw: list[list[ProbeRecord]] = []
    theirs: list[list[list[ProbeRecord]]] = [[] for _ in settings]
    plans = [_plan(plan, setting) for setting in settings]
    failed: dict[int, str] = {}
    for number in range(launches):
        raw += side_by_side.launch(starter, "measure", plan, 1, environment, number)
        for index, knobs in enumerate(settings):
            if index in failed:
                continue
            extra = dict(environment) | starter.family.in_environment(knobs.as_dict())
            name = f"measure-{index + 1}"
            try:
                theirs[index] += side_by_side.launch(starter, name, plans[index], 1, extra, number)
            except PlumblineError as error:
                failed[index] = str(error).splitlines()[0]
    found = side_by_side.measured(plan, raw)
    error_seconds = side_by_side.clock_error_seconds(raw)
    lines = side_by_side.lines(plan, found, error_seconds, compare)
    references = {
        case.bytes: found.seconds[index]
        for index, case in enumerate(plan.cases)
        if case == PlanCase(case.function, case.bytes)
    }
    for index, one in enumerate(plans):
        under = side_by_side.measured(one, theirs[index])
        if index in failed:
            outcomes = [failed[index]] * len(one.cases)
            nothing: list[dict[int, float]] = [{} for _ in one.cases]
            under = msgspec.structs.replace(under, outcomes=outcomes, seconds=nothing)
        error_seconds = side_by_side.clock_error_seconds(theirs[index])
        lines += side_by_side.lines(one, under, error_seconds, compare, references)
    lines.sort(key=lambda line: line.bytes)
    return lines, [*raw, *(records for launch in theirs for records in launch)]


def _plan(plan: Plan, configuration: Configuration) -> Plan:
    cases = (
        PlanCase(case.function, case.bytes, configuration=configuration)
        for case in plan.cases
        if case == PlanCase(case.function, case.bytes)
    )
    return msgspec.structs.replace(plan, cases=tuple(cases), knobs="start")
