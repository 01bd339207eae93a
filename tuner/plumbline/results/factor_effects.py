"""The effects of experimental factors on one function (Hunold and
Carpen-Amarie, TPDS 2016, section 4): launches of the base and of each level take turns in shuffled
order. A turn is the replicate, because ranks that are
started again differ: levels that need no start visit ranks that are started once a turn, as a
launch of the base does; the others start ranks of their own, as another launch of the base does.
Each level is a row of the database, as `compare --measure` has one for each side, so that other
libraries, flags and governors are levels like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from plumbline.core.plan import Plan, PlanCase, measurable
from plumbline.measure import factors, tables
from plumbline.measure.comparison import Arm, NextLook, Turns, looks
from plumbline.measure.launches import LaunchStore, Progress, Silent
from plumbline.results import sides
from plumbline.results.compare import How
from plumbline.results.compared_now import (
    NamedSide,
    Regression,
    RegressionClaim,
    StartableSide,
    regressions,
    undecided,
)
from plumbline.results.comparison_files import words_of
from plumbline.results.factor_levels import FACTORS, Base, Level
from plumbline.results.report import OF_FACTORS
from plumbline.results.sample_figures import Samples
from plumbline.settings import building, identity
from plumbline.settings.toolchain import Toolchain
from plumbline.system import paths
from plumbline.system.words import counted
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.layout import FACTORS as COMMAND
from plumbline_db.records import Campaign, Event, Suite

BASE = "base"
_AT_BASE = Level(BASE, BASE)

LevelVerdict = Literal["matters", "idle", "undecided", "no result"]
_OF_CELLS: tuple[tuple[LevelVerdict, tuple[str, ...]], ...] = (
    ("matters", ("slower", "faster")),
    ("no result", ("lost", "only in B")),
    ("undecided", ("not shown",)),
)


class FactorQuestion(msgspec.Struct, frozen=True):
    """The question of an experiment: what each of the `levels` changes in the run time of
    `function` at `sizes` (bytes), against the base."""

    function: str
    sizes: list[int]
    levels: list[Level]
    claim: RegressionClaim


class _AskedFactors(msgspec.Struct, frozen=True):
    """The settings of a row. `number`: of its level, from 1 (0: the base); `experiment`: the row
    of the base, of all others."""

    command: str
    question: FactorQuestion
    settings: dict[str, Any]
    number: int = 0
    experiment: str = ""


class LevelEffect(msgspec.Struct, frozen=True):
    """The effect of a level. `matters`: at some size it is slower or faster; `idle`: at no size is
    there an effect of the tolerance or more. `recorded`: what the probe has read that differs from
    the base; `reason`: why there is no result."""

    level: Level
    verdict: LevelVerdict
    cells: list[Regression]
    recorded: list[str]
    reason: str = ""

    @property
    def text(self) -> str:
        """Return a sentence about the level: `cache=overwrite: slower by 41.0 % [38.0, 44.1] at
        4096 B, …`."""
        if self.reason:
            return f"{self.level.text}: {self.reason}"
        cells = ", ".join(f"{words(cell)} at {cell.cell.bytes} B" for cell in self.cells)
        return f"{self.level.text}: {cells}"


def words(cell: Regression) -> str:
    """Return the change of a cell in words: `slower by 12.3 % [9.1, 15.4]`."""
    return "no result" if cell.verdict in ("lost", "only in B") else words_of(cell)


class FactorExperiment(msgspec.Struct, frozen=True):
    """`base`: the level of each factor that all others are compared with; `order`: the level of
    each launch, or `base`, in the order of time."""

    experiment: str
    function: str
    nprocs: int
    started: str
    base: dict[str, str]
    claim: RegressionClaim
    levels: list[LevelEffect]
    campaigns: list[str]
    order: list[str]


def startable(level: Level, base: StartableSide, folder: Path) -> StartableSide:
    """Return what starts launches of a level; `folder`: that of the database. Builds the probe
    where the level asks for other flags. Raises UsageError and PlumblineError for a level that
    cannot be started."""
    toolchain = None if level.library else base.toolchain
    if level.flags:
        probe = _probe_with(level.flags, base.toolchain)
        toolchain = msgspec.structs.replace(base.toolchain, probe=probe)
    name = NamedSide(
        level.text, Path(level.library) if level.library else base.name.prefix, level.variables
    )
    return StartableSide(name, base.settings.but(**level.settings), folder, toolchain)


def measure(
    db: Database,
    base: StartableSide,
    question: FactorQuestion,
    progress: Progress | None = None,
    *,
    new: bool,
) -> FactorExperiment:
    """Measure until each cell of each level is decided, or the design ends; launches that are
    stored are not started again, unless `new`. Raises UsageError for what cannot be measured,
    before a launch."""
    experiment = _Experiment(db, base, question, progress or Silent(), new=new)
    return experiment.run()


class _Contender(NamedTuple):
    """The base or a level, which takes turns. `suite`: its launches of the first look."""

    level: Level
    suite: Suite
    side: StartableSide
    store: LaunchStore


class _Experiment:
    """An experiment under way. The ranks of `_kept` stay alive for a turn."""

    def __init__(
        self,
        db: Database,
        base: StartableSide,
        question: FactorQuestion,
        progress: Progress,
        *,
        new: bool,
    ) -> None:
        self._db, self._base, self._question = db, base, question
        self._progress = progress
        settings = base.settings
        sizes = measurable(
            question.function, question.sizes, settings.ranks.nprocs, settings.cases.data
        )
        self._cases = [PlanCase(question.function, size) for size in sizes]
        if not self._cases:
            raise UsageError(f"--sizes: none of them is a size of {question.function}")
        if any(level.flags for level in question.levels):
            progress.step("building the probe with other flags")
        folder = Path(db.path).parent
        self._kept = StartableSide(base.name, settings, folder, base.toolchain)
        sides_of_levels = [
            startable(level, base, folder) if level.needs_start else self._kept
            for level in question.levels
        ]
        plain = msgspec.structs.replace(tables.plan(settings, self._cases), name=COMMAND)
        for level, side in zip(question.levels, sides_of_levels, strict=True):
            plan = _with(level, plain)
            side.starter.require(plan.text(), f"the level {level.text}")
        self._rows: list[Campaign] = []
        for number, side in enumerate([base, *sides_of_levels]):
            asked = _AskedFactors(
                COMMAND,
                question,
                identity.document(settings),
                number,
                self._rows[0].id if number else "",
            )
            text = msgspec.json.encode(asked).decode()
            asked_here = identity.Identity(text, side.starter.placement, "f")
            self._rows.append(identity.enter(db, side.toolchain, asked_here, new=new))
        self._bases = {
            needs_start: self._contender(self._rows[0], _AT_BASE, _base_suite(needs_start), side)
            for needs_start, side in ((True, base), (False, self._kept))
        }
        self._levels = [
            self._contender(row, level, _suite(number), side)
            for number, (row, level, side) in enumerate(
                zip(self._rows[1:], question.levels, sides_of_levels, strict=True), 1
            )
        ]

    def _contender(
        self, row: Campaign, level: Level, suite: Suite, side: StartableSide
    ) -> _Contender:
        store = LaunchStore(self._db, row.id, side.starter, self._progress)
        return _Contender(level, suite, side, store)

    def run(self) -> FactorExperiment:
        effects: list[LevelEffect] = []
        for look in looks(self._question.claim.design):
            open_levels, cases = self._levels, self._cases
            if effects:
                open_cells = [undecided(effect.cells) for effect in effects]
                open_levels = [
                    level for level, cells in zip(open_levels, open_cells, strict=True) if cells
                ]
                sizes = {line.cell.bytes for lines in open_cells for line in lines}
                cases = [case for case in cases if case.bytes in sizes]
            if not open_levels:
                break
            self._progress.step(
                f"{counted(len(open_levels), 'level')} of "
                f"{counted(len({it.level.factor for it in open_levels}), 'factor')} and the "
                f"base, {look.launches} launches of each in turn"
            )
            kinds = {contender.level.needs_start for contender in open_levels}
            self._take(look, [*(self._bases[kind] for kind in sorted(kinds)), *open_levels], cases)
            effects = _effects(self._db, self._rows, self._question)
        return self._ended(effects)

    def _take(
        self, look: NextLook, contenders: Sequence[_Contender], cases: Sequence[PlanCase]
    ) -> None:
        """Launch the contenders in shuffled turns, the ranks of a turn that stay alive once."""
        import numpy as np

        settings, first = self._base.settings, contenders[0]
        plan = look.plan(tables.plan(settings, cases))
        plan = first.store.filled(look.suite(first.suite), plan)
        arms = [
            Arm(
                look.suite(contender.suite),
                _with(contender.level, plan),
                contender.side.environment,
                on_trial=contender.level is not _AT_BASE,
            )
            for contender in contenders
        ]
        stores = {arm.suite: it.store for arm, it in zip(arms, contenders, strict=True)}
        turns = Turns(first.store, arms, stores)
        chance = np.random.default_rng([settings.sampling.seed, look.number])
        for _ in range(look.launches):
            with self._kept.starter.keeping_ranks():
                for place in chance.permutation(len(arms)).tolist():
                    with contenders[place].level.beside():
                        turns.take([arms[place]])

    def _ended(self, effects: list[LevelEffect]) -> FactorExperiment:
        first = self._rows[0]
        for effect in effects:
            event = Event(
                time=identity.now(),
                kind=f"{OF_FACTORS}{effect.verdict}",
                text=effect.text,
                function=self._question.function,
            )
            campaigns.put_event(self._db, first.id, event)
        for row in self._rows:
            if row.state != "finished":
                identity.finish(self._db, row)
        base = Base(self._base.settings, self._base.toolchain)
        return FactorExperiment(
            experiment=first.id,
            function=self._question.function,
            nprocs=first.nprocs,
            started=first.started,
            base={
                level.factor: FACTORS[level.factor].base(base)
                for level in self._question.levels
                if level.factor in FACTORS
            },
            claim=self._question.claim,
            levels=effects,
            campaigns=[row.id for row in self._rows],
            order=self._order(),
        )

    def _order(self) -> list[str]:
        names = [BASE, *(level.text for level in self._question.levels)]
        launches = [
            (run.started, name)
            for row, name in zip(self._rows, names, strict=True)
            for run in runs.listing(self._db, row.id)
        ]
        return [name for _, name in sorted(launches)]


def _with(level: Level, plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, **level.plan)


def _suite(number: int) -> Suite:
    return Suite(COMMAND, arm=f"level{number}")


def _base_suite(needs_start: bool) -> Suite:
    return Suite(COMMAND, arm=BASE if needs_start else f"{BASE}-alive")


def _effects(db: Database, rows: Sequence[Campaign], question: FactorQuestion) -> list[LevelEffect]:
    """Return the effects by all launches so far. The error is shared by the levels, so that the
    intervals of all cells of all levels are true together."""
    claim = msgspec.structs.replace(question.claim, alpha=question.claim.alpha / (len(rows) - 1))
    return [
        _effect(db, rows[0], row, claim, (number, level))
        for number, (row, level) in enumerate(zip(rows[1:], question.levels, strict=True), 1)
    ]


def _effect(
    db: Database,
    base: Campaign,
    row: Campaign,
    claim: RegressionClaim,
    numbered: tuple[int, Level],
) -> LevelEffect:
    number, level = numbered
    suites = (_base_suite(level.needs_start), _suite(number))
    counts = [_finished(db, of, suite) for of, suite in zip((base, row), suites, strict=True)]
    shared_looks = [look for look in counts[1] if counts[0].get(look) == counts[1][look]]
    if not shared_looks or len(shared_looks) < len(counts[1]):
        failed = [run.reason for run in runs.listing(db, row.id) if not run.finished]
        return LevelEffect(level, "no result", [], [], (failed or ["no launch has finished"])[-1])
    try:
        a, b = (
            sides.of_suites(db, text, of, [suite.at(look).name for look in shared_looks])
            for text, of, suite in zip((BASE, level.text), (base, row), suites, strict=True)
        )
    except UsageError as error:  # no launch has a time
        return LevelEffect(level, "no result", [], [], str(error))
    cells = sorted(regressions(a, b, claim, How()), key=lambda line: line.cell.bytes)
    verdicts = {line.verdict for line in cells}
    verdict: LevelVerdict = next(
        (name for name, words in _OF_CELLS if verdicts.intersection(words)), "idle"
    )
    recorded = factors.differences(
        [(BASE, a.launches[0].header), (level.text, b.launches[0].header)]
    )
    return LevelEffect(
        level,
        verdict,
        cells,
        [
            f"{difference.factor}: {' → '.join(value for value, _ in difference.values)}"
            for difference in recorded
        ],
    )


def _finished(db: Database, row: Campaign, first: Suite) -> dict[int, int]:
    """Return the number of finished launches of an arm, by look."""
    look_of = {
        name: suite.look for name, suite in runs.suites(db, row.id).items() if suite.at(1) == first
    }
    counts: dict[int, int] = {}
    for run in runs.listing(db, row.id, list(look_of)):
        look = look_of[run.suite]
        counts[look] = counts.get(look, 0) + run.finished
    return counts


def _probe_with(flags: str, toolchain: Toolchain) -> Path:
    """Return the probe that is compiled with `flags`, for the same library and of the same sources
    as the usual one. Raises PlumblineError where it cannot be built."""
    mpicc = toolchain.installation.mpicc
    if mpicc is None:
        raise PlumblineError(f"flags={flags}: the library has no mpicc to build the probe with")
    digest = hashlib.sha256(toolchain.probe.read_bytes() + flags.encode()).hexdigest()[:16]
    own = paths.state_folder() / "factors" / digest
    probe = own / paths.build_id(toolchain.installation.library) / "probe"
    if not probe.is_file():
        layout = msgspec.structs.replace(paths.layout(), own=own)
        building.build(layout, mpicc, {"CFLAGS": flags})
    return probe


def samples(
    db: Database, experiment: FactorExperiment
) -> dict[str, dict[int, dict[str, list[Samples]]]]:
    """Return the run times of each launch, in nanoseconds, by factor, size in bytes and level. The
    base comes first; sizes are in order. Raises PlumblineError where they were thrown away."""
    first = experiment.campaigns[0]
    bases = {kind: _times(db, first, _base_suite(kind)) for kind in (True, False)}
    factors_by_name: dict[str, dict[int, dict[str, list[Samples]]]] = {}
    for number, effect in enumerate(experiment.levels, 1):
        level, row = effect.level, experiment.campaigns[number]
        sizes = factors_by_name.setdefault(level.factor, {})
        name_of_base = experiment.base.get(level.factor, "not set")
        for name, times in (
            (f"{level.factor} {name_of_base} ({BASE})", bases[level.needs_start]),
            (level.text, _times(db, row, _suite(number))),
        ):
            for size, launches in sorted(times.items()):
                sizes.setdefault(size, {}).setdefault(name, launches)
    return factors_by_name


def _times(db: Database, row: str, first: Suite) -> dict[int, list[Samples]]:
    looks_of = [name for name, suite in runs.suites(db, row).items() if suite.at(1) == first]
    return {
        sample.case.bytes: [ns for ns in sample.ns if len(ns)]
        for sample in runs.launch_samples(db, row, looks_of)
        if any(map(len, sample.ns))
    }


# --- document -------------------------------------------------------------------------------------


def verdict_of(line: Regression) -> LevelVerdict:
    return next((name for name, words in _OF_CELLS if line.verdict in words), "idle")


def document(experiment: FactorExperiment) -> dict[str, Any]:
    """Return the fields of `plumbline reproducibility factors --json` (docs/measurement.md)."""
    whole: dict[str, Any] = msgspec.to_builtins(experiment)
    whole["levels"] = [
        {
            "factor": effect.level.factor,
            "level": effect.level.name,
            "verdict": effect.verdict,
            "reason": effect.reason,
            "recorded": effect.recorded,
            "ranks": "own" if effect.level.needs_start else "shared",
            "text": effect.text,
            "cells": [
                {"bytes": line.cell.bytes, "verdict": verdict_of(line)}
                | {
                    name: msgspec.to_builtins(getattr(line, name))
                    for name in ("change", "low", "high", "pairs", "look")
                }
                | {BASE: msgspec.to_builtins(line.a), "of_level": msgspec.to_builtins(line.b)}
                for line in effect.cells
            ],
        }
        for effect in experiment.levels
    ]
    return whole
