"""The launches of a reproducibility experiment, and what they say.

Everything is stored as launches of a campaign row for each number of ranks, in suites of their own:
`pilot`, `effects`, `trial-000` …, `plain-each`, `plain-series`, `plain-skampi`. An experiment is a
deterministic function of its settings and those launches, so the same command goes on where one was
interrupted.

Trials follow each other, as whole experiments of other days would; beside each runs one launch of
every plain scheme. Inside a trial the numbers of ranks take turns: a machine has states that last
for seconds, and launches of one cell that follow at once would all meet the same."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.starter import Starter
from plumbline.measure.comparison import of_round
from plumbline.measure.launches import LaunchStore, Progress
from plumbline.measure.settling import until_settled
from plumbline.reproducibility import effects
from plumbline.reproducibility.settings import Cell, ReproducibilitySettings
from plumbline.settings import campaign_file, identity, starting
from plumbline.settings.toolchain import Toolchain
from plumbline.system.machine import processing_units
from plumbline.system.placement import here
from plumbline.verify.index import ESTIMATORS
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.records import Campaign, Suite

# The budget never stops before so many trials: a spread of fewer is hardly informative.
LEAST_TRIALS = 3
PILOTS = 3
# The planted delay is computed from the medians of so many previous launches.
RECENT = 5

Samples = NDArray[np.int64]


class RanksUnderTest(msgspec.Struct, frozen=True):
    """The parts of an experiment that belong to one number of ranks."""

    nprocs: int
    campaign: Campaign
    store: LaunchStore

    @property
    def ranks_per_core(self) -> int:
        return -(-self.nprocs // processing_units())


class Seconds(msgspec.Struct, frozen=True):
    """Wall time of launches: all of our trials, all plain launches by scheme, effects and pilot."""

    ours: float
    plain: dict[str, float]
    effects: float


class ExperimentOutcome(msgspec.Struct, frozen=True):
    """`comparisons` by estimator, without decisions. `missing`: cells that could not be measured,
    and why."""

    spreads: list[effects.CellSpread]
    trials: int
    comparisons: dict[str, list[effects.EffectComparison]]
    seconds: Seconds
    missing: list[str]


def begin(
    db: Database,
    toolchain: Toolchain,
    settings: ReproducibilitySettings,
    progress: Progress | None = None,
    *,
    new: bool,
) -> list[RanksUnderTest]:
    """One for each number of ranks: rows of an earlier run of these settings, unless `new`."""
    ranks = []
    for nprocs in settings.nprocs:
        placement = here(nprocs, processing_units())
        asked = identity.Identity(settings.text(nprocs), placement, "r")
        row = identity.enter(db, toolchain, asked, new=new)
        store = LaunchStore(db, row.id, _starter(toolchain, settings, nprocs), progress)
        ranks.append(RanksUnderTest(nprocs, row, store))
    return ranks


def launches_in_all(settings: ReproducibilitySettings) -> int:
    """Return how many there are at most; a budget may end the trials earlier."""
    effect = settings.effect_launches + (PILOTS if settings.effect_launches else 0)
    trial = settings.launches + len(effects.PLAIN)
    return len(settings.nprocs) * (effect + settings.trials * trial)


class Experiment:
    """One experiment under way."""

    def __init__(self, ranks: Sequence[RanksUnderTest], settings: ReproducibilitySettings) -> None:
        self._ranks = ranks
        self._settings = settings
        self._missing: dict[str, None] = {}

    def run(self) -> ExperimentOutcome:
        """To the end. Raises PlumblineError when launches fail again and again."""
        compared, effect_seconds = self._effects()
        spreads, trials, own_seconds, plain = self._spreads()
        for rank in self._ranks:
            if rank.campaign.state != "finished":
                identity.finish(rank.store.db, rank.campaign)
        seconds = Seconds(own_seconds, plain, effect_seconds)
        return ExperimentOutcome(spreads, trials, compared, seconds, list(self._missing))

    # --- effects --------------------------------------------------------------------------------

    def _effects(self) -> tuple[dict[str, list[effects.EffectComparison]], float]:
        if not self._settings.effect_launches:
            return {name: [] for name in ESTIMATORS}, 0.0
        before = self._spent()
        series = [_Effects(rank, self._settings) for rank in self._ranks]
        for number in range(PILOTS):
            for time in series:
                time.rank.store.progress.step(
                    f"pilot {number + 1} of {PILOTS}, {time.rank.nprocs} ranks"
                )
                time.pilot(number)
        for number in range(self._settings.effect_launches):
            for time in series:
                time.rank.store.progress.step(
                    f"planted effects, launch {number + 1} of {self._settings.effect_launches}, "
                    f"{time.rank.nprocs} ranks"
                )
                time.launch(number)
        compared: dict[str, list[effects.EffectComparison]] = {name: [] for name in ESTIMATORS}
        for time in series:
            for name in ESTIMATORS:
                compared[name] += time.comparisons(name)
            self._missing |= dict.fromkeys(time.missing())
        return compared, self._spent() - before

    # --- spread ---------------------------------------------------------------------------------

    def _spreads(self) -> tuple[list[effects.CellSpread], int, float, dict[str, float]]:
        plain = {name: 0.0 for name in effects.PLAIN}
        own_seconds = longest = 0.0
        trials = [_Trials(rank, self._settings) for rank in self._ranks]
        done = 0
        while done < self._settings.trials and not (done >= LEAST_TRIALS and self._spend(longest)):
            start = self._spent()
            for trial in trials:
                trial.begin(done)
                trial.rank.store.progress.step(f"trial {done + 1} of {self._settings.trials}")
                for name in effects.PLAIN:
                    plain[name] += trial.plain(name, done)
            for number in range(self._settings.launches):
                for trial in trials:
                    own_seconds += trial.ours(done, number)
            longest = max(longest, self._spent() - start)
            done += 1
        for trial in trials:
            self._missing |= dict.fromkeys(trial.missing())
        return [cell for trial in trials for cell in trial.spreads()], done, own_seconds, plain

    def _spend(self, seconds: float) -> bool:
        """Return whether another `seconds` go beyond the budget."""
        limit = self._settings.budget_seconds
        return limit > 0 and self._spent() + seconds > limit

    def _spent(self) -> float:
        return sum(rank.store.spent_seconds for rank in self._ranks)


class _Series:
    """Launches of one suite until as many have finished as are wanted; failed ones are passed by.
    What was measured stays in the database and is read launch by launch."""

    def __init__(self, store: LaunchStore, suite: Suite) -> None:
        self._store = store
        self._suite = suite
        self._sequence = 0

    def next(self, plan: Plan) -> dict[int, list[Samples]]:
        """Samples of one more launch of `plan`, by case number."""
        failures = 0
        while True:
            sequence = self._sequence
            self._sequence += 1
            named = msgspec.structs.replace(plan, name=self._suite.launch(sequence))
            outcome = self._store.launch(self._suite, sequence, named, {})
            failure = outcome.run.failure
            if failure is None:
                return runs.by_case(
                    self._store.db, self._store.campaign, self._suite.name, sequence
                )
            failures += not outcome.stored
            if failures == 3:
                blame = ""
                if failure.case is not None:
                    case = plan.cases[failure.case]
                    blame = (
                        f"{case.function} with {case.bytes} bytes was under way: leave it out with "
                        "--functions or --sizes. "
                    )
                raise PlumblineError(
                    f"three launches of {self._suite.name} failed, the last one: "
                    f"{failure.text}\n"
                    f"{outcome.run.stderr[-1500:].strip()}\n{blame}"
                    f"`{command_name()} doctor` tries the steps one by one; "
                    "the same command goes on"
                )


class _Effects:
    """Cells, each a second time, and slowed, in the same launches."""

    def __init__(self, rank: RanksUnderTest, settings: ReproducibilitySettings) -> None:
        self.rank = rank
        self._settings = settings
        self._cells = settings.effect_cells(rank.nprocs)
        self._pilots = _Series(rank.store, Suite("pilot"))
        self._launches = _Series(rank.store, Suite("effects"))
        self._recent: list[deque[float]] = [deque(maxlen=RECENT) for _ in self._cells]
        self._medians: list[list[float]] = [[] for _ in self._cells]
        # by estimator, cell and effect (0: the second time): log ratios, one a launch
        self._ratios: dict[tuple[str, int, float], list[float]] = {}

    def pilot(self, number: int) -> None:
        seed = self._settings.seed + 2_000_000 + number
        listed = [PlanCase(*cell) for cell in self._cells]
        times_by_case = self._pilots.next(_plan(self._settings, seed, listed))
        for index, blocks in times_by_case.items():
            self._recent[index].append(float(np.median(np.concatenate(blocks))))

    def launch(self, number: int) -> None:
        planted = (0.0, *self._settings.effects)
        kinds = 1 + len(planted)  # itself, itself again, the effects
        listed = []
        for cell, recent in zip(self._cells, self._recent, strict=True):
            base = float(np.median(recent)) if recent else 0.0
            listed.append(PlanCase(*cell))
            for effect in planted:
                delay = effects.delay_ns(base, effect, self.rank.ranks_per_core) if effect else 0
                listed.append(PlanCase(*cell, delay_ns=delay))
        seed = self._settings.seed + 1_000_000 + number
        times_by_case = self._launches.next(_plan(self._settings, seed, listed))
        for index in range(len(self._cells)):
            numbers = range(kinds * index, kinds * index + kinds)
            if not all(number in times_by_case for number in numbers):
                continue
            # The shortest calls may be too short for a timer: less than one nanosecond.
            itself, *others = (
                np.maximum(np.concatenate(times_by_case[number]), 1) for number in numbers
            )
            median = float(np.median(itself))
            self._recent[index].append(median)
            self._medians[index].append(median)
            for name, estimator in ESTIMATORS.items():
                for effect, times in zip(planted, others, strict=True):
                    row = self._ratios.setdefault((name, index, effect), [])
                    row.append(estimator(times, itself))

    def comparisons(self, estimator: str) -> list[effects.EffectComparison]:
        return [
            effects.EffectComparison(
                function=self._cells[index][0],
                nprocs=self.rank.nprocs,
                bytes=self._cells[index][1],
                effect=effect,
                seconds=1e-9 * float(np.median(self._medians[index])),
                log_ratios=ratios,
            )
            for (name, index, effect), ratios in self._ratios.items()
            if name == estimator
        ]

    def missing(self) -> list[str]:
        return _missing(self._cells, [bool(medians) for medians in self._medians], self.rank.nprocs)


class _Trials:
    """Whole experiments of ours, and beside each of them one launch of every plain scheme."""

    def __init__(self, rank: RanksUnderTest, settings: ReproducibilitySettings) -> None:
        self.rank = rank
        self._settings = settings
        self._cells = settings.spread_cells(rank.nprocs)
        self._plain = {
            name: _Series(rank.store, Suite("plain", step=name)) for name in effects.PLAIN
        }
        self._reported: dict[str, list[dict[int, float]]] = {name: [] for name in effects.PLAIN}
        self._ours: list[list[dict[int, float]]] = []
        self._series: _Series

    def begin(self, trial: int) -> None:
        self._series = _Series(self.rank.store, Suite("trial", step=f"{trial:03d}"))
        self._ours.append([])

    def plain(self, scheme: str, trial: int) -> float:
        """One launch; returns its seconds."""
        before = self.rank.store.spent_seconds
        is_skampi = scheme == "skampi"
        seed = self._settings.seed + trial
        plan = self._as_skampi(seed) if is_skampi else self._as_programs(scheme, seed)
        # Programs have a mean of each rank, and print the mean of these (and extremes).
        report = effects.skampi_result if is_skampi else np.mean
        self._reported[scheme].append(
            {
                index: float(report(1e-9 * blocks[0]))
                for index, blocks in self._plain[scheme].next(plan).items()
            }
        )
        return self.rank.store.spent_seconds - before

    def _as_programs(self, scheme: str, seed: int) -> Plan:
        listed = [
            PlanCase(function, size, reps=effects.plain_repetitions(size))
            for function, size in self._cells
        ]
        return Plan("", seed, tuple(listed), blocks=1, warmup=0, rewarm=0, plain=scheme)

    def _as_skampi(self, seed: int) -> Plan:
        """One block of repetitions, started by windows, or by barriers where ranks share cores and
        could not start in time."""
        listed = [PlanCase(*cell, reps=effects.SKAMPI_MOST) for cell in self._cells]
        return Plan(
            "",
            seed,
            tuple(listed),
            blocks=1,
            warmup=effects.SKAMPI_WARMUP,
            rewarm=0,
            sync="window" if self.rank.ranks_per_core == 1 else "barrier",
            clock_sync="skampi",
        )

    def ours(self, trial: int, number: int) -> float:
        """One launch of the trial that has begun; returns its seconds."""
        before = self.rank.store.spent_seconds
        listed = [PlanCase(*cell) for cell in self._cells]
        plan = of_round(_plan(self._settings, self._settings.seed, listed), trial + 1, number)
        times_by_case = self._series.next(plan)
        self._ours[-1].append(
            {i: 1e-9 * float(np.median(np.concatenate(b))) for i, b in times_by_case.items()}
        )
        return self.rank.store.spent_seconds - before

    def spreads(self) -> list[effects.CellSpread]:
        return [
            effects.spread_of_cell(
                function,
                self.rank.nprocs,
                size,
                [[launch[index] for launch in trial] for trial in self._ours],
                {name: [row[index] for row in rows] for name, rows in self._reported.items()},
            )
            for index, (function, size) in enumerate(self._cells)
            if self._whole(index)
        ]

    def missing(self) -> list[str]:
        whole = [self._whole(index) for index in range(len(self._cells))]
        return _missing(self._cells, whole, self.rank.nprocs)

    def _whole(self, index: int) -> bool:
        """Measured everywhere, with times that can be compared."""
        rows = [row for trial in self._ours for row in trial]
        rows += [row for reported in self._reported.values() for row in reported]
        return all(row.get(index, 0.0) > 0 for row in rows)


def _plan(settings: ReproducibilitySettings, seed: int, listed: Sequence[PlanCase]) -> Plan:
    plan = Plan(
        "",
        seed,
        tuple(listed),
        blocks=settings.blocks,
        reps=settings.reps,
        warmup=settings.warmup,
        rewarm=settings.rewarm,
    )
    return until_settled(plan, simulated=False)


def _missing(cells: Sequence[Cell], whole: Sequence[bool], nprocs: int) -> list[str]:
    return [
        f"{function}, {size} bytes, {nprocs} ranks: its result is wrong, or the library refuses it"
        for (function, size), good in zip(cells, whole, strict=True)
        if not good
    ]


def _starter(toolchain: Toolchain, settings: ReproducibilitySettings, nprocs: int) -> Starter:
    options: Mapping[str, object] = {
        "nprocs": nprocs,
        "launch_timeout_seconds": settings.launch_timeout_seconds,
    }
    return starting.starter(toolchain, campaign_file.load(None, options))
