"""The bound that the winner of a cell must not be slower than: the fastest right-hand side of the
violations that opened its search. It is measured in the launches of the race. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline_db.records import Verdict


class Bound(msgspec.Struct, frozen=True):
    """The right-hand side `times` times one after the other: `candidate` at the cell `cell`. `name`
    is the violation, as searches name it (`GL12@16384`)."""

    name: str
    cell: Target
    candidate: Candidate = DEFAULT
    times: int = 1

    @property
    def case(self) -> PlanCase:
        return self.candidate.case(self.cell.function, self.cell.bytes)


def bounds(verdicts: Iterable[Verdict]) -> dict[Target, Bound]:
    """The bound of each cell whose left side is violated and can be replaced: of several right-hand
    sides the one that the table found to be fastest, at equal times the first."""
    worst_by_cell: dict[Target, tuple[float, Bound]] = {}
    for verdict in verdicts:
        if verdict.in_other_use:
            continue
        if verdict.verdict != "violated" or not verdict.replaceable or verdict.ratio is None:
            continue
        target = Target(verdict.function, verdict.bytes)
        if target not in worst_by_cell or verdict.ratio > worst_by_cell[target][0]:
            worst_by_cell[target] = verdict.ratio, _of(verdict)
    return {target: bound for target, (_, bound) in worst_by_cell.items()}


def _of(verdict: Verdict) -> Bound:
    return Bound(
        f"{verdict.guideline}@{verdict.bytes}",
        Target(verdict.function, verdict.other_bytes or verdict.bytes),
        Candidate(verdict.right),
        max(1, verdict.factor),
    )
