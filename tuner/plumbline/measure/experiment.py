"""One experiment: launches of one or two arms, look by look.

An arm is what is in force and what is measured under it. Arms take turns, a launch each, so that
what drifts touches all of them alike. How many launches a look adds, and with which seeds, is said
here and nowhere else; what the launches say is for comparison.py."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.launches import LaunchStore, Series
from plumbline.system.placement import Placement
from plumbline.verify.design import Design
from plumbline_db.records import Failure, Suite


class Arm(msgspec.Struct, frozen=True):
    """`plan` in launches of `suite`, with `environment` in force (none: the library as it is);
    `on_trial`: where launches fail, what is in force is to blame and not a case."""

    suite: Suite
    plan: Plan
    environment: Mapping[str, str] = {}
    placement: Placement | None = None
    on_trial: bool = False

    def beside(self) -> Arm:
        """The same of the library as it is."""
        return msgspec.structs.replace(self, suite=self.suite.beside(), environment={})


class NextLook(msgspec.Struct, frozen=True):
    """`number`: from 0; `before`: launches of the looks before it; `launches`: those it adds."""

    number: int
    before: int
    launches: int

    def suite(self, first: Suite) -> Suite:
        return first.at(self.number + 1) if self.number else first

    def plan(self, first: Plan) -> Plan:
        """Return the plan with its own orders and data: seeds go on where those of the last look
        end."""
        return msgspec.structs.replace(first, seed=first.seed + self.before)


def of_round(plan: Plan, number: int, before: int = 0) -> Plan:
    """Return the plan with orders and data of its own: seeds of rounds lie 1000 apart. `before`:
    launches of the round before these."""
    return msgspec.structs.replace(plan, seed=plan.seed + 1000 * number + before)


def looks(design: Design) -> Iterator[NextLook]:
    """All looks of a design; whoever knows enough does not ask for the next one."""
    for number, there in enumerate(design.launches):
        launches = design.new_launches(number)
        yield NextLook(number, there - launches, launches)


class Turns:
    """Arms that take turns, a launch each; `elsewhere`: by suite, the stores of those arms that
    another library answers."""

    def __init__(
        self,
        store: LaunchStore,
        arms: Iterable[Arm],
        elsewhere: Mapping[Suite, LaunchStore] | None = None,
    ) -> None:
        others = elsewhere or {}
        self._series = {
            arm.suite: Series(
                others.get(arm.suite, store),
                arm.suite,
                arm.plan,
                arm.environment,
                arm.placement,
                on_trial=arm.on_trial,
            )
            for arm in arms
        }

    def take(self, arms: Iterable[Arm]) -> None:
        """Take a launch of each, without those that are condemned; the next arm is asked for when
        the launch of the one before is at its end. Raises PlumblineError as Series does."""
        for arm in arms:
            self._series[arm.suite].advance()

    def condemned(self, arm: Arm) -> Failure | None:
        """Return how launches of an arm that is on trial fail; None: they do not."""
        return self._series[arm.suite].condemned

    def last(self, arm: Arm) -> int:
        """The sequence of its last launch."""
        return self._series[arm.suite].launches - 1

    def dropped(self, arm: Arm) -> Collection[PlanCase]:
        """Return its cases under which launches fail."""
        return self._series[arm.suite].dropped


def take_turns(store: LaunchStore, arms: Sequence[Arm], launches: int) -> Turns:
    """`launches` launches of each arm, in turn. Raises PlumblineError as Series does."""
    turns = Turns(store, arms)
    for _ in range(launches):
        turns.take(arms)
    return turns
