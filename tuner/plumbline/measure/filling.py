"""How much a launch measures: several times as long as it takes to start.

A launch of a few short cases is over before mpirun and MPI_Init have paid for themselves. More
samples make what it says surer, for little more time: with four ranks on two cores two thirds of
the variance between launches, in the median cell, come from within them. What a launch takes is
known from those before it. Nor is a case measured longer in a launch than launches differ: its
standard error may be half of that, as what is left then is a quarter of the variance. Pure."""

from __future__ import annotations

import msgspec

from plumbline.core.plan import Plan
from plumbline_db.cost import LaunchCost

STARTS = 6  # times of a start that a launch measures for
# A block of a case costs some 27 us beside its calls, and blocks tell no more than samples do:
# first so many times the samples of a block that were asked for, then so many times the blocks.
MOST_REPS = 16
MOST_BLOCKS = 1.5


class Filling:
    """Of one campaign, launch by launch."""

    def __init__(self) -> None:
        self._start_seconds: float | None = None  # the least so far
        self._sample_seconds: dict[str, float] = {}  # in the last launch, by kind of launch
        self._spread = 0.0  # of a case's medians, launch by launch

    def differ(self, spread: float) -> None:
        """The medians of a case in launches have this relative standard deviation."""
        self._spread = spread

    def learn(self, kind: str, plan: Plan, cost: LaunchCost) -> None:
        """What a finished launch of `plan` has cost; `kind`: its stage and arm."""
        least = self._start_seconds
        self._start_seconds = cost.start if least is None else min(least, cost.start)
        if plan.cases:
            self._sample_seconds[kind] = cost.measuring / plan.samples

    def filled(self, kind: str, plan: Plan) -> Plan:
        """`plan` with as many samples as can be taken in the time of STARTS starts, if one takes
        what it took in the last launch of its kind: first more of them in a block, then more
        blocks; never fewer than it has. Where cases end by `precision`, it is no finer than
        launches are alike, and what one of them leaves is time for the others."""
        usual = self._sample_seconds.get(kind, 0.0) * plan.samples
        if plan.precision:
            precise = max(plan.precision, self._spread / 2)
            plan = msgspec.structs.replace(plan, precision=precise)
        if self._start_seconds is None or not usual:
            return plan
        times = max(1.0, STARTS * self._start_seconds / usual)
        reps = int(plan.reps * min(times, MOST_REPS))
        blocks = int(plan.blocks * min(times * plan.reps / reps, MOST_BLOCKS))
        return msgspec.structs.replace(plan, reps=reps, blocks=blocks)
