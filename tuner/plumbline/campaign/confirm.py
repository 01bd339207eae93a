"""Confirmation: the whole table again, cold, with the exported files in force, in launches that
alternate with launches of the library as it is. What comes out slower loses its place.

Pairs of launches are added, as the design of the tables says, for winners whose gain is not clear
and for cells that may be slower: a small gain is not left to the luck of a few launches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import zip_longest

import msgspec

from plumbline.campaign.acceptance_sizes import least_gain
from plumbline.campaign.pairs import ConfirmContext, Pairs, target_of, told, untouched, without
from plumbline.core.cell import Target
from plumbline.core.guidelines import LIBRARY
from plumbline.core.plan import PlanCase
from plumbline.core.winner import (
    BuiltOn,
    cell_changes,
    changed_between,
    deciding,
    far_sizes_of,
    functions_built_on,
    holds,
    is_part,
    reaches,
    reaching,
)
from plumbline.measure import tables
from plumbline.measure.comparison import Arm, NextLook
from plumbline.settings import Settings
from plumbline.system.words import counted
from plumbline.verify.decision import by_interval, joint, slower
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.significance.signed_rank import paired_ratio
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Suite, Verdict, Winner

# A look for the rule of the exported files that makes a call slower, or keeps it from a right
# result, that no rule is about. Half of the rules are in force in a launch, then half of those that
# do it.

_ERRATIC = "erratic call"  # a kind of event


class _Blame(msgspec.Struct, frozen=True):
    """`winners` do the harm, with the reason `how` that is known; none: it was not seen again."""

    winners: list[Winner] = []
    how: str = ""


class _Bisection:
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
            self._context.store.tell(
                _ERRATIC,
                f"{text}; it was not with half of the rules in force, nor with all of them once "
                "more: no winner was dropped",
                function=cell.function,
            )
        kept = [winner for winner in winners if winner not in blame.winners]
        why = f"{text}, and no winner reaches it: {blame.how}"
        return kept, [(winner, why) for winner in blame.winners]

    def _blame(self, winners: Sequence[Winner], cell: Target) -> _Blame:
        """Return the winner that does the harm alone and without which there is none; where no
        single one does, all that can (variants of ours, as the preload library stands before every
        call; else all), if the harm shows with all of them in force once more."""

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
    """Return the winner that shows the harm when it alone is in force, or None if no single winner
    does. Asks as often as their number can be halved, and once more."""
    suspects, is_shown = list(winners), False
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        is_shown = shows(half)
        suspects = half if is_shown else suspects[len(half) :]
    return suspects[0] if suspects and (is_shown or shows(suspects)) else None


_FAR_REPS = 2  # calls in a block at a size far above the measured ones


class Confirmation(msgspec.Struct, frozen=True):
    """`winners` with their cold speed-ups; `dropped` with the reason; `verdicts` of the table, as
    far as there were pairs. `not_slower`: cells that the pairs did not find slower than before,
    with the winners `in_force`. `beside`: the log ratios of variants of ours to the library's own
    call in the same launch, by launch."""

    winners: list[Winner]
    dropped: list[tuple[Winner, str]]
    verdicts: list[Verdict]
    in_force: list[Winner]
    not_slower: list[Target]
    beside: Mapping[Target, Mapping[int, float]]


class ConfirmTurn(msgspec.Struct, frozen=True):
    """A turn. `environment` puts the exported files of the `winners` in force. `table`, of the same
    suite, is looked at as far as there are pairs. No launches are added to see the gain of winners
    that were confirmed beside others `earlier`, and of those that were seen to be `faster` in
    launches that have both; nor for cells that no winner reaches, or none that was not there
    then. `table_waits`: only calls of the library are measured, and only once, since the winners of
    a search that comes next will change the table."""

    suite: Suite
    table: tables.ViolationTable
    winners: Sequence[Winner]
    environment: Mapping[str, str]
    earlier: Confirmation | None = None
    faster: Sequence[Winner] = ()
    table_waits: bool = False


def confirm(context: ConfirmContext, turn: ConfirmTurn) -> Confirmation:
    """Measure the winners of a turn, and say which are kept."""
    pairs = _ConfirmPairs(context, turn)
    pairs.measure()
    harm = pairs.harm()
    lost = pairs.lost()
    sizes = tables.sizes_of(context.guidelines, context.settings)
    own = _of_bounded(turn.winners, harm, sizes)
    parts, cut = without(turn.winners, own, sizes, _slower_at)
    kept, dropped = ColdEvidence(
        winners=parts,
        speeds=pairs.speeds_of(parts),
        slower={cell: found for cell, found in harm.items() if cell not in own},
        verdicts=pairs.verdicts,
        built_on=pairs.built_on,
        lost=lost,
        confirmed=turn.earlier.winners if turn.earlier else [],
        faster=turn.faster,
        least_gain=least_gain(context.settings),
    ).judged()
    dropped = cut + dropped
    if not dropped:
        bisection = _Bisection(context, turn.suite, pairs.left)
        kept, dropped = bisection.keep(kept, harm, lost, pairs.built_on)
    doubtful = {
        cell: why for cell, why in pairs.doubtful().items() if cell not in harm and cell not in lost
    }
    perhaps = _of_doubtful(kept, doubtful)
    kept = [winner for winner in kept if winner not in [gone for gone, _ in perhaps]]
    measured = pairs.ratios.keys() - harm.keys() - lost - doubtful.keys()
    not_slower = sorted(measured | (pairs.settled_before - pairs.ratios.keys()))
    verdicts, beside = pairs.verdicts, pairs.beside
    return Confirmation(kept, dropped + perhaps, verdicts, list(turn.winners), not_slower, beside)


def _of_bounded(
    winners: Sequence[Winner],
    harm: Mapping[Target, Comparison],
    sizes: Mapping[str, Sequence[int]],
) -> dict[Target, Comparison]:
    """Return the `harm` at measured sizes that winners may lose by themselves: those of functions,
    with an upper end."""
    return {
        cell: comparison
        for cell, comparison in harm.items()
        if (winner := deciding(winners, cell)) is not None
        and winner.function != EVERY_FUNCTION
        and winner.bytes_to != UNBOUNDED_BYTES
        and cell.bytes in sizes.get(cell.function, ())
    }


def _slower_at(cell: Target, comparison: Comparison) -> str:
    return f"slower at {cell.bytes} B: {told(comparison)} times the default"


def _far_cases(
    winners: Sequence[Winner], of_table: Sequence[PlanCase], settings: Settings
) -> list[PlanCase]:
    """Return the library's calls at sizes far above those of the table, for winners without an
    upper end. The calls are long, so a few of them are enough."""
    sizes: dict[str, list[int]] = {}
    for case in of_table:
        sizes.setdefault(case.function, []).append(case.bytes)
    reps = 0 if settings.ranks.simulate else min(_FAR_REPS, settings.sampling.reps)
    cases = [
        PlanCase(function, size, reps=reps)
        for winner in winners
        for function, far in far_sizes_of(winner, sizes).items()
        for size in far
    ]
    return list(dict.fromkeys(cases))


def _of_doubtful(
    kept: Sequence[Winner], doubtful: Mapping[Target, str]
) -> list[tuple[Winner, str]]:
    """Return the winners that decide a doubtful cell, with the reason."""
    return [
        (winner, f"{cell.function} at {cell.bytes} B may be slower: {doubtful[cell]}")
        for winner in kept
        if (cell := next((target for target in doubtful if deciding(kept, target) is winner), None))
    ]


def _settled(earlier: Confirmation, winners: Sequence[Winner], built_on: BuiltOn) -> set[Target]:
    """Cells that were not slower then, and that nothing reaches which is another one now."""
    changed = changed_between(earlier.in_force, winners)
    if changed is None:
        return set()
    return {
        cell for cell in earlier.not_slower if not cell_changes(changed, cell, built_on, winners)
    }


class _ConfirmPairs:
    """The pairs of a turn, and what they say. `speeds`: the ratio of each winner over its cells,
    with an interval that pays for all looks (None: no pair has its cells); `settled_before`: cells
    that were not slower in an earlier turn, and are what they were then."""

    def __init__(self, context: ConfirmContext, turn: ConfirmTurn) -> None:
        self.built_on = functions_built_on(context.guidelines)
        self.speeds: list[Comparison | None] = []
        self.verdicts: list[Verdict] = []
        self._context, self._turn = context, turn
        self._winners = turn.winners
        confirmed = turn.earlier.winners if turn.earlier else []
        self._known = [*confirmed, *turn.faster]
        planned = turn.table.planned
        of_table = [case for case in planned if case.variant == "default" and not case.ranks]
        waits = turn.table_waits
        self._others = [] if waits else [case for case in planned if case not in set(of_table)]
        unseen = [winner for winner in turn.winners if winner not in turn.faster]
        far_cases = _far_cases(unseen, of_table, context.settings)
        # The cells at sizes far above those of the table count for no gain.
        self._far = {target_of(case) for case in far_cases}
        self.left = [*of_table, *far_cases]
        self.settled_before = (
            _settled(turn.earlier, turn.winners, self.built_on) if turn.earlier else set()
        )
        # No launches are added for what nothing reaches: it is seen, beyond doubt, in the first
        # ones.
        self._settled = self.settled_before | {
            cell
            for cell in map(target_of, self.left)
            if not reaching(turn.winners, cell, self.built_on)
        }
        self._pairs = self._new_pairs()
        self.ratios: Mapping[Target, Sequence[float]] = self._pairs.ratios
        self.beside: Mapping[Target, Mapping[int, float]] = self._pairs.beside

    def _new_pairs(self) -> Pairs:
        return self._context.pairs(self._turn.environment, self._winners)

    def measure(self) -> None:
        cells = [target_of(case) for case in self.left]
        self._pairs.until_decided(cells, self._arms, self._wanted)

    def _arms(self, look: NextLook, cells: Sequence[Target]) -> tuple[Arm, Arm]:
        more: Sequence[PlanCase] = self._others
        if look.number:
            self._context.store.progress.step(
                f"not clear yet: {counted(len(self._open_cells()), 'cell')}; "
                f"{counted(look.launches, 'pair')} of launches more"
            )
            # What the table has not decided yet rides along.
            table = self._turn.table
            more = [*table.open_cases(), *table.along()]
        seed = self._context.settings.sampling.seed + look.before
        case_of = {target_of(case): case for case in self.left}
        own = [case_of[cell] for cell in cells]
        return self._pairs.arms(look.suite(self._turn.suite), own, more, seed=seed)

    def _cases_of(self, cells: Collection[Target]) -> list[PlanCase]:
        """Return the cases of `cells`, and those that tell launches apart."""
        own = [case for case in self.left if target_of(case) in cells]
        return list(dict.fromkeys([*own, *untouched(self.left, self._winners)]))

    def _wanted(self) -> list[Target]:
        """Look at what there is, the table too; return the cells of the next look."""
        family = self._pairs.family
        near = self._near()
        first = not self.speeds

        def compare(logs: Sequence[float]) -> Comparison:
            return family.compare(logs, family.confidence)

        self.speeds = [
            speed(winner, self._winners, near, self.beside, compare)
            if first or _unclear(earlier_speed)
            else earlier_speed
            for winner, earlier_speed in zip_longest(self._winners, self.speeds)
        ]
        if self._turn.table_waits:  # so does what only seems slower
            return []
        self.verdicts = self._turn.table.look()
        open_cells = self._open_cells()
        if not open_cells or not self._context.has_time():
            return []
        return [target_of(case) for case in self._cases_of(open_cells)]

    def speeds_of(self, parts: Sequence[Winner]) -> list[Comparison | None]:
        """Return the ratios of these winners, which are those of the turn or parts of them."""
        family, near = self._pairs.family, self._near()
        known = zip(self._winners, self.speeds, strict=True)
        speed_of = {id(winner): comparison for winner, comparison in known}
        return [
            speed_of[id(part)]
            if id(part) in speed_of
            else speed(
                part, parts, near, self.beside, lambda logs: family.compare(logs, family.confidence)
            )
            for part in parts
        ]

    def _near(self) -> dict[Target, Sequence[float]]:
        """Return the ratios of cells that count for gains."""
        return {cell: logs for cell, logs in self.ratios.items() if cell not in self._far}

    def _open_cells(self) -> set[Target]:
        """The cells of winners whose gain is unclear, and those that seem slower than before."""
        unclear = [
            winner
            for winner, comparison in zip(self._winners, self.speeds, strict=True)
            if _unclear(comparison) and not any(is_part(winner, earlier) for earlier in self._known)
        ]
        family = self._pairs.family
        seem = {cell.key for cell in family.suspects()}
        seem |= {cell.key for cell in family.open() if self._must_hold(cell.key)}
        return (seem - self._settled) | {
            cell
            for cell in self.ratios.keys() - self._far
            if any(deciding(self._winners, cell) is winner for winner in unclear)
        }

    def _must_hold(self, cell: Target) -> bool:
        """Return whether a rule is dropped unless it is known to do no harm in a cell far above
        the measured ones. A setting of the process is dropped only where it does."""
        winner = deciding(self._winners, cell)
        whole = winner is not None and winner.function == EVERY_FUNCTION
        return cell in self._far and not whole

    def doubtful(self) -> dict[Target, str]:
        """Return the far cells that are not known to be as fast as before, with the reason."""
        return {
            cell.key: cell.reason or "not seen again"
            for cell in self._pairs.family.decisions
            if self._must_hold(cell.key) and cell.key not in self._settled and not cell.is_held
        }

    def harm(self) -> dict[Target, Comparison]:
        """Return the cells that are slower than before by more than the tolerance, again in fresh
        pairs. Cells that no winner reaches are measured once more: rules that are not about them
        pay for them, so that the harm must be beyond doubt."""
        harm = {
            cell.key: cell.comparison
            for cell in self._pairs.family.decisions
            if cell.word == "slower" and cell.comparison is not None
        }
        if harm:
            harm = self._seen_again("again", harm)
        strange = [cell for cell in harm if not reaching(self._winners, cell, self.built_on)]
        if strange:
            sure = self._seen_again("once-more", strange)
            harm = {
                cell: comparison for cell, comparison in harm.items() if cell not in strange
            } | sure
        return harm

    def _seen_again(self, part: str, cells: Collection[Target]) -> dict[Target, Comparison]:
        """Return what is slower again in fresh pairs of launches. Cells of one launch share its
        luck, so one pass finds whole groups by chance; chance does not find the same group
        twice."""
        what = f"perhaps slower: {counted(len(cells), 'cell')}"
        again = self._anew(part, what, self._cases_of(cells))
        measured = {cell: again.ratios[cell] for cell in cells if cell in again.ratios}
        # What the looks tell of variances counts.
        compare = self._pairs.family.compare
        return slower(measured, msgspec.structs.replace(again.claim, judge=lambda _: compare))

    def _anew(self, part: str, what: str, cases: Sequence[PlanCase]) -> Pairs:
        """Return fresh pairs of launches."""
        store, sampling = self._context.store, self._context.settings.sampling
        store.progress.step(f"{what}; measuring again")
        pairs = self._new_pairs()
        seed = sampling.seed + sampling.launches_max
        pairs.add(self._turn.suite.part(part), sampling.launches, cases, seed=seed)
        return pairs

    def lost(self) -> set[Target]:
        """Return the cells that have no result with the files in force, and did without. A launch
        may fail by chance: what no winner reaches must be lost again."""
        lost = set(self._pairs.lost)
        astray = {cell for cell in lost if not reaching(self._winners, cell, self.built_on)}
        if astray:
            anew = self._anew("lost", f"no result: {counted(len(astray), 'cell')}", self.left)
            lost -= astray - set(anew.lost)
        return lost


def _unclear(found: Comparison | None) -> bool:
    """Return whether it was measured, and may be faster and may be slower."""
    return found is not None and by_interval(found) == "undecided"


def speed(
    winner: Winner,
    winners: Sequence[Winner],
    ratios: Mapping[Target, Sequence[float]],
    beside: Mapping[Target, Mapping[int, float]],
    compare: Callable[[Sequence[float]], Comparison] = paired_ratio,
) -> Comparison | None:
    """The ratio tuned over default over all cells that a winner decides: per pair of launches, the
    mean of the cells' log ratios. A variant of ours that has the library's own call beside it in
    all its cells is compared with that. What holds for the whole process has its speed from cold
    launches already (search/process.py), with the other winners in force on both sides."""
    if winner.function == EVERY_FUNCTION:
        return None
    inside = [cell for cell, logs in ratios.items() if logs and deciding(winners, cell) is winner]
    if not inside:
        return None
    by_launch = winner.variant != "default" and all(cell in beside for cell in inside)
    means = joint([list(beside[cell].values()) if by_launch else ratios[cell] for cell in inside])
    return compare(means) if means else None


class ColdEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence that decides on the `winners`. `speeds`: of each of them, tuned over default;
    `slower`: the cells that are slower than before; `lost`: cells that give no (or a wrong) result
    with the files in force, and did without; `built_on`: which functions a library may build a
    function on; `confirmed`: winners of an earlier turn, whose gains stay; `faster`: winners that
    acceptance has seen to be significantly faster. Few cold launches need not show either again."""

    winners: Sequence[Winner]
    speeds: Sequence[Comparison | None]
    slower: Mapping[Target, Comparison]
    verdicts: Sequence[Verdict]
    built_on: BuiltOn
    lost: Collection[Target] = ()
    confirmed: Sequence[Winner] = ()
    faster: Sequence[Winner] = ()
    least_gain: float = 1.0

    def judged(self) -> tuple[list[Winner], list[tuple[Winner, str]]]:
        """Return the winners that are kept, and those that are not with the reason. A function that
        no winner is for, and that became slower, costs the winners that reach it their places."""
        kept: list[Winner] = []
        dropped: list[tuple[Winner, str]] = []
        for winner, comparison in zip(self.winners, self.speeds, strict=True):
            outcome = self._harm(winner) or self._shown(winner, comparison)
            if isinstance(outcome, str):
                dropped.append((winner, outcome))
            else:
                kept.append(outcome)
        for cell in sorted(self.slower):
            blamed = reaching(kept, cell, self.built_on)
            if blamed and not any(holds(winner, cell) for winner in self.winners):
                why = f"{cell.function} at {cell.bytes} B became slower: {told(self.slower[cell])}"
                kept = [winner for winner in kept if winner not in blamed]
                dropped += [(winner, why) for winner in blamed]
        return kept, dropped

    def _harm(self, winner: Winner) -> str:
        """Return which harm a winner does, if it does any."""
        wrong = sorted(cell for cell in self.lost if reaches(winner, cell, self.built_on))
        if wrong:
            where = ", ".join(f"{cell.function} at {cell.bytes} B" for cell in wrong)
            return f"no right result with it in force: {where}"
        hurt = [cell for cell in self.slower if deciding(self.winners, cell) is winner]
        if not hurt:
            return ""
        worst = max(hurt, key=lambda cell: self.slower[cell].ratio)
        return _slower_at(worst, self.slower[worst])

    def _shown(self, winner: Winner, found: Comparison | None) -> Winner | str:
        """Return the winner with the gain that is shown, if it is significant and removes a
        violation or is large enough; else why it is not kept."""
        if winner.function == EVERY_FUNCTION:
            return winner
        before = any(is_part(winner, earlier) for earlier in self.confirmed)
        if found is None:
            return winner if before else "no pair of launches has its cells"
        accepted = any(is_part(winner, earlier) for earlier in self.faster)
        gain = _gain(winner, found, accepted=accepted, confirmed=before)
        if gain is None:
            return f"no gain is left cold: {told(found)} times the default"
        held, violated = named(self.verdicts, "holds"), named(self.verdicts, "violated")
        cured = any((winner.function, name) in held for name in winner.removes)
        if not (cured or before) and gain.speedup < self.least_gain:
            times = f"{gain.speedup:.2f} times as fast"
            return f"it removes no violation, and gains too little: {times}"
        removes = [name for name in winner.removes if (winner.function, name) not in violated]
        return msgspec.structs.replace(gain, removes=removes)


def _gain(winner: Winner, speed: Comparison, *, accepted: bool, confirmed: bool) -> Winner | None:
    """Return the winner with the gain that is shown for it: the cold one where its interval lies
    above 1, else the one of acceptance or of an earlier turn where the cold launches do not speak
    against it. A knob was switched otherwise when it was accepted, so that it must not even seem
    slower. None: no gain is shown."""
    shown: tuple[float, float, float] | None = None
    word = by_interval(speed)
    agrees = speed.ratio <= 1 or (winner.variant != LIBRARY and word != "slower")
    if confirmed and agrees:
        shown = winner.speedup, winner.speedup_low, winner.speedup_high
    elif word == "faster":
        low, high = speed.low or speed.ratio, speed.high or speed.ratio
        shown = 1 / speed.ratio, 1 / high, 1 / low
    elif accepted and agrees and winner.tried:
        own = winner.tried[0]
        shown = own.speedup, own.speedup_low, own.speedup**2 / own.speedup_low
    if shown is None:
        return None
    speedup, low, high = shown
    return msgspec.structs.replace(winner, speedup=speedup, speedup_low=low, speedup_high=high)


def named(verdicts: Sequence[Verdict], word: str) -> set[tuple[str, str]]:
    """Cells with this verdict as winners name them: the function, and `GUIDELINE@BYTES`."""
    return {
        (verdict.function, f"{verdict.guideline}@{verdict.bytes}")
        for verdict in verdicts
        if verdict.verdict == word
    }
