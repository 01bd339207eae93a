"""How many repetitions a cell needs (the seed's step NREP, seed 000, section 4.2): some launches
under a stopping rule, and of each cell the most that any of them took. Pure but for the launches,
which it asks of a Starter and keeps nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from plumbline.core.plan import Plan
from plumbline.launch.starter import Starter
from plumbline.measure.side_by_side import launch
from plumbline_db.records import Check, Criterion, Nrep, ProbeRecord


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


def predict(
    starter: Starter, plan: Plan, launches: int, environment: Mapping[str, str]
) -> tuple[list[RepetitionsCell], list[list[ProbeRecord]]]:
    """`launches` launches of `plan`, which has a stopping rule. Raises PlumblineError when one
    fails. The cells are in the order of the plan; also returns the records of each launch."""
    raw = launch(starter, "nrep", plan, launches, environment)
    return cells(plan, raw), raw


def cells(plan: Plan, raw: Sequence[Sequence[ProbeRecord]]) -> list[RepetitionsCell]:
    """What the records of some launches of `plan` say of each of its cases."""
    ends: list[list[StoppedAt]] = [[] for _ in plan.cases]
    outcomes = ["not measured" for _ in plan.cases]
    for records in raw:
        for record in records:
            if isinstance(record, Check):
                outcomes[record.case] = f"{record.outcome}: {record.detail}".rstrip(": ")
            elif isinstance(record, Nrep):
                ends[record.case].append(StoppedAt(record.nrep, record.ended_by, record.criteria))
    return [
        RepetitionsCell(
            function=case.function,
            variant=case.variant,
            bytes=case.bytes,
            outcome=outcome,
            nrep=max((at.nrep for at in ended), default=None),
            met=bool(ended) and all(at.by == "criteria" for at in ended),
            launches=ended,
        )
        for case, ended, outcome in zip(plan.cases, ends, outcomes, strict=True)
    ]
