"""The amount that a launch measures: several times as long as it takes to start.

A launch of a few short cases is over before mpirun and MPI_Init have paid for themselves. More
samples make what it says surer, for little more time: with four ranks on two cores two thirds of
the variance between launches, in the median cell, come from within them. What a launch takes is
known from those before it: what a call of each case took, and how much more time there was beside
the calls. A launch whose ranks were alive already measures for as long as one that starts them, so
that both are equally sure. Nor is a case measured longer in a launch than launches differ: its
standard error may be half of that, as what is left then is a quarter of the variance. Pure."""

from __future__ import annotations

import msgspec

from plumbline.core.configuration import AS_IT_IS
from plumbline.core.plan import Plan, PlanCase
from plumbline_db.cost import LaunchCost

# A launch measures for so many times of a start: where it judges a table, and elsewhere. Ranks
# stay alive, so that most launches do not start any.
STARTS_OF_TABLES = 4
STARTS = 2
# A block of a case costs some 27 us beside its calls, and blocks tell no more than samples do:
# first so many times the samples of a block that were asked for, then so many times the blocks.
MOST_REPS = 16
MOST_BLOCKS = 1.5
ANY = ""  # kind of launch
USUAL_SPREAD = 0.05  # of medians of a case between launches, until launches have shown theirs


class Filling:
    """The filling of one campaign, launch by launch."""

    def __init__(self) -> None:
        self._start_seconds: float | None = None  # the least so far
        self._call_seconds: dict[PlanCase, float] = {}  # in the last launch that has timed it
        self._times_calls: dict[str, float] = {}  # seconds of measuring in those of calls, by kind
        self._spread = USUAL_SPREAD  # of a case's medians, launch by launch

    def differ(self, spread: float) -> None:
        """The medians of a case in launches have this relative standard deviation."""
        self._spread = spread

    def learn(self, kind: str, plan: Plan, cost: LaunchCost) -> None:
        """Learn what a finished launch of `plan` has cost; `kind`: its stage and arm, as ranks
        start and are looked at alike."""
        if cost.start is not None:
            least = self._start_seconds
            self._start_seconds = cost.start if least is None else min(least, cost.start)
        seconds = 0.0
        for number, (samples, call) in cost.timed.items():
            case = plan.cases[number]
            self._call_seconds[_named(case)] = call
            seconds += samples * plan.calls_of_a_sample(case) * call
        if seconds:
            self._times_calls[kind] = self._times_calls[ANY] = cost.measuring / seconds

    def filled(self, kind: str, plan: Plan) -> Plan:
        """`plan` with as many samples as can be taken in the time of STARTS starts: first more of
        them in a block, then more blocks; never fewer than it has. Where cases end by `precision`,
        it is no finer than launches are alike."""
        usual = self._seconds(kind, plan)
        if plan.precision:
            precise = max(plan.precision, self._spread / 2)
            plan = msgspec.structs.replace(plan, precision=precise)
        if self._start_seconds is None or not usual:
            return plan
        starts = STARTS_OF_TABLES if plan.precision else STARTS
        times = max(1.0, starts * self._start_seconds / usual)
        reps = int(plan.reps * min(times, MOST_REPS))
        blocks = int(plan.blocks * min(times * plan.reps / reps, MOST_BLOCKS))
        return msgspec.structs.replace(plan, reps=reps, blocks=blocks)

    def _seconds(self, kind: str, plan: Plan) -> float:
        """Return what measuring takes if each case takes all blocks; 0: nothing is known. A case
        that was never timed takes what the library's own call does, or as long as the others."""
        times = self._times_calls.get(kind, self._times_calls.get(ANY, 0.0))
        known = calls = 0
        seconds = 0.0
        for case in plan.cases:
            own = plan.blocks * plan.calls_of_a_block(case)
            call = self._call_seconds.get(_named(case), self._call_seconds.get(_default(case)))
            calls += own
            if call is not None:
                known += own
                seconds += own * call
        return times * seconds * calls / known if known else 0.0


def _named(case: PlanCase) -> PlanCase:
    return msgspec.structs.replace(case, reps=0, plain_duplicate=False)


def _default(case: PlanCase) -> PlanCase:
    return msgspec.structs.replace(_named(case), variant="default", configuration=AS_IT_IS)
