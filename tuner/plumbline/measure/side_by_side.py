"""One function, several variants and knob settings, measured in the same launches: the plain
numbers behind every comparison. Keeps nothing but what it is asked to write."""

from __future__ import annotations

import math
import statistics as numbers
from collections.abc import Callable, Mapping, Sequence

import msgspec

from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.starter import Starter
from plumbline.verify.statistics import Comparison, paired_ratio
from plumbline_db.errors import PlumblineError
from plumbline_db.records import (
    CaseRecord,
    Check,
    ClockError,
    ProbeRecord,
    Refused,
    Samples,
    Transit,
)


class MeasuredCase(msgspec.Struct, frozen=True):
    """One case over all launches: `seconds` are the launch medians, of those launches that gave a
    result; `ratio` is to the default of the same size, over the launches that have both (None for
    the default itself, and where there is nothing to compare). `dropped` counts repetitions that
    the start scheme found late or overrun; `clock_error_seconds` is the largest residual error of
    the global clock over the launches, None where no clock was synchronised."""

    function: str
    variant: str
    knobs: dict[str, str]
    bytes: int
    outcome: str
    seconds: list[float]
    ratio: Comparison | None
    dropped: int = 0
    clock_error_seconds: float | None = None


class Measured(msgspec.Struct, frozen=True):
    """Of each case of a plan: medians by the number of the launch, repetitions left out, and what
    became of it."""

    seconds: list[dict[int, float]]
    dropped: list[int]
    outcomes: list[str]


def launch(
    starter: Starter,
    name: str,
    plan: Plan,
    launches: int,
    environment: Mapping[str, str],
    first: int = 0,
) -> list[list[ProbeRecord]]:
    """The records of `launches` launches of `plan`, each with its own seed, by its number from
    `first` on. Raises PlumblineError when one fails."""
    raw: list[list[ProbeRecord]] = []
    for number in range(first, first + launches):
        one = msgspec.structs.replace(plan, name=f"{name}-{number:03d}", seed=plan.seed + number)
        run, records = starter.start(name, name, number, one.text(), dict(environment))
        if not run.finished:
            raise PlumblineError(f"launch {number} failed: {run.reason}\n{run.stderr[-1500:]}")
        raw.append(list(records))
        starter.stored(run.id)
    return raw


def run(
    starter: Starter,
    plan: Plan,
    launches: int,
    environment: Mapping[str, str],
    compare: Callable[[Sequence[float]], Comparison] = paired_ratio,
) -> tuple[list[MeasuredCase], list[list[ProbeRecord]]]:
    """Like `launch`, with the lines in the order of the plan. `compare` takes log ratios, one a
    launch."""
    raw = launch(starter, "measure", plan, launches, environment)
    return lines(plan, measured(plan, raw), clock_error_seconds(raw), compare), raw


def measured(plan: Plan, raw: Sequence[Sequence[ProbeRecord]]) -> Measured:
    seconds: list[dict[int, float]] = [{} for _ in plan.cases]
    dropped = [0 for _ in plan.cases]
    outcomes = ["not measured" for _ in plan.cases]
    for number, records in enumerate(raw):
        refused = {record.case: record.reason for record in records if isinstance(record, Refused)}
        for number_of_case, times in _samples(records).items():
            if times and number_of_case not in refused:
                seconds[number_of_case][number] = numbers.median(times) / 1e9
        for record in records:
            if isinstance(record, Check):
                outcomes[record.case] = f"{record.outcome}: {record.detail}".rstrip(": ")
            elif isinstance(record, CaseRecord) and record.variant == "library":
                outcomes[record.case] = "ok"
            elif isinstance(record, Samples):
                dropped[record.case] += record.late + record.overrun
        for number_of_case, reason in refused.items():
            if not seconds[number_of_case]:
                outcomes[number_of_case] = f"refused: {reason}"
    return Measured(seconds, dropped, outcomes)


def lines(
    plan: Plan,
    found: Measured,
    clock_error: float | None,
    compare: Callable[[Sequence[float]], Comparison],
    references: Mapping[int, Mapping[int, float]] | None = None,
) -> list[MeasuredCase]:
    """`references` are the default's seconds by bytes and launch; None: they are in `found`."""
    defaults = {
        case.bytes: index
        for index, case in enumerate(plan.cases)
        if case == PlanCase(case.function, case.bytes)
    }
    made = []
    for index, case in enumerate(plan.cases):
        ours = found.seconds[index]
        if references is not None:
            theirs: Mapping[int, float] = references.get(case.bytes, {})
        else:
            theirs = found.seconds[defaults.get(case.bytes, index)]
        made.append(
            MeasuredCase(
                function=case.function,
                variant=case.variant,
                knobs=case.configuration.as_dict(),
                bytes=case.bytes,
                outcome=found.outcomes[index],
                seconds=list(ours.values()),
                ratio=None if ours is theirs else _ratio(ours, theirs, compare),
                dropped=found.dropped[index],
                clock_error_seconds=clock_error,
            )
        )
    return made


def _samples(records: Sequence[ProbeRecord]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    later = {record.case: record.blocks for record in records if isinstance(record, Transit)}
    for record in records:
        if isinstance(record, Samples) and record.block >= later.get(record.case, 0):
            found.setdefault(record.case, []).extend(record.ns)
    return found


def clock_error_seconds(raw: Sequence[Sequence[ProbeRecord]]) -> float | None:
    errors_ns = [
        error
        for records in raw
        for record in records
        if isinstance(record, ClockError)
        for error in record.errors_ns
    ]
    return max(errors_ns) / 1e9 if errors_ns else None


def _ratio(
    ours: Mapping[int, float],
    theirs: Mapping[int, float],
    compare: Callable[[Sequence[float]], Comparison],
) -> Comparison | None:
    """Paired by launch."""
    both = sorted(ours.keys() & theirs.keys())
    return compare([math.log(ours[n] / theirs[n]) for n in both]) if both else None
