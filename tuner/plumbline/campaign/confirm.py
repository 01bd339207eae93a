"""Confirmation: the whole table again, cold, with the exported files in force, in launches that
alternate with launches of the library as it is. What comes out slower loses its place.

Pairs of launches are added, as the design of the tables says, for winners whose gain is not clear
and for cells that may be slower: a small gain is not left to the luck of a few launches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import msgspec

from plumbline.campaign import reach
from plumbline.campaign.acceptance_sizes import least_gain
from plumbline.campaign.bisection import Bisection, InForce
from plumbline.campaign.pairs import Pairs, target_of, told, untouched
from plumbline.campaign.reach import BuiltOn, reaches, reaching
from plumbline.core.guidelines import LIBRARY, Guidelines
from plumbline.core.plan import PlanCase
from plumbline.measure import experiment, tables
from plumbline.measure.launches import LaunchStore
from plumbline.search import ranges
from plumbline.search.fixed_point import is_part
from plumbline.search.outcome import deciding, holds
from plumbline.search.space.cells import Target
from plumbline.settings import Settings
from plumbline.system.words import counted
from plumbline.verify.sequential import (
    Hypothesis,
    HypothesisFamily,
    HypothesisState,
    may_be_found,
)
from plumbline.verify.statistics import Comparison, paired_ratio, slower
from plumbline_db.records import EVERY_FUNCTION, Suite, Verdict, Winner

_FAR_REPS = 2  # calls in a block at a size far above the measured ones


class Confirmation(msgspec.Struct, frozen=True):
    """`winners` with their cold speed-ups; `dropped` with the reason; `verdicts` of the table, as
    far as there were pairs. `not_slower`: cells that the pairs did not find slower than before,
    with the winners `in_force`."""

    winners: list[Winner]
    dropped: list[tuple[Winner, str]]
    verdicts: list[Verdict]
    in_force: list[Winner]
    not_slower: list[Target]


def confirm(
    store: LaunchStore,
    suite: Suite,
    table: tables.ViolationTable,
    guidelines: Guidelines,
    settings: Settings,
    environment: Mapping[str, str],
    winners: Sequence[Winner],
    reference_cases: Sequence[PlanCase] = (),
    *,
    in_force: InForce,
    has_time: Callable[[], bool] = lambda: True,
    earlier: Confirmation | None = None,
    faster: Sequence[Winner] = (),
) -> Confirmation:
    """`environment` puts the exported files in force, which change none of the `reference_cases`;
    `in_force` does so for some of the winners. `table`, of the same suite, is looked at as far as
    there are pairs. Launches are added as long as it `has_time`, but not to see the gain of winners
    that were confirmed beside others `earlier`, and of those that were seen to be `faster` in
    launches that have both; nor for cells that no winner reaches, or none that was not there
    then."""
    confirmed = earlier.winners if earlier else []
    built_on = reach.built_on(guidelines)
    of_table = [case for case in table.planned if case.variant == "default" and not case.ranks]
    others = [case for case in table.planned if case not in set(of_table)]
    far_cases = _far_cases([one for one in winners if one not in faster], of_table, settings)
    left = [*of_table, *far_cases]
    new_pairs = partial(Pairs, store, settings, environment, winners, reference_cases)
    pairs = new_pairs()
    fresh = pairs.add(suite, settings.sampling.launches, left, others, seed=settings.sampling.seed)
    # No launches are added for what nothing reaches: it is seen, beyond doubt, in the first ones.
    settled = {target_of(case) for case in left if not reaching(winners, target_of(case), built_on)}
    if earlier:
        settled |= _settled(earlier, winners, built_on)
    far = {target_of(case) for case in far_cases}
    looks = _Looks(pairs, winners, [*confirmed, *faster], settled, far, settings)
    looks.look(fresh)
    verdicts = table.look()
    _, *later = experiment.looks(tables.design_of(settings))
    for look in later:
        wanted = looks.open_cells()
        if not wanted or not has_time():
            break
        store.progress.step(
            f"not clear yet: {counted(len(wanted), 'cell')}; "
            f"{counted(look.launches, 'pair')} of launches more"
        )
        cases = [case for case in left if target_of(case) in wanted]
        cases = list(dict.fromkeys([*cases, *untouched(left, winners)]))
        seed = settings.sampling.seed + look.before
        # What the table has not decided yet rides along.
        undecided = [*table.open_cases(), *table.along()]
        own = look.suite(suite)
        fresh = pairs.add(own, look.launches, cases, undecided, seed=seed)
        looks.look(fresh)
        verdicts = table.look()
    harm = looks.slower()
    if harm:
        again = suite.part("again")
        harm = _seen_again(looks, again, new_pairs(), left, harm)
    strange = {
        cell: comparison
        for cell, comparison in harm.items()
        if not reaching(winners, cell, built_on)
    }
    if strange:
        # Rules that are not about it pay for it, so that it must be beyond doubt.
        again = suite.part("once-more")
        sure = _seen_again(looks, again, new_pairs(), left, strange)
        harm = {cell: comparison for cell, comparison in harm.items() if cell not in strange} | sure
    lost = set(pairs.lost)
    astray = {cell for cell in lost if not reaching(winners, cell, built_on)}
    if astray:
        # A launch may fail by chance, and rules that are not about it pay for this too.
        store.progress.step(f"no result: {counted(len(astray), 'cell')}; measuring again")
        anew = new_pairs()
        seed = settings.sampling.seed + settings.sampling.launches_max
        anew.add(suite.part("lost"), settings.sampling.launches, left, seed=seed)
        lost -= astray - set(anew.lost)
    kept, dropped = judge_winners(
        winners,
        looks.speeds,
        list(pairs.ratios),
        harm,
        verdicts,
        built_on,
        lost,
        confirmed=confirmed,
        faster=faster,
        least_gain=least_gain(settings),
    )
    if not dropped:
        bisection = Bisection(*(store, suite, settings, in_force, left, reference_cases))
        kept, dropped = bisection.keep(kept, harm, lost, built_on)
    doubtful = {
        cell: why for cell, why in looks.doubtful().items() if cell not in harm and cell not in lost
    }
    perhaps = _of_doubtful(kept, doubtful)
    kept = [winner for winner in kept if winner not in [gone for gone, _ in perhaps]]
    measured = pairs.ratios.keys() - harm.keys() - lost - doubtful.keys()
    known = _settled(earlier, winners, built_on) - pairs.ratios.keys() if earlier else set()
    return Confirmation(kept, dropped + perhaps, verdicts, list(winners), sorted(measured | known))


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
        for function, measured in sizes.items()
        if winner.function in (function, EVERY_FUNCTION)
        for size in ranges.far_sizes(winner, measured)
    ]
    return list(dict.fromkeys(cases))


def _of_doubtful(
    kept: Sequence[Winner], doubtful: Mapping[Target, str]
) -> list[tuple[Winner, str]]:
    """Return the winners that decide a doubtful cell, with the reason."""
    return [
        (winner, f"{cell.function} at {cell.bytes} B may be slower: {doubtful[cell]}")
        for winner in kept
        if (cell := next((one for one in doubtful if deciding(kept, one) is winner), None))
    ]


def _settled(earlier: Confirmation, winners: Sequence[Winner], built_on: BuiltOn) -> set[Target]:
    """Cells that were not slower then, and that nothing reaches which is another one now."""
    changed = reach.changed(earlier.in_force, winners)
    if changed is None:
        return set()
    return {
        cell
        for cell in earlier.not_slower
        if not reach.cell_changes(changed, cell, built_on, winners)
    }


class _Looks:
    """What the pairs say, look by look: `speeds`, the ratio of each winner over its cells, with an
    interval that pays for all looks (None: no pair has its cells); and which cells are slower. The
    cells at `far` sizes count for no gain."""

    def __init__(
        self,
        pairs: Pairs,
        winners: Sequence[Winner],
        known: Sequence[Winner],
        settled: Collection[Target],
        far: set[Target],
        settings: Settings,
    ) -> None:
        self.speeds: list[Comparison | None] = [None for _ in winners]
        self._pairs = pairs
        self._settings = settings
        self._winners = winners
        self._known = known
        self._settled = settled
        self._far = far
        self._design = tables.design_of(settings)
        self._alpha = settings.claims.alpha
        self._look = 0
        limit = 1 + settings.claims.tolerance
        self._harm = HypothesisFamily(
            ([Hypothesis(cell, limit)] for cell, logs in pairs.ratios.items() if logs),
            self._design,
            alpha=settings.claims.alpha,
            judge=tables.judge_of(settings),
        )

    def look(self, fresh: Collection[Target]) -> None:
        """`fresh`: the cells that the last pairs measured."""
        ratios = self._pairs.ratios
        self._harm.look(lambda cell: ratios[cell] if cell in fresh else None)
        near = {cell: logs for cell, logs in ratios.items() if cell not in self._far}
        confidence = self._design.confidence(self._look, self._alpha)
        for number, winner in enumerate(self._winners):
            if self._look == 0 or _unclear(self.speeds[number]):
                self.speeds[number] = speed(
                    winner, self._winners, near, self._pairs.beside, confidence, self._harm.compare
                )
        self._look += 1

    def open_cells(self) -> set[Target]:
        """The cells of winners whose gain is unclear, and those that seem slower than before."""
        unclear = [
            winner
            for winner, speed in zip(self._winners, self.speeds, strict=True)
            if _unclear(speed) and not any(is_part(winner, earlier) for earlier in self._known)
        ]
        suspects = {
            state.hypothesis.key
            for state in self._harm.open()
            if state.hypothesis.key not in self._settled
            and (self._must_hold(state.hypothesis.key) or self._may_be_slower(state))
        }
        return suspects | {
            cell
            for cell in self._pairs.ratios.keys() - self._far
            if any(deciding(self._winners, cell) is winner for winner in unclear)
        }

    def _must_hold(self, cell: Target) -> bool:
        """Return whether a rule is dropped unless it is known to do no harm in a cell far above
        the measured ones. A setting of the process is dropped only where it does."""
        winner = deciding(self._winners, cell)
        whole = winner is not None and winner.function == EVERY_FUNCTION
        return cell in self._far and not whole

    def _may_be_slower(self, state: HypothesisState[Target]) -> bool:
        """It seems slower than before, and the pairs that are left may show it."""
        found, limit = state.comparison, state.hypothesis.limit
        return (
            found is not None
            and found.ratio > limit
            and may_be_found(found, limit, self._design, state.look, self._alpha)
        )

    def doubtful(self) -> dict[Target, str]:
        """Return the far cells that are not known to be as fast as before, with the reason."""
        return {
            state.hypothesis.key: state.reason or "not seen again"
            for (state,) in self._harm.cells
            if self._must_hold(state.hypothesis.key)
            and state.hypothesis.key not in self._settled
            and state.word != "holds"
        }

    def slower_again(self, ratios: Mapping[Target, Sequence[float]]) -> dict[Target, Comparison]:
        """Return which cells are slower by fresh `ratios`; what the looks tell of variances
        counts."""
        claims = self._settings.claims
        limit = 1 + claims.tolerance
        return slower(ratios, limit, claims.alpha, judge=lambda _: self._harm.compare)

    def slower(self) -> dict[Target, Comparison]:
        """Cells that are slower than before: significant after correction for the number of cells
        and looks, and by more than the tolerance."""
        return {
            state.hypothesis.key: state.comparison
            for (state,) in self._harm.cells
            if state.word == "violated" and state.comparison is not None
        }


def _unclear(found: Comparison | None) -> bool:
    """Whether it may be faster and may be slower."""
    if found is None:
        return False
    return found.low is None or found.high is None or found.low < 1 <= found.high


def speed(
    winner: Winner,
    winners: Sequence[Winner],
    ratios: Mapping[Target, Sequence[float]],
    beside: Mapping[Target, Sequence[float]],
    confidence: float = 0.95,
    compare: Callable[[Sequence[float], float], Comparison] = paired_ratio,
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
    logs = beside if by_launch else ratios
    pairs = min(len(logs[cell]) for cell in inside)
    if pairs == 0:
        return None
    means = [sum(logs[cell][pair] for cell in inside) / len(inside) for pair in range(pairs)]
    return compare(means, confidence)


def _seen_again(
    looks: _Looks,
    suite: Suite,
    again: Pairs,
    left: Sequence[PlanCase],
    harm: Mapping[Target, Comparison],
) -> dict[Target, Comparison]:
    """What is slower again in fresh pairs of launches. Cells of one launch share its luck, so one
    pass finds whole groups by chance; chance does not find the same group twice."""
    suspects = [case for case in left if target_of(case) in harm]
    cases = list(dict.fromkeys([*suspects, *untouched(left, again.winners)]))
    again.store.progress.step(f"perhaps slower: {counted(len(suspects), 'cell')}; measuring again")
    sampling = again.settings.sampling
    again.add(suite, sampling.launches, cases, seed=sampling.seed + sampling.launches_max)
    measured = {cell: again.ratios[cell] for cell in harm if cell in again.ratios}
    return {
        cell: comparison
        for cell, comparison in looks.slower_again(measured).items()
        if comparison.low is None or comparison.low > 1
    }


def judge_winners(
    winners: Sequence[Winner],
    speeds: Sequence[Comparison | None],
    cells: Sequence[Target],
    slower: Mapping[Target, Comparison],
    verdicts: Sequence[Verdict],
    built_on: BuiltOn,
    lost: Collection[Target] = (),
    *,
    confirmed: Sequence[Winner] = (),
    faster: Sequence[Winner] = (),
    least_gain: float = 1.0,
) -> tuple[list[Winner], list[tuple[Winner, str]]]:
    """Keep a winner if its cells are not slower than the default's in cold launches, it is
    significantly faster over them, and it removes a violation or gains `least_gain`.

    `speeds`: of each winner, tuned over default; `cells`: what was measured; `slower`: the cells
    that are slower than before; `built_on`: which functions a library may build a function on;
    `lost`: cells that give no (or a wrong) result with the files in force, and did without;
    `confirmed`: winners of an earlier turn, whose gains stay; `faster`: winners that acceptance has
    seen to be significantly faster. Few cold launches need not show either again."""
    held, violated = named(verdicts, "holds"), named(verdicts, "violated")
    kept: list[Winner] = []
    dropped: list[tuple[Winner, str]] = []
    for winner, speed in zip(winners, speeds, strict=True):
        gone_wrong = [cell for cell in lost if reaches(winner, cell, built_on)]
        if gone_wrong:
            where = ", ".join(f"{cell.function} at {cell.bytes} B" for cell in sorted(gone_wrong))
            dropped.append((winner, f"no right result with it in force: {where}"))
            continue
        hurt = [cell for cell in cells if cell in slower and deciding(winners, cell) is winner]
        if hurt:
            worst = max(hurt, key=lambda one: slower[one].ratio)
            dropped.append(
                (winner, f"slower at {worst.bytes} B: {told(slower[worst])} times the default")
            )
            continue
        if winner.function == EVERY_FUNCTION:
            kept.append(winner)
            continue
        before = any(is_part(winner, earlier) for earlier in confirmed)
        if speed is None:
            if before:
                kept.append(winner)
            else:
                dropped.append((winner, "no pair of launches has its cells"))
            continue
        accepted = any(is_part(winner, earlier) for earlier in faster)
        gain = _gain(winner, speed, accepted=accepted, confirmed=before)
        if gain is None:
            dropped.append((winner, f"no gain is left cold: {told(speed)} times the default"))
            continue
        cured = any((winner.function, name) in held for name in winner.removes)
        if not (cured or before) and gain.speedup < least_gain:
            why = f"it removes no violation, and gains too little: {gain.speedup:.2f} times as fast"
            dropped.append((winner, why))
            continue
        removes = [name for name in winner.removes if (winner.function, name) not in violated]
        kept.append(msgspec.structs.replace(gain, removes=removes))
    for cell in sorted(slower):
        blamed = reaching(kept, cell, built_on)
        if blamed and not any(holds(winner, cell) for winner in winners):
            why = f"{cell.function} at {cell.bytes} B became slower: {told(slower[cell])}"
            kept = [winner for winner in kept if winner not in blamed]
            dropped += [(winner, why) for winner in blamed]
    return kept, dropped


def _gain(winner: Winner, speed: Comparison, *, accepted: bool, confirmed: bool) -> Winner | None:
    """Return the winner with the gain that is shown for it: the cold one where its interval lies
    above 1, else the one of acceptance or of an earlier turn where the cold launches do not speak
    against it. A knob was switched otherwise when it was accepted, so that it must not even seem
    slower. None: no gain is shown."""
    shown: tuple[float, float, float] | None = None
    surely_slower = speed.low is not None and speed.low > 1
    agrees = speed.ratio <= 1 or (winner.variant != LIBRARY and not surely_slower)
    if confirmed and agrees:
        shown = winner.speedup, winner.speedup_low, winner.speedup_high
    elif speed.high is not None and speed.high < 1:
        shown = 1 / speed.ratio, 1 / speed.high, 1 / (speed.low or speed.ratio)
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
