"""How much a launch measures: for as long as it takes to start, at least.

A launch of a few short cases is over before mpirun and MPI_Init have paid for themselves. More
blocks make what it says surer, for little more time: with four ranks on two cores two thirds of the
variance between launches, in the median cell, come from within them. What a launch takes is known
from those before it. Pure."""

from __future__ import annotations

import msgspec

from plumbline.core.plan import Plan
from plumbline_db.cost import LaunchCost

MOST = 8  # times the blocks that were asked for


class Filling:
    """Of one campaign, launch by launch."""

    def __init__(self) -> None:
        self._start_seconds: float | None = None  # the least so far
        self._block_seconds: dict[str, float] = {}  # of a case, by stage, in the last launch

    def learn(self, stage: str, plan: Plan, cost: LaunchCost) -> None:
        """What a finished launch of `plan` has cost."""
        least = self._start_seconds
        self._start_seconds = cost.start if least is None else min(least, cost.start)
        if plan.cases:
            self._block_seconds[stage] = cost.measuring / (len(plan.cases) * plan.blocks)

    def filled(self, stage: str, plan: Plan) -> Plan:
        """`plan` with as many blocks as can be measured in the time of a start, if a block of a
        case takes what it took in the last launch of the stage; never fewer than it has, and at
        most MOST times as many."""
        block = self._block_seconds.get(stage, 0.0) * len(plan.cases)
        if self._start_seconds is None or not block:
            return plan
        blocks = min(MOST * plan.blocks, int(self._start_seconds / block))
        return msgspec.structs.replace(plan, blocks=max(plan.blocks, blocks))
