"""Acceptance: a winner is tried wherever a user stands, before it is exported.

Of every size that it holds, and of the ends of its range, the winner and the library as it is are
called beside each other in the same launches, look by look: in all ways of use, with the types that
applications have, where a plain mpirun puts the ranks. It keeps the sizes at which it is known not
to be slower in any of these: the interval of each ratio ends within the tolerance
(acceptance_sizes.py).

What needs launches of its own (cold knobs) cannot be tried so: vetting.py."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from plumbline.campaign.acceptance_sizes import AcceptanceTrial, Part, Rows, kept, trials
from plumbline.campaign.other_uses import Circumstance, planned
from plumbline.campaign.pairs import ENOUGH, LaunchRatios
from plumbline.core.cell import Target
from plumbline.core.guidelines import LIBRARY, calls
from plumbline.core.plan import Plan, PlanCase
from plumbline.core.winner import is_part, pieces_inside
from plumbline.measure.comparison import logs_inside
from plumbline.measure.launches import LaunchStore, Series
from plumbline.search.order import levels
from plumbline.search.races import Setup
from plumbline.search.space.candidates import Candidate
from plumbline.settings import Settings
from plumbline.system.placement import Placement
from plumbline.system.words import counted
from plumbline.verify.curve import CurveEstimate, CurvePoint, estimates
from plumbline.verify.decision import (
    FEW,
    MUCH,
    Claim,
    Design,
    Evidence,
    HypothesisFamily,
    much_slower,
)
from plumbline.verify.significance.moderated import NO_POOL, moderated_mean, pool_of
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner
from plumbline_exporters.bundle import conditions

# What seems no slower by the fifth look gets the last two: a machine may be in other moods in some
# launches, in which both sides take the same.
LOOKS = Design((4, 6, 9, 12, 16, 22, 30), (0.15, 0.15, 0.15, 0.15, 0.13, 0.13, 0.14))
_EARLY = 5
# Launches after which what is much slower, or beyond its range not faster, is given up; they count
# among those of the first look.
_FIRST_LOOK = FEW
_FIRST_BLOCKS = 3
BLOCKS = 6  # of a launch that has all comparisons; those that have a few take the usual ones
# Messages that take long are waited for in so many short launches, with pauses.
_MOST_FOR_SLOW = 40
PAUSE_SECONDS = 0.25
_SEEDS = 100_000  # between the launches of two turns


class Accepted(msgspec.Struct, frozen=True):
    """`winners` as they may be exported: some for fewer or for more sizes than before; `refused`
    are winners, or the sizes that they have lost, with the reason; `narrowed` those of `winners`
    that are for the campaign's own class of datatypes alone. `reserves` were tried beside them, of
    which these, or pieces of them, have `held`. `suite`: that of its launches; None where nothing
    was left to be tried."""

    suite: Suite | None
    winners: list[Winner]
    refused: list[tuple[Winner, str]] = []
    narrowed: list[tuple[Winner, str]] = []
    reserves: list[Winner] = []
    held: list[Winner] = []


class WinnerAcceptance:
    """The acceptance of the winners of one campaign. `placement`: where the ranks are (None: as in
    all launches); `in_force` puts winners in force for launches of a name; `crowded`: there are
    more ranks than cores. `ratios` has all that was measured."""

    def __init__(
        self,
        setup: Setup,
        in_force: Callable[[Sequence[Winner]], Mapping[str, str]],
        *,
        placement: Placement | None,
        crowded: bool,
    ) -> None:
        self._store = setup.store
        self._in_force = in_force
        self._candidate_space = setup.candidate_space
        self._plan = setup.plan
        self._settings = setup.settings
        self._sizes = setup.sizes
        self._environment = setup.candidate_space.hot_environment
        self._placement = placement
        self._binding = setup.store.starter.placement.bind if placement is None else "user"
        self._crowded = crowded
        self._known: list[Winner] = []
        self._turns = 0
        self._patience = _MOST_FOR_SLOW
        self.ratios = LaunchRatios()

    def judge(
        self,
        winners: Sequence[Winner],
        reserves_of: Callable[[Sequence[Winner]], list[Winner]] = lambda _: [],
    ) -> Accepted:
        """Tries some that were not accepted before, in the order in which they are made of each
        other: those whose calls others answer wait for these, and are tried with them in force.
        `reserves_of`: what may take their places, which is tried in the same launches."""
        fresh = [
            winner
            for winner in winners
            if self.fits(winner)
            and not any(_is_known(winner, accepted) for accepted in self._known)
        ]
        standing = [winner for winner in winners if winner not in fresh]
        if not fresh:
            return Accepted(None, list(winners))
        every = fresh
        fresh = _first(fresh)
        self._turns += 1
        suite = Suite("accept", self._turns)
        environment = dict(self._environment)
        whole = any(winner.function == EVERY_FUNCTION for winner in standing)
        if whole or any(_calls_any(winner, standing) for winner in fresh):
            environment |= self._in_force(standing)
        launches = AcceptanceLaunches(self._store, self._plan, environment, self._placement)
        reserves = [
            reserve
            for reserve in reserves_of(fresh)
            if self.fits(reserve) and not _calls_any(reserve, [*every, *standing])
        ]
        asked = trials(
            fresh, winners, self._settings, self._sizes, crowded=self._crowded, reserves=reserves
        )
        rows = launches.decide(suite, asked, self._settings)
        self._add(launches)
        kept_winners = kept([*fresh, *reserves], rows, self._settings, self._sizes, self._binding)
        self._known += [piece for kept_of in kept_winners for piece in kept_of.winners]
        of_fresh, of_reserves = kept_winners[: len(fresh)], kept_winners[len(fresh) :]
        pieces = {
            id(winner): kept_of.winners for winner, kept_of in zip(fresh, of_fresh, strict=True)
        }
        return Accepted(
            suite,
            [piece for winner in winners for piece in pieces.get(id(winner), [winner])],
            [lost for kept_of in of_fresh for lost in kept_of.refused],
            [narrow for kept_of in of_fresh for narrow in kept_of.narrowed],
            self._tried(reserves, launches),
            [piece for kept_of in of_reserves for piece in kept_of.winners],
        )

    def measure_where_slow(self, winners: Sequence[Winner], cells: Collection[Target]) -> None:
        """Measure these `cells` of winners until messages between ranks have taken long in enough
        launches. If they do not in many, the next call measures nothing."""
        if not self._patience:
            return
        whole = [winner for winner in winners if winner.function == EVERY_FUNCTION]
        environment = {**self._environment, **(self._in_force(whole) if whole else {})}
        launches = AcceptanceLaunches(self._store, self._plan, environment, self._placement)
        hot = [winner for winner in winners if self.fits(winner)]
        asked = [
            trial
            for trial in trials(hot, winners, self._settings, self._sizes, crowded=self._crowded)
            if trial.target in cells
            and not trial.beyond
            and trial.where == Circumstance("", self._plan.data.of(trial.target.function))
        ]
        self._turns += 1
        suite = Suite("accept", self._turns, "slow")
        if not launches.until_slow(suite, asked, self._patience):
            self._patience = 0
        self._add(launches)

    def _add(self, launches: AcceptanceLaunches) -> None:
        for trial, logs in launches.logs.items():
            self.ratios.add(trial.candidate, trial.target, logs, trial.where)

    def _tried(self, reserves: Sequence[Winner], launches: AcceptanceLaunches) -> list[Winner]:
        """The sizes of reserves at which they were measured."""
        cells = {trial.target for trial, logs in launches.logs.items() if trial.reserve and logs}
        return [
            piece
            for reserve in reserves
            for piece in pieces_inside(reserve, cells, self._sizes[reserve.function])
        ]

    def shows_gain(self, winner: Winner) -> bool:
        """Return whether it was accepted, and is faster than the default over its sizes in the
        campaign's own use, beyond doubt."""
        own = winner.tried[0] if winner.tried else None
        return own is not None and own.speedup_low > 1 and self.fits(winner)

    def fits(self, winner: Winner) -> bool:
        """Return whether it can be put in force beside the library as it is."""
        return winner.function != EVERY_FUNCTION and not self._candidate_space.is_cold(
            winner.function, Candidate.of_winner(winner)
        )


def _is_known(winner: Winner, known: Winner) -> bool:
    """Return whether it, or more, was accepted."""
    return is_part(winner, known) and set(conditions(known)) <= set(conditions(winner))


def _calls_any(winner: Winner, others: Sequence[Winner]) -> bool:
    """Return whether a variant of ours makes calls that some of the `others` are about."""
    if winner.variant == LIBRARY or not others:
        return False
    about = {winner_about.function for winner_about in others}
    made = calls(winner.function, winner.variant)
    return made is None or EVERY_FUNCTION in about or not about.isdisjoint(made)


def _first(winners: Sequence[Winner]) -> list[Winner]:
    """Return the winners of the functions that wait for no others, or for each other alone."""
    waits: dict[str, set[str]] = {winner.function: set() for winner in winners}
    for winner in winners:
        waits[winner.function] |= {
            second.function
            for second in winners
            if second.function != winner.function and _calls_any(winner, [second])
        }
    first = levels(waits)[0]
    return [winner for winner in winners if winner.function in first]


class AcceptanceLaunches:
    """The launches of one turn. `logs`: log ratios by trial and launch; `reasons`: why a trial has
    none, or why these do not count. `placement`: where the ranks are (None: as in all launches).

    A trial holds by itself, or by what all trials of its winner say of it (verify/curve.py)."""

    def __init__(
        self,
        store: LaunchStore,
        plan: Plan,
        environment: Mapping[str, str],
        placement: Placement | None,
    ) -> None:
        self.logs: dict[AcceptanceTrial, dict[int, float]] = {}
        self.reasons: dict[AcceptanceTrial, str] = {}
        self._store = store
        self._plan = plan
        self._environment = environment
        self._placement = placement

    def decide(self, suite: Suite, trials: Sequence[AcceptanceTrial], settings: Settings) -> Rows:
        """Until each is decided or has no more launches. A size at which the winner is slower in
        one circumstance is not measured in the others. A reserve is measured from then on, where
        the winner is given up after the first launches, until the winners hold."""
        claims = settings.claims
        claim = Claim(tolerance=claims.tolerance, alpha=claims.alpha, design=LOOKS)
        family = HypothesisFamily.of(trials, claim)
        rows = family.decisions
        first = [trial for trial in trials if not trial.reserve]
        self._add(suite.part("first"), range(_FIRST_LOOK), first, _FIRST_BLOCKS)
        # Launches beside other work do not give anything up so early.
        hopeless = self._hopeless(first, settings) if self._store.is_quiet else {}
        vacant = {target for _, target, _ in hopeless}
        asked = [
            trial
            for trial in trials
            if (trial.target in vacant if trial.reserve else not trial.is_among(hopeless))
        ]
        given_up = [trial for trial in first if trial.is_among(hopeless)]
        self.reasons |= {
            trial: hopeless.get((*trial.size, "")) or hopeless[trial.part] for trial in given_up
        }
        spare = [trial for trial in trials if trial.reserve and trial.target not in vacant]
        self.reasons |= dict.fromkeys(spare, "not tried: the winner may hold the size")
        for look in range(LOOKS.looks):
            before = LOOKS.launches[look - 1] if look else _FIRST_LOOK
            turn = range(before, LOOKS.launches[look])
            self._add(suite.at(look + 1), turn, asked, 0 if look else BLOCKS)
            asked += [*given_up, *spare] if look == 0 else []
            family.look(partial(self._evidence, frozenset(asked)))
            self._hold_by_others(rows, family.confidence)
            lost = {row.key.part for row in rows if row.word == "slower"}
            lost |= _not_needed(rows)
            still = [row.key for row in family.open() if look + 1 < _EARLY or row.suspicion() <= 1]
            still += self._of_unclear_gain(family)
            asked = [trial for trial in dict.fromkeys(still) if not trial.is_among(lost)]
            if not asked:
                break
        return rows

    def until_slow(self, suite: Suite, trials: Sequence[AcceptanceTrial], looks: int) -> bool:
        """Launch these while messages between ranks take long, until they have in as many launches
        as decide anything; return whether they have. So many short `looks` wait for that."""
        found: list[bool] = []
        rounds = self._while_slow(Suite("wait", suite.round), trials, looks, found)
        self._add(suite, range(looks), trials, BLOCKS, rounds)
        return sum(found) >= ENOUGH

    def _while_slow(
        self, suite: Suite, trials: Sequence[AcceptanceTrial], looks: int, found: list[bool]
    ) -> Iterator[None]:
        """Yield before each launch, once messages take long; `found`: whether they did in it."""
        store = self._store
        smallest = min(trials, key=lambda trial: trial.target.bytes)
        of_one = {"cases": tuple(smallest.planned()), "blocks": 1}
        look, is_slow = 0, False
        while sum(found) < ENOUGH:
            while not is_slow and look < looks:
                before = len(store.slow_messages().numbers)
                plan = msgspec.structs.replace(self._plan, name=suite.launch(look), **of_one)
                done = store.launch(suite, look, plan, self._environment, self._placement)
                is_slow, look = len(store.slow_messages().numbers) > before, look + 1
                if not (is_slow or done.stored):
                    time.sleep(PAUSE_SECONDS)
            if not is_slow:
                return
            before = len(store.slow_messages().numbers)
            yield
            is_slow = len(store.slow_messages().numbers) > before
            found.append(is_slow)

    def _hold_by_others(self, rows: Rows, confidence: float) -> None:
        """Hold undecided trials of which all trials of the winner say that they do."""
        estimate_of = self._estimates([row.key for row in rows])
        for row in rows:
            row.estimate = estimate_of.get(row.key)
            if row.word != "undecided" or row.estimate is None or row.estimate.odd:
                continue
            if row.estimate.high(confidence) <= math.log(row.limit):
                row.word = "equal"

    def _estimates(self, trials: Sequence[AcceptanceTrial]) -> dict[AcceptanceTrial, CurveEstimate]:
        """Return what all trials of its winner say of each, where there are two launches."""
        logs = {
            trial: list(own.values())
            for trial in trials
            if trial not in self.reasons and len(own := self.logs.get(trial, {})) > 1
        }
        pool = pool_of(logs.values()) or NO_POOL
        by_winner: dict[int, dict[AcceptanceTrial, CurvePoint]] = {}
        for trial, own_logs in logs.items():
            mean, error, _ = moderated_mean(own_logs, pool)
            sent = f"{trial.where.data.type} {trial.where.data.counts}"
            point = CurvePoint(trial.target.bytes, trial.where.use, sent, mean, error**2)
            by_winner.setdefault(trial.winner, {})[trial] = point
        by_curve = estimates([list(points.values()) for points in by_winner.values()])
        return {
            trial: estimate
            for points, curve in zip(by_winner.values(), by_curve, strict=True)
            for trial, estimate in zip(points, curve, strict=True)
        }

    def _of_unclear_gain(self, family: HypothesisFamily[AcceptanceTrial]) -> list[AcceptanceTrial]:
        """The trials in the campaign's own use of winners that hold and seem faster there, but not
        surely."""
        by_winner: dict[int, dict[AcceptanceTrial, CurveEstimate]] = {}
        for row in family.decisions:
            trial = row.key
            near = not (trial.beyond or trial.far)
            own = Circumstance("", self._plan.data.of(trial.target.function))
            if trial.where == own and near and row.is_held and row.estimate is not None:
                by_winner.setdefault(trial.winner, {})[trial] = row.estimate
        unclear: list[AcceptanceTrial] = []
        for held in by_winner.values():
            gain = CurveEstimate.of_several(held.values())
            if gain.mean <= 0 <= gain.high(family.confidence):
                unclear += held
        return unclear

    def _add(
        self,
        suite: Suite,
        turn: range,
        trials: Sequence[AcceptanceTrial],
        blocks: int,
        rounds: Iterable[object] | None = None,
    ) -> None:
        """Make launches with these numbers in the `turn`, or as many as there are `rounds`, with so
        many `blocks` (0: the usual ones), more where launches have room for them."""
        if not trials:
            return
        store = self._store
        store.progress.step(
            f"trying winners as users call them: {counted(len(trials), 'comparison')}, "
            f"{counted(len(turn), 'launch')}"
        )
        plan = msgspec.structs.replace(
            self._plan,
            seed=self._plan.seed + _SEEDS * (suite.round + 1) + turn.start,
            blocks=min(blocks or self._plan.blocks, self._plan.blocks),
            cases=tuple(dict.fromkeys(side for trial in trials for side in trial.planned())),
        )
        plan = store.filled(suite, plan)
        series = Series(store, suite, plan, self._environment, self._placement)
        for _ in turn if rounds is None else rounds:
            series.advance()
        root = self._plan.data.root
        times = {
            planned(sample.case, root): dict(zip(sample.runs, sample.ns, strict=True))
            for sample in runs.launch_samples(store.db, store.campaign, [suite.name], use=None)
        }
        wrong = self._wrong(suite.name, times)
        for trial in trials:
            own_case, library_case = trial.sides()
            if trial.planned()[0] in series.dropped:
                self.reasons[trial] = "launches failed with it under way"
            for side in (own_case, library_case):
                if side in wrong:
                    self.reasons.setdefault(trial, f"{wrong[side]} (at {trial.target.bytes} B)")
            mine, default = times.get(own_case, {}), times.get(library_case, {})
            self.logs.setdefault(trial, {}).update(logs_inside(mine, default))

    def _wrong(self, suite: str, timed: Collection[PlanCase]) -> dict[PlanCase, str]:
        """Cases with wrong results, and those that were refused and have no times."""
        db, campaign, root = self._store.db, self._store.campaign, self._plan.data.root
        wrong = {
            planned(case, root): ": ".join(filter(None, (check.outcome, check.detail)))
            for run in runs.listing(db, campaign, [suite])
            for case, check in runs.checks(db, campaign, suite, run.sequence)
            if check.outcome != "ok"
        }
        return wrong | {
            asked: refused.reason
            for case, refused in runs.refusals(db, campaign, [suite])
            if (asked := planned(case, root)) not in timed
        }

    def _hopeless(self, trials: Sequence[AcceptanceTrial], settings: Settings) -> dict[Part, str]:
        """Sizes of winners that are given up after the first launches, with the reason: in some
        circumstance all of these say so, and what is known of the winner elsewhere agrees."""
        estimate_of = self._estimates(trials)
        limit = math.log1p(settings.claims.tolerance)
        reasons: dict[Part, str] = {}
        for trial in trials:
            own, by_all = self.logs.get(trial, {}).values(), estimate_of.get(trial)
            if not much_slower(own, 0.0 if trial.beyond else MUCH) or by_all is None:
                continue
            if trial.beyond or (not by_all.odd and by_all.mean - 2 * by_all.error > limit):
                reasons.setdefault(
                    trial.part,
                    f"seems slower at {trial.target.bytes} B ({trial.where.label(settings)}): "
                    f"{math.exp(min(own)):.2f} at least in {counted(len(own), 'launch')}",
                )
        return reasons

    def _evidence(self, asked: frozenset[AcceptanceTrial], trial: AcceptanceTrial) -> Evidence:
        if trial not in asked:
            return None
        if trial in self.reasons:
            return self.reasons[trial]
        return list(self.logs[trial].values()) or "no launch has both sides"


def _not_needed(rows: Rows) -> set[Part]:
    """The sizes of reserves at which winners hold wherever they were tried."""
    reserved = [row.key for row in rows if row.key.reserve]
    first = [row for row in rows if not row.key.reserve]
    vacant = {row.key.target for row in first if not row.is_held}
    answered = {row.key.target for row in first} - vacant
    waiting = {trial.winner for trial in reserved if trial.target in vacant}
    return {
        (*trial.size, "")
        for trial in reserved
        if trial.target in answered or trial.winner not in waiting
    }
