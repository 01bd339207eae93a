"""The number of repetitions that a cell needs (the seed's step NREP, seed 000, section 4.2): some
launches under a stopping rule, and of each cell the most that any of them took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import unkept
from plumbline.measure.experiment import Arm, take_turns
from plumbline.measure.launches import LaunchStore
from plumbline.measure.side_by_side import outcome, planned
from plumbline_db.probe_records import Check, Criterion, Nrep, ProbeRecord
from plumbline_db.records import Suite

SUITE = Suite("nrep")


class StoppedAt(msgspec.Struct, frozen=True):
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
    launches: list[StoppedAt]


def predict(store: LaunchStore, plan: Plan, launches: int) -> list[RepetitionsCell]:
    """`launches` launches of `plan`, which has a stopping rule, in the order of its cases. A cell
    under which launches fail is an outcome; raises PlumblineError when none is to blame."""
    arm = Arm(SUITE, plan)
    turns = take_turns(store, [arm], launches)
    failed = {case: f"failed: {store.aside.why(case)}" for case in turns.dropped(arm)}
    return cells(plan, unkept.records(store, SUITE), failed)


def cells(
    plan: Plan, raw: Sequence[Sequence[ProbeRecord]], failed: Mapping[PlanCase, str]
) -> list[RepetitionsCell]:
    """Return what the records of some launches of `plan` say of each of its cases."""
    ends: dict[PlanCase, list[StoppedAt]] = {case: [] for case in plan.cases}
    outcomes = dict.fromkeys(plan.cases, "not measured")
    for records in raw:
        cases = planned(records)
        for record in records:
            if isinstance(record, Check):
                outcomes[cases[record.case]] = outcome(record)
            elif isinstance(record, Nrep):
                at = StoppedAt(record.nrep, record.ended_by, record.criteria)
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
