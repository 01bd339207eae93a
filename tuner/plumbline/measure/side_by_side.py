"""One function, several variants and knob settings: the plain numbers behind every comparison; and
the number of repetitions that a cell needs. Results are shown and not kept.

Variants, and knobs that are switched while a launch runs, share launches. Settings that are put in
force when a launch starts have launches of their own, which take turns with those; their ratios are
of the launches of one turn. Two launches differ by more than two cases of one, so that these ratios
want more of them. What the library says of its own variables (MPI_T) must be what it was started
with."""

from __future__ import annotations

import math
import statistics as numbers
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.starter import Starter
from plumbline.measure.comparison import Arm, take_turns
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.settings import identity
from plumbline.settings.toolchain import Toolchain
from plumbline.verify.decision import Compare, compare_of
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import launch_records, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import (
    CaseRecord,
    Check,
    ClockError,
    ConfigRecord,
    Criterion,
    Nrep,
    ProbeRecord,
    Refused,
    Samples,
    Transit,
)
from plumbline_db.records import Suite


@contextmanager
def unkept_store(
    toolchain: Toolchain, starter: Starter, command: str, progress: Progress | None = None
) -> Iterator[LaunchStore]:
    """Make a store that lasts as long as the context; `command`: who asks."""
    settings = msgspec.json.encode({"command": command}).decode()
    with Database.in_memory() as db:
        asked = identity.Identity(settings, starter.placement, "u")
        row = identity.enter(db, toolchain, asked, new=True)
        yield LaunchStore(db, row.id, starter, progress)


def unkept_records(store: LaunchStore, suite: Suite | None = None) -> list[list[ProbeRecord]]:
    """Return what the probe wrote in each finished launch, of one suite (None: of all), in their
    order."""
    suites = None if suite is None else [suite.name]
    return [
        launch_records.of_run(store.db, run.id)
        for run in runs.listing(store.db, store.campaign, suites)
        if run.finished
    ]


SUITE = Suite("measure")


class MeasuredCase(msgspec.Struct, frozen=True):
    """One case over all launches: `seconds` are the launch medians, of those launches that gave a
    result; `ratio` is to the default of the same size, over the launches that have both (None for
    the default itself, and where there is nothing to compare). `dropped` counts repetitions that
    began late; `clock_error_seconds` is the largest residual error of
    the global clock over the launches, None where no clock was synchronised. `ranks`: it ran on
    the first ones; 0: on all."""

    function: str
    variant: str
    knobs: dict[str, str]
    bytes: int
    outcome: str
    seconds: list[float]
    ratio: Comparison | None
    dropped: int = 0
    clock_error_seconds: float | None = None
    ranks: int = 0


class _Times(msgspec.Struct):
    """The times of a case in the launches of an arm: medians by the number of the launch,
    repetitions left out, and what became of it."""

    seconds: dict[int, float]
    dropped: int = 0
    outcome: str = "not measured"


def run(
    store: LaunchStore,
    plan: Plan,
    launches: int,
    environment: Mapping[str, str],
    settings: Sequence[Configuration] = (),
    *,
    suite: Suite = SUITE,
) -> list[MeasuredCase]:
    """`launches` launches of `plan`, in the order of its cases; with `settings` by size, each
    beside the defaults of the plan. A case under which
    launches fail, and a setting, is an outcome; raises PlumblineError when nothing of these is to
    blame."""
    plain = Arm(suite, plan, environment)
    arms = [plain]
    for number, setting in enumerate(settings, 1):
        extra = dict(environment) | store.starter.family.in_environment(setting.as_dict())
        arms.append(Arm(suite.of(str(number)), _defaults(plan, setting), extra, on_trial=True))
    turns = take_turns(store, arms, launches)
    compare = compare_of(simulated=store.starter.family.simulates)
    measured: list[MeasuredCase] = []
    references: dict[tuple[int, int], dict[int, float]] = {}
    for arm in arms:
        raw = unkept_records(store, arm.suite)
        times = _times(arm.plan, raw)
        for case in turns.dropped(arm):
            times[case].outcome = f"failed: {store.aside.why(case) or 'launches end with it'}"
        failure = turns.condemned(arm)
        if failure is not None:
            reason = f"failed: launches end with it in force: {failure.text}"
            times = {case: _Times({}, outcome=reason) for case in arm.plan.cases}
        if arm is plain:
            references = {
                (case.ranks, case.bytes): times[case].seconds
                for case in plan.cases
                if _is_default(case)
            }
        measured += _lines(times, references, _clock_error_seconds(raw), compare)
    return sorted(measured, key=lambda line: (line.ranks, line.bytes)) if settings else measured


def _is_default(case: PlanCase) -> bool:
    return case == PlanCase(case.function, case.bytes, ranks=case.ranks)


def _defaults(plan: Plan, setting: Configuration) -> Plan:
    """Return the plan of the default cases alone, with a setting that was put in force when the
    launch started."""
    cases = (
        PlanCase(case.function, case.bytes, configuration=setting, ranks=case.ranks)
        for case in plan.cases
        if _is_default(case)
    )
    return msgspec.structs.replace(plan, cases=tuple(cases), knobs="start")


def _times(plan: Plan, raw: Sequence[Sequence[ProbeRecord]]) -> dict[PlanCase, _Times]:
    times_of = {case: _Times({}) for case in plan.cases}
    for number, records in enumerate(raw):
        cases = planned(records)
        refused = {record.case: record.reason for record in records if isinstance(record, Refused)}
        for id, ns in _samples(records).items():
            if ns and id not in refused:
                times_of[cases[id]].seconds[number] = numbers.median(ns) / 1e9
        for record in records:
            if isinstance(record, Check):
                times_of[cases[record.case]].outcome = outcome(record)
            elif isinstance(record, CaseRecord) and record.variant == "library":
                times_of[cases[record.case]].outcome = "ok"
            elif isinstance(record, Samples):
                times_of[cases[record.case]].dropped += sum(record.late)
        for id, reason in refused.items():
            if not times_of[cases[id]].seconds:
                times_of[cases[id]].outcome = f"refused: {reason}"
    return times_of


def planned(records: Sequence[ProbeRecord]) -> dict[int, PlanCase]:
    """The cases of a launch, by their number in it."""
    configurations = {
        record.id: Configuration.of(
            {name: reading.wanted for name, reading in record.knobs.items()}
        )
        for record in records
        if isinstance(record, ConfigRecord)
    }
    return {
        record.case: PlanCase(
            record.function,
            record.bytes,
            record.variant,
            configurations.get(record.config, Configuration()),
            ranks=record.ranks,
        )
        for record in records
        if isinstance(record, CaseRecord)
    }


def outcome(check: Check) -> str:
    return f"{check.outcome}: {check.detail}".rstrip(": ")


def _lines(
    times: Mapping[PlanCase, _Times],
    references: Mapping[tuple[int, int], Mapping[int, float]],
    clock_error: float | None,
    compare: Compare,
) -> list[MeasuredCase]:
    """`references` are the default's seconds by ranks and bytes, by launch."""
    return [
        MeasuredCase(
            function=case.function,
            variant=case.variant,
            knobs=case.configuration.as_dict(),
            bytes=case.bytes,
            outcome=found.outcome,
            seconds=list(found.seconds.values()),
            ratio=None
            if _is_default(case)
            else _ratio(found.seconds, references.get((case.ranks, case.bytes), {}), compare),
            dropped=found.dropped,
            clock_error_seconds=clock_error,
            ranks=case.ranks,
        )
        for case, found in times.items()
    ]


def _samples(records: Sequence[ProbeRecord]) -> dict[int, list[int]]:
    later = {record.case: record.blocks for record in records if isinstance(record, Transit)}
    return {
        record.case: record.from_block(later.get(record.case, 0))
        for record in records
        if isinstance(record, Samples)
    }


def _clock_error_seconds(raw: Sequence[Sequence[ProbeRecord]]) -> float | None:
    errors_ns = [
        error
        for records in raw
        for record in records
        if isinstance(record, ClockError)
        for error in record.errors_ns
    ]
    return max(errors_ns) / 1e9 if errors_ns else None


def _ratio(
    ours: Mapping[int, float], theirs: Mapping[int, float], compare: Compare
) -> Comparison | None:
    """Paired by launch."""
    both = sorted(ours.keys() & theirs.keys())
    logs = [math.log(ours[number] / theirs[number]) for number in both]
    return compare(logs, 0.95) if logs else None


# The number of repetitions that a cell needs (step NREP of Hunold et al., Euro-Par 2016, section
# 4.2): some launches under a stopping rule, and of each cell the most that any of them took.

_REPETITIONS_SUITE = Suite("nrep")


class _StoppedAt(msgspec.Struct, frozen=True):
    """One launch of a cell. `criteria` as they were at its end; a value of None could not be
    computed from so few samples."""

    nrep: int
    by: str
    criteria: list[Criterion]


class RepetitionsCell(msgspec.Struct, frozen=True):
    """`nrep`: the most of all launches, None where no launch could measure it (`outcome` says why).
    `met`: the criteria ended every launch, so that `nrep` is enough and not only where it stopped.
    """

    function: str
    variant: str
    bytes: int
    outcome: str
    nrep: int | None
    met: bool
    launches: list[_StoppedAt]


def predict(store: LaunchStore, plan: Plan, launches: int) -> list[RepetitionsCell]:
    """`launches` launches of `plan`, which has a stopping rule, in the order of its cases. A cell
    under which launches fail is an outcome; raises PlumblineError when none is to blame."""
    arm = Arm(_REPETITIONS_SUITE, plan)
    turns = take_turns(store, [arm], launches)
    failed = {case: f"failed: {store.aside.why(case)}" for case in turns.dropped(arm)}
    return _repetition_cells(plan, unkept_records(store, _REPETITIONS_SUITE), failed)


def _repetition_cells(
    plan: Plan, raw: Sequence[Sequence[ProbeRecord]], failed: Mapping[PlanCase, str]
) -> list[RepetitionsCell]:
    """Return what the records of some launches of `plan` say of each of its cases."""
    ends: dict[PlanCase, list[_StoppedAt]] = {case: [] for case in plan.cases}
    outcomes = dict.fromkeys(plan.cases, "not measured")
    for records in raw:
        cases = planned(records)
        for record in records:
            if isinstance(record, Check):
                outcomes[cases[record.case]] = outcome(record)
            elif isinstance(record, Nrep):
                at = _StoppedAt(record.nrep, record.ended_by, record.criteria)
                ends[cases[record.case]].append(at)
    return [
        RepetitionsCell(
            function=case.function,
            variant=case.variant,
            bytes=case.bytes,
            outcome=failed.get(case, outcomes[case]),
            nrep=max((at.nrep for at in ended), default=None),
            met=bool(ended) and case not in failed and all(at.by == "criteria" for at in ended),
            launches=ended,
        )
        for case, ended in ends.items()
    ]
