"""Acceptance: a winner is tried wherever a user stands, before it is exported.

Of every size that it holds, and of the ends of its range, the winner and the library as it is are
called beside each other in the same launches: in all ways of use, with the types that applications
have, where a plain mpirun puts the ranks. It keeps the sizes at which it is known not to be slower
in any of these: the interval of each ratio ends within the tolerance. A rule that can be for one
class of datatypes is for the campaign's own where it holds for that alone. Beyond its range it
takes the neighbouring sizes at which it is clearly faster in all of them.

What needs launches of its own (cold knobs) cannot be tried so: acceptance_in_turn.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np

from plumbline.campaign.circumstances import (
    Circumstance,
    condition,
    everywhere,
    is_for,
    with_condition,
)
from plumbline.core.configuration import Configuration
from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.launch.known import calls
from plumbline.measure.launches import LaunchStore, Series
from plumbline.search.fixed_point import is_part
from plumbline.search.outcome import deciding, holds
from plumbline.search.space.candidates import Candidate, CandidateSpace
from plumbline.search.space.cells import Target
from plumbline.settings import Settings
from plumbline.system.placement import Placement
from plumbline.system.words import counted
from plumbline.verify import design, estimators
from plumbline.verify.index import LIBRARY
from plumbline.verify.sequential import Hypothesis, HypothesisFamily, HypothesisState
from plumbline.verify.statistics import Comparison, paired_ratio
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Case, Suite, Tried, Winner
from plumbline_exporters.bundle import conditions

LOOKS = design.over(9, 22)
# Launches after which what is much slower, or beyond its range not faster, is given up; they count
# among those of the first look.
FIRST_LOOK = 2
_FIRST_BLOCKS = 3
_WARMUP = 4  # calls before the first block of a case; the race has warmed up with more
_MUCH = math.log(1.15)
BLOCKS = 6  # of a launch that has all comparisons; those that have a few take the usual ones
_SEEDS = 100_000  # between the launches of two turns
_NEIGHBOURS = 3  # sizes on either side that a winner is tried for beyond its range


# A winner's size with the campaign's own class of types, or with the others.
_Part = tuple[int, Target, bool]


class Trial(msgspec.Struct, frozen=True):
    """One hypothesis: is the candidate slower there than the library as it is? `winner` is its
    number among those that are tried; the cell may lie `beyond` its range."""

    winner: int
    beyond: bool
    target: Target
    candidate: Candidate
    where: Circumstance
    foreign: bool = False  # of a type that the winner's rule may leave out, if it must

    @property
    def size(self) -> tuple[int, Target]:
        return self.winner, self.target

    @property
    def part(self) -> _Part:
        return self.winner, self.target, self.foreign

    def is_among(self, lost: Collection[_Part]) -> bool:
        """Whether it need not be asked: what is lost with the campaign's own types is lost."""
        return self.part in lost or (self.winner, self.target, False) in lost

    def sides(self) -> tuple[PlanCase, PlanCase]:
        cell = (self.target.function, self.target.bytes)
        return (
            self.where.case(self.candidate.case(*cell)),
            self.where.case(Candidate().case(*cell)),
        )


class Accepted(msgspec.Struct, frozen=True):
    """`winners` as they may be exported: some for fewer or for more sizes than before; `refused`
    are winners, or the sizes that they have lost, with the reason; `narrowed` those of `winners`
    that are for the campaign's own class of datatypes alone. `suite`: that of its launches; None
    where nothing was left to be tried."""

    suite: Suite | None
    winners: list[Winner]
    refused: list[tuple[Winner, str]]
    narrowed: list[tuple[Winner, str]]


class Acceptance:
    """Of the winners of one campaign. `placement`: where the ranks are (None: as in all launches);
    `environment`: what lets knobs be switched inside a launch; `in_force` puts winners in force for
    launches of a name."""

    def __init__(
        self,
        store: LaunchStore,
        candidate_space: CandidateSpace,
        plan: Plan,
        settings: Settings,
        sizes: Mapping[str, Sequence[int]],
        environment: Mapping[str, str],
        in_force: Callable[[Sequence[Winner], str], Mapping[str, str]],
        *,
        placement: Placement | None,
        crowded: bool,
    ) -> None:
        self._store = store
        self._in_force = in_force
        self._candidate_space = candidate_space
        self._plan = msgspec.structs.replace(plan, warmup=min(_WARMUP, plan.warmup))
        self._settings = settings
        self._sizes = sizes
        self._environment = environment
        self._placement = placement
        self._crowded = crowded
        self._known: list[Winner] = []
        self._turns = 0

    def judge(self, winners: Sequence[Winner]) -> Accepted:
        """Tries some that were not accepted before: knobs, and ours that send nothing by calls that
        these are about; then the other ours, with the accepted knobs in force."""
        fresh = [
            winner
            for winner in winners
            if self.fits(winner) and not any(_is_known(winner, known) for known in self._known)
        ]
        standing = [winner for winner in winners if winner.variant == LIBRARY]
        environment = dict(self._environment)
        asked = fresh
        if any(winner.variant == LIBRARY for winner in fresh):
            fresh = [winner for winner in fresh if not _calls_any(winner, standing)]
        if not fresh:
            return Accepted(None, list(winners), [], [])
        self._turns += 1
        suite = Suite("accept", self._turns)
        if fresh == asked and any(_calls_any(winner, standing) for winner in fresh):
            environment |= self._in_force(standing, suite.name)
        trials = [
            Trial(
                *(number, beyond, Target(winner.function, size), candidate_of(winner), where),
                foreign=not beyond and self._is_foreign(winner, where),
            )
            for number, winner in enumerate(fresh)
            for beyond, sizes in (
                (False, self._held(winner)),
                (True, self._beyond(winner, winners)),
            )
            for size in sizes
            for where in everywhere(
                self._settings, PlanCase(winner.function, size), crowded=self._crowded
            )
        ]
        rows = self._measure(suite, trials, environment)
        kept: dict[int, list[Winner]] = {}
        refused: list[tuple[Winner, str]] = []
        narrowed: list[tuple[Winner, str]] = []
        beyond = _shared_out(rows, len(fresh))
        for number, winner in enumerate(fresh):
            own = [row for row in rows if row.hypothesis.key.winner == number]
            held = self._held(winner)
            kept[number], lost, narrow = self._judged(winner, own, held, beyond[number])
            refused += lost
            narrowed += narrow
            self._known += kept[number]
        numbers = {id(winner): number for number, winner in enumerate(fresh)}
        found = [
            piece
            for winner in winners
            for piece in (kept[numbers[id(winner)]] if id(winner) in numbers else [winner])
        ]
        return Accepted(suite, found, refused, narrowed)

    def shows_gain(self, winner: Winner) -> bool:
        """Whether it was accepted, and is faster than the default over its sizes in the campaign's
        own use, beyond doubt."""
        own = winner.tried[0] if winner.tried else None
        return own is not None and own.speedup_low > 1 and self.fits(winner)

    def fits(self, winner: Winner) -> bool:
        """Whether it can be put in force beside the library as it is."""
        return winner.function != EVERY_FUNCTION and not self._candidate_space.is_cold(
            winner.function, candidate_of(winner)
        )

    def _is_foreign(self, winner: Winner, where: Circumstance) -> bool:
        only = condition(winner, self._settings)
        return bool(only) and not is_for(with_condition(winner, only), where.data.type)

    # --- which sizes ----------------------------------------------------------------------------

    def _held(self, winner: Winner) -> list[int]:
        """The measured sizes in its range, also those that others decide, which may lose their
        place; and its ends."""
        sizes = set(self._sizes[winner.function])
        if winner.bytes_to != UNBOUNDED_BYTES:
            sizes |= {winner.bytes_from, winner.bytes_to} - {0}
        return sorted(size for size in sizes if holds(winner, Target(winner.function, size)))

    def _beyond(self, winner: Winner, winners: Sequence[Winner]) -> list[int]:
        """The measured sizes next to its range that nobody holds, on each side."""
        if winner.bytes_to == UNBOUNDED_BYTES:
            return []
        sizes = sorted(self._sizes[winner.function])
        below = [size for size in reversed(sizes) if size < winner.bytes_from]
        above = [size for size in sizes if size > winner.bytes_to]
        return [
            size
            for side in (below, above)
            for size in self._until_held(winner.function, side[:_NEIGHBOURS], winners)
        ]

    @staticmethod
    def _until_held(
        function: str, sizes: Sequence[int], winners: Sequence[Winner]
    ) -> Iterator[int]:
        for size in sizes:
            if deciding(winners, Target(function, size)) is not None:
                return
            yield size

    # --- launches -------------------------------------------------------------------------------

    def _measure(
        self, suite: Suite, trials: Sequence[Trial], environment: Mapping[str, str]
    ) -> list[HypothesisState[Trial]]:
        """Look by look, until each is decided or has no more launches. A size at which the winner
        is slower in one circumstance is not measured in the others."""
        limit = 1 + self._settings.claims.tolerance
        family = HypothesisFamily(
            ([Hypothesis(trial, limit)] for trial in trials),
            LOOKS,
            alpha=self._settings.claims.alpha,
        )
        logs: dict[Trial, dict[int, float]] = {}
        reasons: dict[Trial, str] = {}
        launch = partial(self._launch, environment, logs, reasons)
        launch(suite.part("first"), 0, FIRST_LOOK, trials, _FIRST_BLOCKS)
        hopeless = _hopeless(trials, logs, self._settings)
        asked = [trial for trial in trials if not trial.is_among(hopeless)]
        given_up = [trial for trial in trials if trial.is_among(hopeless)]
        reasons |= {
            trial: hopeless.get((*trial.size, False)) or hopeless[trial.part] for trial in given_up
        }
        for look in range(LOOKS.looks):
            before = LOOKS.launches[look - 1] if look else FIRST_LOOK
            more = LOOKS.launches[look] - before
            blocks = self._plan.blocks if look else BLOCKS
            launch(suite.at(look + 1), before, more, asked, blocks)
            asked += given_up if look == 0 else []
            family.look(partial(_evidence, frozenset(asked), logs, reasons))
            rows = [row for (row,) in family.cells]
            lost = {row.hypothesis.key.part for row in rows if row.word == "violated"}
            still = (row.hypothesis.key for row in family.open())
            asked = [trial for trial in still if not trial.is_among(lost)]
            if not asked:
                break
        rows = [row for (row,) in family.cells]
        _judge_together(rows, logs, LOOKS.confidence(LOOKS.looks - 1, self._settings.claims.alpha))
        return rows

    def _launch(
        self,
        environment: Mapping[str, str],
        logs: dict[Trial, dict[int, float]],
        reasons: dict[Trial, str],
        suite: Suite,
        before: int,
        count: int,
        trials: Sequence[Trial],
        blocks: int,
    ) -> None:
        """`count` launches more, after those `before` in this turn."""
        if not trials:
            return
        self._store.progress.step(
            f"trying winners as users call them: {counted(len(trials), 'comparison')}, "
            f"{counted(count, 'launch')}"
        )
        seed = self._plan.seed + _SEEDS * (self._turns + 1) + before
        cases = dict.fromkeys(side for trial in trials for side in trial.sides())
        blocks = min(blocks, self._plan.blocks)
        plan = msgspec.structs.replace(self._plan, seed=seed, blocks=blocks, cases=tuple(cases))
        series = Series(self._store, suite, plan, environment, self._placement)
        series.advance(count)
        store = self._store
        times = {
            _key(sample.case): dict(zip(sample.runs, sample.ns, strict=True))
            for sample in runs.launch_samples(store.db, store.campaign, [suite.name], use=None)
        }
        wrong = {
            _key(case): f"{check.outcome}: {check.detail}" if check.detail else check.outcome
            for run in runs.listing(store.db, store.campaign, [suite.name])
            for case, check in runs.checks(store.db, store.campaign, suite.name, run.sequence)
            if check.outcome != "ok"
        }
        wrong |= {
            _key(case): refused.reason
            for case, refused in runs.refusals(store.db, store.campaign, [suite.name])
            if _key(case) not in times
        }
        for trial in trials:
            ours, theirs = trial.sides()
            if ours in series.dropped:
                reasons[trial] = "launches failed with it under way"
            for side in (ours, theirs):
                if (key := _key_of(side, self._plan.data)) in wrong:
                    reasons.setdefault(trial, f"{wrong[key]} (at {trial.target.bytes} B)")
            mine = times.get(_key_of(ours, self._plan.data), {})
            default = times.get(_key_of(theirs, self._plan.data), {})
            logs.setdefault(trial, {}).update(
                (run, estimators.pairs(np.maximum(mine[run], 1), np.maximum(default[run], 1)))
                for run in mine
                if run in default
            )

    # --- what is kept ---------------------------------------------------------------------------

    def _judged(
        self,
        winner: Winner,
        rows: Sequence[HypothesisState[Trial]],
        held: Sequence[int],
        beyond: Collection[int],
    ) -> tuple[list[Winner], list[tuple[Winner, str]], list[tuple[Winner, str]]]:
        """The pieces of a winner that hold, those that do not, and those of the first that hold
        under a condition; it may take the sizes `beyond` its range where they need none."""
        by_size: dict[int, list[HypothesisState[Trial]]] = {}
        for row in rows:
            by_size.setdefault(row.hypothesis.key.target.bytes, []).append(row)
        obstacles = {size: self._obstacle(_of(by_size[size], foreign=False)) for size in held}
        narrower = {size: self._obstacle(_of(by_size[size], foreign=True)) for size in held}
        whole = winner.bytes_to == UNBOUNDED_BYTES
        if whole:
            obstacles = dict.fromkeys(held, next(filter(None, obstacles.values()), ""))
            narrower = dict.fromkeys(held, next(filter(None, narrower.values()), ""))
        kept: list[Winner] = []
        refused: list[tuple[Winner, str]] = []
        narrowed: list[tuple[Winner, str]] = []
        for sizes, why, narrow in _runs_of(held, obstacles, narrower):
            piece = winner if whole or len(sizes) == len(held) else _piece(winner, sizes)
            if why:
                refused.append((piece, why))
                continue
            if not any(size in sizes for size in self._sizes[winner.function]):
                refused.append((piece, "no measured size is left of it, which could be confirmed"))
                continue
            low, high = sizes[0], sizes[-1]
            if narrow:
                piece = with_condition(piece, condition(winner, self._settings))
            elif not whole:
                below = sorted((size for size in by_size if size < held[0]), reverse=True)
                above = sorted(size for size in by_size if size > held[-1])
                low = _extended(low, held[0], below, beyond)
                high = _extended(high, held[-1], above, beyond)
            inside = [row for size in by_size if low <= size <= high for row in by_size[size]]
            piece = msgspec.structs.replace(
                piece,
                bytes_from=min(piece.bytes_from, low),
                bytes_to=max(piece.bytes_to, high),
                tried=self._tried(_of(inside, foreign=False) if narrow else inside),
            )
            kept.append(piece)
            if narrow:
                narrowed.append((piece, narrow))
        return kept, refused, narrowed

    def _obstacle(self, rows: Sequence[HypothesisState[Trial]]) -> str:
        """Why a size is lost; empty where it is held in all circumstances. What a variant cannot do
        there the library does."""
        for row in rows:
            trial = row.hypothesis.key
            if row.comparison is None:
                if row.reason.startswith("unsupported"):
                    continue
                return row.reason
            where = f"at {trial.target.bytes} B ({trial.where.label(self._settings)})"
            if row.word != "holds":
                low, high = row.comparison.low or 0, row.comparison.high or math.inf
                what = "slower" if row.word == "violated" else "perhaps slower"
                return f"{what} {where}: {row.comparison.ratio:.2f} [{low:.2f}, {high:.2f}]"
        return ""

    def _tried(self, rows: Sequence[HypothesisState[Trial]]) -> list[Tried]:
        found: dict[Circumstance, list[HypothesisState[Trial]]] = {}
        for row in rows:
            if row.comparison is not None:
                found.setdefault(row.hypothesis.key.where, []).append(row)
        binding = "user" if self._placement is not None else self._store.starter.placement.bind
        tried = []
        for where, those in found.items():
            comparisons = [row.comparison for row in those if row.comparison]
            logs = [math.log(comparison.ratio) for comparison in comparisons]
            # Of the mean: errors of sizes are their own.
            halves = [
                math.log((comparison.high or math.inf) / comparison.ratio)
                for comparison in comparisons
            ]
            mean, half = sum(logs) / len(logs), math.hypot(*halves) / len(logs)
            tried.append(
                Tried(
                    use=where.use or self._settings.way.use or self._settings.start_scheme,
                    type=where.data.type,
                    op=where.data.op,
                    binding=binding,
                    cells=len(those),
                    speedup=math.exp(-mean),
                    speedup_low=math.exp(-mean - half),
                    worst_low=min(1 / (comparison.high or math.inf) for comparison in comparisons),
                )
            )
        return tried


def _is_known(winner: Winner, known: Winner) -> bool:
    """Whether it, or more, was accepted."""
    return is_part(winner, known) and set(conditions(known)) <= set(conditions(winner))


def _calls_any(winner: Winner, knobs: Sequence[Winner]) -> bool:
    """Whether a variant of ours makes calls that some of the `knobs` are about."""
    if winner.variant == LIBRARY or not knobs:
        return False
    about = {knob.function for knob in knobs}
    made = calls(winner.function, winner.variant)
    return made is None or EVERY_FUNCTION in about or not about.isdisjoint(made)


def _of(rows: Sequence[HypothesisState[Trial]], *, foreign: bool) -> list[HypothesisState[Trial]]:
    return [row for row in rows if row.hypothesis.key.foreign == foreign]


def candidate_of(winner: Winner) -> Candidate:
    return Candidate(winner.variant, Configuration.of(winner.configuration))


def _judge_together(
    rows: Sequence[HypothesisState[Trial]],
    logs: Mapping[Trial, Mapping[int, float]],
    confidence: float,
) -> None:
    """What stays undecided size by size: the sizes of a winner in one circumstance, launch by
    launch. They hold if their mean does, but for one whose own ratio is above the limit, or may be
    above twice the tolerance."""
    groups: dict[tuple[int, Circumstance], list[HypothesisState[Trial]]] = {}
    for row in rows:
        trial = row.hypothesis.key
        if row.word == "undecided" and row.comparison is not None and not trial.beyond:
            groups.setdefault((trial.winner, trial.where), []).append(row)
    for group in groups.values():
        times = [logs[row.hypothesis.key] for row in group]
        launches = sorted(set[int]().union(*times))
        means = [
            sum(known) / len(known)
            for launch in launches
            if (known := [time[launch] for time in times if launch in time])
        ]
        joint = paired_ratio(means, confidence)
        for row in group:
            limit = row.hypothesis.limit
            if joint.high is None or joint.high > limit or row.comparison is None:
                continue
            if may_hold_together(row.comparison, limit):
                row.word = "holds"


def may_hold_together(own: Comparison, limit: float) -> bool:
    """Whether the other sizes of its winner may speak for a size that is undecided."""
    return own.high is not None and own.ratio <= limit and own.high <= 2 * limit - 1


def _hopeless(
    trials: Sequence[Trial], logs: Mapping[Trial, Mapping[int, float]], settings: Settings
) -> dict[_Part, str]:
    """Sizes of winners that are given up after the first look, with the reason: in some
    circumstance all launches so far say so."""
    found: dict[_Part, str] = {}
    for trial in trials:
        least = min(logs.get(trial, {}).values(), default=-math.inf)
        if least > (0.0 if trial.beyond else _MUCH):
            found.setdefault(
                trial.part,
                f"slower at {trial.target.bytes} B ({trial.where.label(settings)}): "
                f"{math.exp(least):.2f} at least in {counted(len(logs[trial]), 'launch')}",
            )
    return found


def _shared_out(rows: Sequence[HypothesisState[Trial]], winners: int) -> list[set[int]]:
    """Of each winner the sizes beyond its range at which it is clearly faster everywhere; where
    several are, the fastest has it."""
    cells: dict[tuple[int, Target], list[HypothesisState[Trial]]] = {}
    for row in rows:
        trial = row.hypothesis.key
        if trial.beyond:
            cells.setdefault(trial.size, []).append(row)
    best: dict[Target, tuple[float, int]] = {}
    for (winner, target), cell in cells.items():
        found = [row.comparison for row in cell]
        if all(
            comparison is not None and comparison.high is not None and comparison.high < 1
            for comparison in found
        ):
            logs = [math.log(comparison.ratio) for comparison in found if comparison is not None]
            mine = (sum(logs) / len(logs), winner)
            best[target] = min(mine, best.get(target, mine))
    taken: list[set[int]] = [set() for _ in range(winners)]
    for target, (_, winner) in best.items():
        taken[winner].add(target.bytes)
    return taken


def _extended(end: int, edge: int, outwards: Sequence[int], taken: Collection[int]) -> int:
    """How far a piece that ends at `end` goes on, if that is an `edge` of the range: over sizes
    that follow each other `outwards`."""
    if end != edge:
        return end
    for size in outwards:
        if size not in taken:
            break
        end = size
    return end


# Function, bytes, variant, knobs, use, type, operator: what tells the cases of a launch apart.
_Key = tuple[str, int, str, Configuration, str, str, str]


def _key(case: Case) -> _Key:
    knobs = Configuration.of(case.knobs)
    return (case.function, case.bytes, case.variant, knobs, case.use, case.type, case.op)


def _key_of(case: PlanCase, data: Data) -> _Key:
    data = case.data or data
    return (
        case.function,
        case.bytes,
        case.variant,
        case.configuration,
        case.use,
        data.type,
        data.op,
    )


def _evidence(
    asked: frozenset[Trial],
    logs: Mapping[Trial, Mapping[int, float]],
    reasons: Mapping[Trial, str],
    trial: Trial,
) -> Sequence[float] | str | None:
    if trial not in asked:
        return None
    if trial in reasons:
        return reasons[trial]
    return list(logs[trial].values()) or "no launch has both sides"


def _runs_of(
    sizes: Sequence[int], obstacles: Mapping[int, str], narrower: Mapping[int, str]
) -> list[tuple[list[int], str, str]]:
    """Neighbouring sizes that are kept together, lost together, or kept together under a condition,
    with the first reason of each."""
    found: list[tuple[list[int], str, str]] = []
    for size in sizes:
        why = obstacles[size]
        narrow = "" if why else narrower[size]
        if found and [bool(one) for one in found[-1][1:]] == [bool(why), bool(narrow)]:
            found[-1][0].append(size)
        else:
            found.append(([size], why, narrow))
    return found


def _piece(winner: Winner, sizes: Sequence[int]) -> Winner:
    """Of a winner, with what it removes there."""
    inside = [
        name for name in winner.removes if sizes[0] <= int(name.rpartition("@")[2]) <= sizes[-1]
    ]
    return msgspec.structs.replace(winner, bytes_from=sizes[0], bytes_to=sizes[-1], removes=inside)
