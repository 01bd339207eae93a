"""Reasons why a guideline is violated, cell by cell: what the default does, as far as that is
known; what every candidate should take by the models, and took; how far default and winner are from
what no algorithm can do better. Read from the database alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import variant_name
from plumbline.core.winner import deciding
from plumbline.explain.basis import Basis, default_sends, read_basis
from plumbline.libraries import find_simulated, of_name, space_file
from plumbline.libraries.space import Space
from plumbline.model.names import Followed, followed
from plumbline.model.schedules import (
    Bound,
    Shape,
    bound,
    deviation,
    formula,
    hockney,
    loggp,
    middle_deviation,
)
from plumbline.results.report import Report
from plumbline.search.outcome import first_of, is_of, label
from plumbline.settings import Settings
from plumbline.settings.identity import settings_of
from plumbline.settings.toolchain import list_of
from plumbline.system import paths
from plumbline_db import table_samples
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Library, Search, Trial, Verdict, Winner

WITHIN = 0.03
"""The default's time coincides with a candidate's if it is no further away than this, and within
the candidate's interval."""
EXACT = 1e-4
"""The same on a simulated machine."""

Standards = Mapping[str, Mapping[str, int]]
"""By variant: the values of parameters that are not written."""


class Priced(msgspec.Struct, frozen=True):
    """A candidate of a cell: measured, and by the models. `seconds` is its ratio to the default in
    the search times the default's time; `off` is LogGP's prediction over `seconds`, less 1 (without
    gaps it is Hockney's). None: not measured, or no model."""

    configuration: str
    seconds: float | None
    ratio: float | None
    schedule: str | None
    formula: str | None
    source: str | None
    hockney_seconds: float | None
    loggp_seconds: float | None
    off: float | None


class Violated(msgspec.Struct, frozen=True):
    """A guideline that the default violates in the cell; `seconds` is the right side's time."""

    guideline: str
    kind: str
    rhs: str
    ratio: float
    seconds: float


class Won(msgspec.Struct, frozen=True):
    """`seconds` as seen in the search; `speedup` cold, over the sizes that the winner is for."""

    configuration: str
    seconds: float | None
    speedup: float
    speedup_low: float
    speedup_high: float


class Explained(msgspec.Struct, frozen=True):
    """A cell. `default_is`: candidates that take the default's time, the likeliest first, or
    (`told_by` "messages") the one that sends what the default sends. `floor`: the lower bound, with
    how many times longer default and winner take."""

    function: str
    nprocs: int
    bytes: int
    default_seconds: float
    violated: list[Violated]
    default_is: list[str]
    told_by: Literal["time", "messages"]
    winner: Won | None
    floor: Bound | None
    floor_seconds: float | None
    default_over_floor: float | None
    winner_over_floor: float | None
    candidates: list[Priced]


class Point(msgspec.Struct, frozen=True):
    """The default at one of the sizes that the table has, with the lower bound there."""

    function: str
    bytes: int
    default_seconds: float
    floor_seconds: float | None


class Explanation(msgspec.Struct, frozen=True):
    """`typical_factor`: by which factor half of the predictions are off, or more; `worst` likewise
    the most. `fastest_named`: in how many of `ranked` cells the candidate that the models take for
    the fastest is, or is within 5 % of, the fastest of those they have a word on."""

    basis: Basis | None
    cells: list[Explained]
    curves: list[Point]
    predictions: int
    typical_factor: float | None
    worst_factor: float | None
    ranked: int
    fastest_named: int


def read(db: Database, report: Report) -> Explanation:
    """Read it with the search space of the campaign's library, and what the probe knows of our
    variants."""
    space = space_file.for_library(paths.layout().search_spaces, report.library)
    if report.of_benchmarks():
        raise UsageError(
            f"{report.campaign.id} measured overlap, for which there are no cost models"
        )
    settings = settings_of(report.campaign.settings)
    return explain(db, report, space, _standards(report.library, settings))


def _standards(library: Library, settings: Settings) -> Standards:
    """Nothing where no probe is built here: then variants of ours have no model."""
    try:
        probe = paths.layout().probe(paths.build_id(library))
        if settings.ranks.simulate is None:
            listed = list_of(probe)
        else:
            from plumbline.launch import launcher_for

            _, installation = find_simulated(settings.ranks.simulate.library, Path(library.prefix))
            listed = list_of(probe, partial(launcher_for(settings.ranks.place).alone, installation))
    except PlumblineError:
        return {}
    return {
        variant.name: {each.name: each.standard for each in variant.parameters}
        for variant in listed.variants
    }


def explain(db: Database, report: Report, space: Space, standards: Standards) -> Explanation:
    """Every cell of the campaign that violates a guideline, or was searched."""
    family = of_name(report.library.family)
    basis = read_basis(db, report.campaign)
    settings = settings_of(report.campaign.settings)
    defaults = _defaults(db, report)
    searched = first_of(report.searches)
    violated: dict[Target, list[Verdict]] = {}
    for verdict in report.before:
        if verdict.verdict == "violated" and verdict.replaceable:
            violated.setdefault(Target(verdict.function, verdict.bytes), []).append(verdict)
    reader = _Cells(report, settings, space, standards, basis)
    default_by_cell = {
        target: default_sends(family, db, report.campaign.id, target, search.trials)
        for target, search in searched.items()
    }
    cells = [
        reader.cell(
            target,
            defaults[target],
            violated.get(target, []),
            searched.get(target),
            default_by_cell.get(target, (False, None)),
        )
        for target in sorted(violated.keys() | searched.keys())
        if target in defaults
    ]
    functions = {cell.function for cell in cells}
    curves = [
        Point(target.function, target.bytes, seconds, reader.floor_seconds(target))
        for target, seconds in sorted(defaults.items())
        if target.function in functions
    ]
    return _summed(basis, cells, curves)


class _Cells:
    def __init__(
        self,
        report: Report,
        settings: Settings,
        space: Space,
        standards: Standards,
        basis: Basis | None,
    ) -> None:
        self._report = report
        self._space = space
        self._standards = standards
        self._basis = basis
        self._data = settings.cases.data
        self._simulated = settings.ranks.simulate is not None

    def cell(
        self,
        target: Target,
        default: float,
        violated: Sequence[Verdict],
        search: Search | None,
        told: tuple[bool, Trial | None],
    ) -> Explained:
        trials = search.trials if search else []
        library_told, sends = told
        same = self._coincide(target, trials)
        if library_told:
            same = [] if sends is None else [label(sends.variant, sends.knobs)]
        winner = deciding(self._report.winners, target)
        won = None if winner is None else self._won(winner, trials, default)
        floor = self._floor(target)
        least = floor.seconds if floor else None
        tuned = won.seconds if won else None
        return Explained(
            function=target.function,
            nprocs=self._report.campaign.nprocs,
            bytes=target.bytes,
            default_seconds=default,
            violated=[
                Violated(
                    verdict.guideline,
                    verdict.kind,
                    verdict.rhs,
                    verdict.ratio,
                    default / verdict.ratio,
                )
                for verdict in violated
                if verdict.ratio
            ],
            default_is=same,
            told_by="messages" if library_told else "time",
            winner=won,
            floor=floor,
            floor_seconds=least,
            default_over_floor=default / least if least else None,
            winner_over_floor=tuned / least if tuned and least else None,
            candidates=[self._priced(target, trial, default) for trial in trials],
        )

    def _won(self, winner: Winner, trials: Sequence[Trial], default: float) -> Won:
        ratio = next(
            (trial.ratio for trial in trials if is_of(trial, winner) and trial.ratio), None
        )
        return Won(
            label(winner.variant, winner.configuration),
            default / winner.speedup if ratio is None else default * ratio,
            winner.speedup,
            winner.speedup_low,
            winner.speedup_high,
        )

    def _coincide(self, target: Target, trials: Sequence[Trial]) -> list[str]:
        """The library's algorithms that have a model, then those without (decisions of another
        library are one of its algorithms each), then variants of ours that have one."""
        near = []
        for trial in trials:
            has_model = self._followed(target, trial) is not None
            own = trial.variant == "default"
            if trial.ratio and self._same(trial) and (own or has_model):
                rank = (0 if has_model else 1) if own else 2
                near.append((rank, abs(math.log(trial.ratio)), label(trial.variant, trial.knobs)))
        return [name for *_, name in sorted(near)]

    def _same(self, trial: Trial) -> bool:
        if trial.ratio is None:
            return False
        if self._simulated:
            return abs(trial.ratio - 1) < EXACT
        low, high = trial.ratio_low, trial.ratio_high
        holds = low is None or high is None or low <= 1 <= high
        return holds and abs(trial.ratio - 1) <= WITHIN

    def floor_seconds(self, target: Target) -> float | None:
        floor = self._floor(target)
        return None if floor is None else floor.seconds

    def _floor(self, target: Target) -> Bound | None:
        if self._basis is None:
            return None
        return bound(target.function, self._shape(target), self._basis.network)

    def _shape(self, target: Target, of: Followed | None = None) -> Shape:
        """Return the shape with the volume in whole elements, as it is moved."""
        width = self._data.width(target.function)
        volume = -(-target.bytes // width) * width
        nprocs = self._report.campaign.nprocs
        return Shape(nprocs, volume) if of is None else of.shape(nprocs, volume)

    def _followed(self, target: Target, trial: Trial) -> Followed | None:
        name = variant_name(trial.variant)
        if trial.variant != "default" and name not in self._standards:
            return None
        standard = self._standards.get(name, {})
        return followed(self._space, target.function, trial.variant, trial.knobs, standard)

    def _priced(self, target: Target, trial: Trial, default: float) -> Priced:
        of = self._followed(target, trial)
        measured = None if trial.ratio is None else trial.ratio * default
        path = None if of is None else of.schedule.cost(self._shape(target, of))
        simple = fine = off = None
        if path is not None and self._basis is not None:
            simple = hockney(path, self._basis.network)
            fine = loggp(path, self._basis.network)
            off = None if measured is None else deviation(fine, measured)
        return Priced(
            configuration=label(trial.variant, trial.knobs),
            seconds=measured,
            ratio=trial.ratio,
            schedule=None if of is None else of.schedule.what,
            formula=None if path is None else formula(path),
            source=None if of is None else of.schedule.source,
            hockney_seconds=simple,
            loggp_seconds=fine,
            off=off,
        )


def _defaults(db: Database, report: Report) -> dict[Target, float]:
    """Seconds of the library as it is: medians over the launches of the table before."""
    return {
        Target(median.case.function, median.case.bytes): statistics.median(median.seconds)
        for median in table_samples.medians(db, report.campaign.id, report.before)
        if median.case.variant == "default"
        and not median.case.knobs
        and median.case.config == "default"
        and median.case.ranks == 0
    }


def _summed(basis: Basis | None, cells: list[Explained], curves: list[Point]) -> Explanation:
    off = [
        candidate.off
        for cell in cells
        for candidate in cell.candidates
        if candidate.off is not None
    ]
    ranked = named = 0
    for cell in cells:
        predicted = [
            (candidate.loggp_seconds, candidate.seconds)
            for candidate in cell.candidates
            if candidate.loggp_seconds is not None and candidate.seconds is not None
        ]
        if len(predicted) > 1:
            ranked += 1
            named += min(predicted)[1] <= 1.05 * min(seconds for _, seconds in predicted)
    return Explanation(
        basis=basis,
        cells=cells,
        curves=curves,
        predictions=len(off),
        typical_factor=middle_deviation(off),
        worst_factor=max((max(1 + error, 1 / (1 + error)) for error in off), default=None),
        ranked=ranked,
        fastest_named=named,
    )
