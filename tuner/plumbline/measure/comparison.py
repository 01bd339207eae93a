"""Comparisons: what launches of two arms that take turns say of each cell, look by look. An arm is
what is in force and what is measured under it.

The experiment behind decisions (verify/decision.py). Callers choose the arms, the cells and the
claim, and what follows from a decision; log ratios, the factor that a turn shares, cells without
results and looks are the same for all."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.launches import LaunchStore, Series
from plumbline.settings import Settings
from plumbline.system.placement import Placement
from plumbline.verify import index
from plumbline.verify.decision import (
    ONE_LOOK,
    Claim,
    Design,
    HypothesisFamily,
    design_over,
    exactly,
)
from plumbline.verify.significance.moderated import moderated
from plumbline_db.records import Failure, Suite

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# One experiment: launches of one or two arms, look by look.
# An arm is what is in force and what is measured under it. Arms take turns, a launch each, so that
# what drifts touches all of them alike. How many launches a look adds, and with which seeds, is
# said here and nowhere else; what the launches say is for comparison.py.


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
        """Return the cases of an arm under which launches fail."""
        return self._series[arm.suite].dropped


def take_turns(store: LaunchStore, arms: Sequence[Arm], launches: int) -> Turns:
    """`launches` launches of each arm, in turn. Raises PlumblineError as Series does."""
    turns = Turns(store, arms)
    for _ in range(launches):
        turns.take(arms)
    return turns


# Fewer reference cells do not tell launches apart.
REFERENCE_CELLS = 10
# Fewer launches decide no cell: one odd launch is too much of a mean.
MIN_LAUNCHES = 6

Key = TypeVar("Key")


def claim_of(settings: Settings) -> Claim:
    """Return what a campaign claims of its tables, which its other comparisons share."""
    simulated = settings.ranks.simulate is not None
    sampling = settings.sampling
    return Claim(
        tolerance=settings.claims.tolerance,
        alpha=settings.claims.alpha,
        design=ONE_LOOK if simulated else design_over(sampling.launches, sampling.launches_max),
        judge=exactly if simulated else moderated,
        min_launches=1 if simulated else MIN_LAUNCHES,
    )


class ArmComparison(Generic[Key]):
    """All turns so far of two arms. `seconds` reads a suite: those of each cell, in the order of
    the launches; `references` are cells that are the same in both arms. `ratios`: log(ours /
    theirs) by cell, a turn each; `lost`: cells of which only theirs has all results; `family`: what
    is decided, once there was a look."""

    def __init__(
        self,
        store: LaunchStore,
        claim: Claim,
        seconds: Callable[[str], Mapping[Key, Collection[float]]],
        references: Collection[Key] = (),
    ) -> None:
        self.store = store
        self.claim = claim
        self.ratios: dict[Key, list[float]] = {}
        self.lost: list[Key] = []
        self.family: HypothesisFamily[Key] = HypothesisFamily([], claim)
        self._seconds = seconds
        self._references = references

    def read(
        self, ours: str, theirs: str, cells: Sequence[Key]
    ) -> tuple[Mapping[Key, Sequence[float]], list[Key]]:
        """Return the log ratios of two suites, and the cells that are lost in ours."""
        both = list(dict.fromkeys([*cells, *self._references]))
        is_reference = self._references.__contains__
        sides = self._seconds(ours), self._seconds(theirs)
        logs_of, lost = ratios_in_turn(*sides, both, is_reference)
        return {cell: logs_of[cell] for cell in cells if cell in logs_of}, lost

    def take(self, arms: tuple[Arm, Arm], launches: int, cells: Sequence[Key]) -> set[Key]:
        """Launch both arms `launches` times in turn; return the cells that have ratios of these."""
        take_turns(self.store, arms, launches)
        tuned_suite, plain_suite = (arm.suite.name for arm in arms)
        measured, lost = self.read(tuned_suite, plain_suite, cells)
        self.lost += [cell for cell in lost if cell in cells]
        for cell, logs in measured.items():
            self.ratios.setdefault(cell, []).extend(logs)
        return {cell for cell, logs in measured.items() if logs}

    def until_decided(
        self,
        cells: Sequence[Key],
        arms: Callable[[NextLook, Sequence[Key]], tuple[Arm, Arm]],
        wanted: Callable[[], Sequence[Key]],
    ) -> None:
        """Look by look: at `cells` first, then at what is `wanted` after each look, until nothing
        is or the design ends."""
        for look in looks(self.claim.design):
            fresh = self.take(arms(look, cells), look.launches, cells)
            if look.number == 0:
                keys = [cell for cell, logs in self.ratios.items() if logs]
                self.family = HypothesisFamily.of(keys, self.claim)
            self.family.look(lambda cell, fresh=fresh: self.ratios[cell] if cell in fresh else None)  # type: ignore[misc]
            cells = wanted()
            if not cells:
                return


def ratios_in_turn(
    ours: Mapping[Key, Collection[float]],
    theirs: Mapping[Key, Collection[float]],
    cells: Sequence[Key],
    is_reference: Callable[[Key], bool] = lambda _: False,
    turns: int = 0,
) -> tuple[dict[Key, list[float]], list[Key]]:
    """Return log(ours / theirs) of the cells that all launches of both arms have, turn by turn,
    without the factor that a turn shares, which is seen in references; and the cells that only
    theirs has in full. Both arms hold seconds in the order of the `turns` (0: as many as a cell
    has)."""
    whole = turns or max((len(times) for times in theirs.values()), default=0)
    there = [cell for cell in cells if cell in theirs and len(theirs[cell]) >= whole]
    logs_of = {
        cell: [
            math.log(tuned_seconds / plain_seconds)
            # A launch of one arm that failed, or was interrupted, leaves it shorter.
            for tuned_seconds, plain_seconds in zip(ours[cell], theirs[cell], strict=False)
        ]
        for cell in there
        if cell in ours and len(ours[cell]) >= whole
    }
    references = [logs for cell, logs in logs_of.items() if is_reference(cell)]
    return without_shared_factor(logs_of, references), [
        cell for cell in there if cell not in logs_of
    ]


def without_shared_factor(
    ratios: Mapping[Key, Sequence[float]], references: Sequence[Sequence[float]]
) -> dict[Key, list[float]]:
    """Log ratios without what the launches of a turn share (placement, drift): the median over the
    `references`, which are log ratios of cells that are the same in both arms. With too few of
    these the ratios stay as they are."""
    if len(references) < REFERENCE_CELLS:
        return {key: list(logs) for key, logs in ratios.items()}
    factors = [statistics.median(turn) for turn in zip(*references, strict=True)]
    return {
        key: [log - factor for log, factor in zip(logs, factors, strict=True)]
        for key, logs in ratios.items()
    }


def enough_of(cells: Sequence[Key]) -> Sequence[Key]:
    """Some of these, from the first to the last: as many as tell launches apart, and a few more."""
    return cells[:: max(1, len(cells) // (2 * REFERENCE_CELLS))]


def logs_inside(
    ours: Mapping[int, NDArray[np.int64]], theirs: Mapping[int, NDArray[np.int64]]
) -> dict[int, float]:
    """Return the log ratio of two cases, whose samples in ns are known by launch, in each launch
    that has both."""
    import numpy as np

    return {
        launch: index.pairs(np.maximum(ns, 1), np.maximum(theirs[launch], 1))
        for launch, ns in ours.items()
        if launch in theirs
    }
