"""Pairs of cold launches: one with the exported files in force, one of the library as it is, and so
on in turn; and what they say about each cell, tuned over default."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import PlanCase
from plumbline.core.winner import deciding, holds, pieces_inside
from plumbline.measure import tables
from plumbline.measure.comparison import (
    REFERENCE_CELLS,
    Arm,
    ArmComparison,
    claim_of,
    enough_of,
    ratios_in_turn,
)
from plumbline.measure.launches import LaunchStore, SlowLaunches
from plumbline.search.second_choice import InForce
from plumbline.search.space.candidates import DEFAULT, Candidate, index
from plumbline.settings import Settings
from plumbline.verify.decision import Claim, decide
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner

# Launches in which messages take long: fewer decide nothing about a cell, and so many are waited
# for.
LEAST, ENOUGH = 2, 5


# Winners must hold where messages between ranks take longer than in other launches, too.
# A host may move the processors of a virtual machine apart, and ranks that are not bound may run on
# cores that share a cache or not. What passes through memory that ranks share takes several times
# as long then, and messages that the kernel copies hardly longer, so that a variant is faster than
# the library in one state and slower in the other. Round trips before and after all cases of a
# launch show the state (`LaunchStore.slow_messages`). Measured: docs/design/shared-memory.md.
_THROUGH_MEMORY = ("_shared_memory", "_hierarchical")  # what variants that do so are called
_MUCH_DATA = 32768  # bytes, from which on copying takes most of the time of such a call


class LaunchRatios:
    """The log ratios of all candidates that were compared with the library in the same launch: by
    launch, for each cell and circumstance."""

    def __init__(self) -> None:
        self._logs: dict[tuple[Candidate, Target, Hashable], dict[int, float]] = {}

    def add(
        self,
        candidate: Candidate,
        cell: Target,
        logs: Mapping[int, float],
        circumstance: Hashable = None,
    ) -> None:
        self._logs.setdefault((candidate, cell, circumstance), {}).update(logs)

    def unknown(self, winners: Sequence[Winner], launches: Collection[int]) -> set[Target]:
        """Return the cells of winners that were compared in launches, but in too few of these."""
        counts: dict[Target, int] = {}
        for (candidate, cell, _), logs in self._logs.items():
            if _is_of(candidate, cell, winners):
                count = sum(launch in launches for launch in logs)
                counts[cell] = max(count, counts.get(cell, 0))
        return {cell for cell, count in counts.items() if count < ENOUGH}

    def slower(
        self, winners: Sequence[Winner], launches: Collection[int], claim: Claim
    ) -> dict[Target, Comparison]:
        """Return the cells whose winner is slower than the claim allows in these `launches`, in
        any circumstance. All launches tell how much ratios vary."""
        groups: list[list[float]] = []
        tested: dict[tuple[Target, Hashable], list[float]] = {}
        for (candidate, cell, circumstance), logs in self._logs.items():
            slow = [log for launch, log in logs.items() if launch in launches]
            groups += [slow, [log for launch, log in logs.items() if launch not in launches]]
            if len(slow) >= LEAST and _is_of(candidate, cell, winners):
                tested[cell, circumstance] = slow
        compare = claim.judge([group for group in groups if group])
        own = msgspec.structs.replace(claim, judge=lambda _: compare, min_launches=LEAST)
        comparisons: dict[Target, Comparison] = {}
        for (cell, _), decision in decide(tested, own).items():
            if decision.word == "slower":
                comparisons.setdefault(cell, decision.told)
        return comparisons

    def doubtful(
        self, winners: Sequence[Winner], slow: SlowLaunches, claim: Claim
    ) -> dict[Target, Comparison]:
        """Return the cells whose winner passes much data through memory that ranks share, that
        fewer than `LEAST` of the `slow` launches have measured, and whose gain in the others, in
        some circumstance, is less than the factor by which messages take longer."""
        known = {
            cell
            for (candidate, cell, _), logs in self._logs.items()
            if sum(launch in slow.numbers for launch in logs) >= LEAST
            and _is_of(candidate, cell, winners)
        }
        compare = claim.judge([list(logs.values()) for logs in self._logs.values() if logs])
        found: dict[Target, Comparison] = {}
        for (candidate, cell, _), logs in self._logs.items():
            if (
                not logs
                or cell in known
                or cell.bytes < _MUCH_DATA
                or not candidate.variant.endswith(_THROUGH_MEMORY)
                or not _is_of(candidate, cell, winners)
            ):
                continue
            own = compare(list(logs.values()), claim.confidence(0))
            if own.ratio * slow.factor > claim.limit:
                found[cell] = max(found.get(cell, own), own, key=lambda each: each.ratio)
        return found


def _is_of(candidate: Candidate, cell: Target, winners: Sequence[Winner]) -> bool:
    winner = deciding(winners, cell)
    return winner is not None and Candidate.of_winner(winner) == candidate


def without(
    winners: Sequence[Winner],
    slower: Mapping[Target, Comparison],
    sizes: Mapping[str, Sequence[int]],
    reason: Callable[[Target, Comparison], str],
) -> tuple[list[Winner], list[tuple[Winner, str]]]:
    """Return what is left of the winners without the cells at which they are `slower`, and what is
    not, with the `reason` of the worst cell. `sizes`: the measured ones by function."""
    kept: list[Winner] = []
    lost: list[tuple[Winner, str]] = []
    for winner in winners:
        own = {cell for cell in slower if deciding(winners, cell) is winner}
        if not own:
            kept.append(winner)
            continue
        measured = sizes[winner.function]
        cells = {Target(winner.function, size) for size in measured}
        kept += pieces_inside(winner, cells - own, measured)
        for part in pieces_inside(winner, own, measured):
            inside = [cell for cell in own if holds(part, cell)]
            worst = max(inside, key=lambda cell: slower[cell].ratio)
            lost.append((part, reason(worst, slower[worst])))
    return kept, lost


class Pairs(ArmComparison[Target]):
    """All pairs so far. `beside`: by tuned launch, log(variant / the library's own call in the
    same launch) of the cells that our variants hold, which says far more about these than `ratios`;
    `lost`: cells that give no (or a wrong) result with the files in force, and did without.
    `reference_cases`, which no exported file changes, are measured on both sides where winners
    leave few cells untouched."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        environment: Mapping[str, str],
        winners: Sequence[Winner],
        reference_cases: Sequence[PlanCase] = (),
    ) -> None:
        super().__init__(store, claim_of(settings), lambda _: {})
        self.beside: dict[Target, dict[int, float]] = {}
        self.settings = settings
        self.winners = winners
        self._environment = environment
        self._reference_cases = reference_cases

    def add(self, suite: Suite, count: int, left: Sequence[PlanCase], *, seed: int) -> None:
        """`count` pairs of the cells `left`."""
        self.take(self.arms(suite, left, seed=seed), count, [target_of(case) for case in left])

    def arms(
        self, suite: Suite, left: Sequence[PlanCase], more: Sequence[PlanCase] = (), *, seed: int
    ) -> tuple[Arm, Arm]:
        """Launches of the cells `left`; the tuned ones, those of `suite`, measure `more` as
        well."""
        # A variant of ours has the library's own call (PMPI_) beside it in the same launches.
        beside = [
            msgspec.structs.replace(case, variant="library")
            for case in left
            if any(
                winner.variant != "default" and holds(winner, target_of(case))
                for winner in self.winners
            )
        ]
        untouched_cells = sum(not _touches(self.winners, target_of(case)) for case in left)
        whole = [winner for winner in self.winners if winner.function == EVERY_FUNCTION]
        reference_cases = [
            case
            for case in self._reference_cases
            if untouched_cells < REFERENCE_CELLS and not _touches(whole, target_of(case))
        ]
        cases = list(dict.fromkeys([*left, *more, *beside, *reference_cases]))
        plan = tables.until_sure(self.settings, cases, self.store.repetitions)
        plan = msgspec.structs.replace(plan, seed=seed)
        # The calls of a longer row are faster: both sides repeat theirs as often.
        plan = self.store.filled(suite, plan)
        tuned = Arm(suite, plan, self._environment)
        plan = msgspec.structs.replace(plan, cases=(*left, *reference_cases))
        return tuned, Arm(suite.beside(), plan)

    def read(
        self, ours: str, theirs: str, cells: Sequence[Target]
    ) -> tuple[dict[Target, list[float]], list[Target]]:
        store = self.store
        for cell, logs in self._beside(ours).items():
            self.beside.setdefault(cell, {}).update(logs)
        tuned, plain = (
            index(runs.medians(store.db, store.campaign, [name])) for name in (ours, theirs)
        )
        return cold_ratios(tuned, plain, cells, self.winners)

    def _beside(self, suite: str) -> dict[Target, dict[int, float]]:
        store = self.store
        times_of: dict[str, dict[Target, dict[int, float]]] = {"default": {}, "library": {}}
        for median in runs.medians(store.db, store.campaign, [suite]):
            if median.case.variant in times_of and not median.case.ranks:
                target = Target(median.case.function, median.case.bytes)
                times = dict(zip(median.runs, median.seconds, strict=True))
                times_of[median.case.variant][target] = times
        return {
            target: {
                run: math.log(own_times[run] / seconds)
                for run, seconds in library_times.items()
                if run in own_times
            }
            for target, library_times in times_of["library"].items()
            if (own_times := times_of["default"].get(target))
        }


class ConfirmContext(msgspec.Struct, frozen=True):
    """The parts that all confirmations of a campaign share. `in_force` puts some winners in force
    for the launches of a suite; no exported file changes the `reference_cases`; launches are added
    as long as it `has_time`."""

    store: LaunchStore
    settings: Settings
    guidelines: Guidelines
    in_force: InForce
    reference_cases: Sequence[PlanCase] = ()
    has_time: Callable[[], bool] = lambda: True

    def pairs(self, environment: Mapping[str, str], winners: Sequence[Winner]) -> Pairs:
        return Pairs(self.store, self.settings, environment, winners, self.reference_cases)


Seconds = Mapping[tuple[Target, Candidate], Mapping[int, float]]


def cold_ratios(
    tuned: Seconds, plain: Seconds, cells: Sequence[Target], winners: Sequence[Winner]
) -> tuple[dict[Target, list[float]], list[Target]]:
    """Log ratios of the cells that every launch of both sides has measured, pair by pair, without
    the factor that the launches of a pair differ by; and the cells that are missing, wholly or in
    part, only in the `tuned` launches, in which `winners` are in force. The factor is seen in the
    cells that no winner touches, and in the variants of ours that both sides have measured."""

    def is_reference(key: tuple[Target, Candidate]) -> bool:
        return key[1] != DEFAULT or not _touches(winners, key[0])

    tuned_times, plain_times = (
        {key: list(times.values()) for key, times in side.items()} for side in (tuned, plain)
    )
    of_ours = [key for key in plain_times if key[1] != DEFAULT]
    defaults = [(cell, DEFAULT) for cell in cells]
    logs_of, lost = ratios_in_turn(tuned_times, plain_times, [*defaults, *of_ours], is_reference)
    ratios = {cell: logs for (cell, candidate), logs in logs_of.items() if candidate == DEFAULT}
    return ratios, [cell for cell, candidate in lost if candidate == DEFAULT]


def untouched(left: Sequence[PlanCase], winners: Sequence[Winner]) -> Sequence[PlanCase]:
    """Some cells that no winner touches, by which launches are told apart."""
    return enough_of([case for case in left if not _touches(winners, target_of(case))])


def _touches(winners: Sequence[Winner], cell: Target) -> bool:
    """Return whether a winner may change calls of a cell: all sizes of its own function, and of
    every function those that a setting of the process holds for."""
    return any(
        holds(winner, cell)
        if winner.function == EVERY_FUNCTION
        else winner.function == cell.function
        for winner in winners
    )


def target_of(case: PlanCase) -> Target:
    return Target(case.function, case.bytes)


def told(comparison: Comparison) -> str:
    """Return a ratio with its interval, for people."""
    return f"{comparison.ratio:.2f} [{comparison.low or 0:.2f}, {comparison.high or 0:.2f}]"
