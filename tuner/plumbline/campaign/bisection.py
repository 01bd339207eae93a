"""A look for the rule of the exported files that makes a call slower, or keeps it from a right
result, that no rule is about. Half of the rules are in force in a launch, then half of those that
do it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from plumbline.campaign.pairs import ConfirmContext, target_of, told, untouched
from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.core.winner import BuiltOn, reaching
from plumbline.verify.decision import slower
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import Suite, Winner

ERRATIC = "erratic call"  # a kind of event


class _Blame(msgspec.Struct, frozen=True):
    """`winners` do the harm, with the reason `how` that is known; none: it was not seen again."""

    winners: list[Winner] = []
    how: str = ""


class Bisection:
    """Launches of `suite` with some of the winners in force, in turn with those of the library as
    it is; `left` are the calls of the table."""

    def __init__(self, context: ConfirmContext, suite: Suite, left: Sequence[PlanCase]) -> None:
        self._context = context
        self._suite = suite
        self._left = left
        self._steps = 0

    def keep(
        self,
        winners: list[Winner],
        slower: Mapping[Target, Comparison],
        lost: Collection[Target],
        built_on: BuiltOn,
    ) -> tuple[list[Winner], list[tuple[Winner, str]]]:
        """Keep all winners but the one that makes a cell `slower`, or lets it be `lost`, which none
        of them reaches: the preload library stands before every call, and a variable may change
        more than the function that it is for. The worst cell of a turn is looked into; the next
        turn measures the others again."""
        astray = [cell for cell in lost if not reaching(winners, cell, built_on)]
        strange = [cell for cell in slower if not reaching(winners, cell, built_on)]
        if not winners or not (astray or strange):
            return winners, []
        if astray:
            cell = min(astray)
            text = f"{cell.function} at {cell.bytes} B gave no right result"
        else:
            cell = max(strange, key=lambda one: (slower[one].ratio, one))
            text = f"{cell.function} at {cell.bytes} B became slower: {told(slower[cell])}"
        blame = self._blame(winners, cell)
        if not blame.winners:
            self._context.in_force(winners)
            self._context.store.tell(
                ERRATIC,
                f"{text}; it was not with half of the rules in force, nor with all of them once "
                "more: no winner was dropped",
                function=cell.function,
            )
        kept = [winner for winner in winners if winner not in blame.winners]
        why = f"{text}, and no winner reaches it: {blame.how}"
        return kept, [(winner, why) for winner in blame.winners]

    def _blame(self, winners: Sequence[Winner], cell: Target) -> _Blame:
        """Return the one winner that does the harm alone and without which there is none; where no
        single one does, all that can (variants of ours, as the preload library stands before
        every call; else all), if the harm shows with all of them in force once more."""

        def shows(some: Sequence[Winner]) -> bool:
            return self._shows(some, cell)

        culprit = guilty(winners, shows)
        if culprit is not None and len(winners) == 1:
            return _Blame([culprit], "by the files as a whole")
        if culprit is not None and not shows(
            [winner for winner in winners if winner is not culprit]
        ):
            return _Blame([culprit], "by this one in force alone, and not by the others without it")
        if not shows(winners):
            return _Blame()
        with_variants = [winner for winner in winners if winner.variant != "default"]
        what = "the preload library" if with_variants else "the files as a whole"
        return _Blame(with_variants or list(winners), f"by {what}, and no single rule does it")

    def _shows(self, winners: Sequence[Winner], cell: Target) -> bool:
        self._steps += 1
        part = self._suite.part(f"part-{self._steps}")
        sampling = self._context.settings.sampling
        self._context.store.progress.step(
            f"{cell.function} at {cell.bytes} B: looking for the rule, {len(winners)} in force"
        )
        pairs = self._context.pairs(self._context.in_force(winners), winners)
        own = [case for case in self._left if target_of(case) == cell]
        cases = list(dict.fromkeys([*own, *untouched(self._left, winners)]))
        seed = sampling.seed + sampling.launches_max + 1000 * self._steps
        pairs.add(part, sampling.of_few_cells, cases, seed=seed)
        return cell in pairs.lost or cell in slower(pairs.ratios, pairs.claim)


def guilty(winners: Sequence[Winner], shows: Callable[[Sequence[Winner]], bool]) -> Winner | None:
    """Return the one with which alone in force the harm `shows`; None: no single one does it. Asks
    as often as their number can be halved, and once more."""
    suspects, is_shown = list(winners), False
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        is_shown = shows(half)
        suspects = half if is_shown else suspects[len(half) :]
    return suspects[0] if suspects and (is_shown or shows(suspects)) else None
