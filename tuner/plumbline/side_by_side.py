"""One function, several variants and knob settings, measured in the same launches: the plain
numbers behind every comparison. Keeps nothing but what it is asked to write."""

from __future__ import annotations

import math
import statistics as numbers
from collections.abc import Mapping, Sequence

import msgspec

from plumbline.measure import Starter
from plumbline.plan import Plan, PlanCase
from plumbline.verify.statistics import Comparison, paired_ratio
from plumbline_db.errors import PlumblineError
from plumbline_db.records import CaseRecord, Check, ProbeRecord, Samples


class Line(msgspec.Struct, frozen=True):
    """One case over all launches: `seconds` are the launch medians; `ratio` is to the default of
    the same size (None for the default itself, and where there is nothing to compare)."""

    function: str
    variant: str
    knobs: dict[str, str]
    bytes: int
    outcome: str
    seconds: list[float]
    ratio: Comparison | None


def launch(
    starter: Starter, name: str, plan: Plan, launches: int, environment: Mapping[str, str]
) -> list[list[ProbeRecord]]:
    """The records of `launches` launches of `plan`, each with its own seed. Raises PlumblineError
    when one fails."""
    raw: list[list[ProbeRecord]] = []
    for number in range(launches):
        one = msgspec.structs.replace(plan, name=f"{name}-{number:03d}", seed=plan.seed + number)
        run, records = starter.start(name, name, number, one.text(), dict(environment))
        if run.outcome == "failed":
            raise PlumblineError(f"launch {number} failed: {run.reason}\n{run.stderr[-1500:]}")
        raw.append(list(records))
    return raw


def run(
    starter: Starter, plan: Plan, launches: int, environment: Mapping[str, str]
) -> tuple[list[Line], list[list[ProbeRecord]]]:
    """Like `launch`, with the lines in the order of the plan."""
    seconds: list[list[float]] = [[] for _ in plan.cases]
    outcomes = ["not measured" for _ in plan.cases]
    raw = launch(starter, "measure", plan, launches, environment)
    for records in raw:
        for number_of_case, times in _samples(records).items():
            seconds[number_of_case].append(numbers.median(times) / 1e9)
        for record in records:
            if isinstance(record, Check):
                outcomes[record.case] = f"{record.outcome}: {record.detail}".rstrip(": ")
            elif isinstance(record, CaseRecord) and record.variant == "library":
                outcomes[record.case] = "ok"
    defaults = {
        case.bytes: index
        for index, case in enumerate(plan.cases)
        if case == PlanCase(case.function, case.bytes)
    }
    lines = []
    for index, case in enumerate(plan.cases):
        reference = defaults.get(case.bytes, index)
        lines.append(
            Line(
                function=case.function,
                variant=case.variant,
                knobs=dict(case.knobs),
                bytes=case.bytes,
                outcome=outcomes[index],
                seconds=seconds[index],
                ratio=None if index == reference else _ratio(seconds[index], seconds[reference]),
            )
        )
    return lines, raw


def _samples(records: Sequence[ProbeRecord]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for record in records:
        if isinstance(record, Samples):
            found.setdefault(record.case, []).extend(record.ns)
    return found


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> Comparison | None:
    if not ours or len(ours) != len(theirs):
        return None
    return paired_ratio([math.log(a / b) for a, b in zip(ours, theirs, strict=True)])
