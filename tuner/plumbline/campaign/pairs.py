"""Pairs of cold launches: one with the exported files in force, one of the library as it is, and so
on in turn; and what they say about each cell, tuned over default."""

from __future__ import annotations

import math
import statistics as numbers
from collections.abc import Mapping, Sequence

import msgspec

from plumbline.core.plan import PlanCase
from plumbline.measure import tables
from plumbline.measure.launches import Laboratory, Series
from plumbline.search.candidates import DEFAULT, Candidate
from plumbline.search.outcome import holds
from plumbline.search.race import Target, index
from plumbline.settings import Settings
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner

REFERENCE_CELLS = 10


class Pairs:
    """All pairs so far. `ratios`: per pair, log(tuned / default) of each cell, without the factor
    that a launch shares; `beside`: per tuned launch, log(variant / the library's own call in the
    same launch) of the cells that our variants hold, which says far more about these; `lost`: cells
    that give no (or a wrong) result with the files in force, and did without. `anchors`, which no
    exported file changes, are measured on both sides where winners leave few cells untouched."""

    def __init__(
        self,
        lab: Laboratory,
        settings: Settings,
        environment: Mapping[str, str],
        winners: Sequence[Winner],
        anchors: Sequence[PlanCase] = (),
    ) -> None:
        self.ratios: dict[Target, list[float]] = {}
        self.beside: dict[Target, list[float]] = {}
        self.lost: list[Target] = []
        self._lab = lab
        self._settings = settings
        self._environment = environment
        self._winners = winners
        self._anchors = anchors

    def add(
        self,
        suite: Suite,
        count: int,
        left: Sequence[PlanCase],
        more: Sequence[PlanCase] = (),
        *,
        seed: int,
    ) -> set[Target]:
        """`count` pairs of the cells `left`; the tuned launches, those of `suite`, measure `more`
        as well. Returns the cells that they have ratios of."""
        # A variant of ours has the library's own call (PMPI_) beside it in the same launches.
        beside = [
            msgspec.structs.replace(case, variant="library")
            for case in left
            if any(
                winner.variant != "default" and holds(winner, target_of(case))
                for winner in self._winners
            )
        ]
        touched = {winner.function for winner in self._winners}
        seen = sum(case.function not in touched for case in left)
        needed = seen < REFERENCE_CELLS and EVERY_FUNCTION not in touched
        anchors = list(self._anchors) if needed else []
        cases = list(dict.fromkeys([*left, *more, *beside, *anchors]))
        tuned = self._series(suite, cases, seed, self._environment)
        plain = self._series(suite.beside(), [*left, *anchors], seed, {})
        for _ in range(count):
            tuned.advance()
            plain.advance()
        lab = self._lab
        ours = index(runs.medians(lab.db, lab.campaign, [suite.name]))
        theirs = index(runs.medians(lab.db, lab.campaign, [suite.beside().name]))
        cells = [target_of(case) for case in left]
        measured, lost = cold_ratios(ours, theirs, cells, self._winners)
        self.lost += lost
        for cell, logs in measured.items():
            self.ratios.setdefault(cell, []).extend(logs)
        for cell, logs in self._beside(suite.name).items():
            self.beside.setdefault(cell, []).extend(logs)
        return {cell for cell, logs in measured.items() if logs}

    def _series(
        self, suite: Suite, cases: Sequence[PlanCase], seed: int, environment: Mapping[str, str]
    ) -> Series:
        plan = msgspec.structs.replace(tables.plan(self._settings, cases), seed=seed)
        return Series(self._lab, suite, plan, environment)

    def _beside(self, suite: str) -> dict[Target, list[float]]:
        lab = self._lab
        found: dict[str, dict[Target, dict[int, float]]] = {"default": {}, "library": {}}
        for median in runs.medians(lab.db, lab.campaign, [suite]):
            if median.case.variant in found and not median.case.ranks:
                target = Target(median.case.function, median.case.bytes)
                found[median.case.variant][target] = dict(
                    zip(median.runs, median.seconds, strict=True)
                )
        return {
            target: [
                math.log(found["default"][target][run] / seconds)
                for run, seconds in library.items()
                if run in found["default"][target]
            ]
            for target, library in found["library"].items()
            if found["default"].get(target)
        }


def _logs(ours: Mapping[int, float], theirs: Mapping[int, float]) -> list[float]:
    pairs = zip(ours.values(), theirs.values(), strict=True)
    return [math.log(mine / other) for mine, other in pairs]


Seconds = Mapping[tuple[Target, Candidate], Mapping[int, float]]


def log_ratios(
    tuned: Seconds, plain: Seconds, cells: Sequence[Target]
) -> tuple[dict[Target, list[float]], list[Target]]:
    """Log ratios of the cells that every launch of both sides has measured, pair by pair; and the
    cells that are missing, wholly or in part, only with the files in force."""
    pairs = max((len(plain.get((cell, DEFAULT), ())) for cell in cells), default=0)
    found: dict[Target, list[float]] = {}
    lost: list[Target] = []
    for cell in cells:
        ours, theirs = tuned.get((cell, DEFAULT), {}), plain.get((cell, DEFAULT), {})
        if len(theirs) < pairs:
            continue
        if len(ours) < pairs:
            lost.append(cell)
            continue
        found[cell] = _logs(ours, theirs)
    return found, lost


def cold_ratios(
    tuned: Seconds, plain: Seconds, cells: Sequence[Target], winners: Sequence[Winner]
) -> tuple[dict[Target, list[float]], list[Target]]:
    """The same without the factor that the launches of a pair differ by; `winners` are in force in
    the tuned ones. Anchors are the variants of ours that both sides have measured."""
    found, lost = log_ratios(tuned, plain, cells)
    pairs = max((len(logs) for logs in found.values()), default=0)
    both = [(tuned.get(key, {}), times) for key, times in plain.items() if key[1] != DEFAULT]
    anchors = [_logs(*sides) for sides in both if {len(side) for side in sides} == {pairs}]
    return without_launch_factor(found, winners, anchors), lost


def untouched(left: Sequence[PlanCase], winners: Sequence[Winner]) -> list[PlanCase]:
    """Some cells of functions that no winner touches, by which launches are told apart."""
    touched = {winner.function for winner in winners}
    cells = [case for case in left if touched.isdisjoint((case.function, EVERY_FUNCTION))]
    return cells[:: max(1, len(cells) // (2 * REFERENCE_CELLS))]


def without_launch_factor(
    ratios: Mapping[Target, Sequence[float]],
    winners: Sequence[Winner],
    anchors: Sequence[Sequence[float]] = (),
) -> dict[Target, list[float]]:
    """Two launches differ by a factor that all their cells share (placement, drift). It is seen in
    the functions that no winner touches, and in `anchors`: the median of their log ratios, pair by
    pair, is taken off. With fewer than REFERENCE_CELLS of both the ratios stay as they are; so they
    do where a winner is about the process as a whole, as it touches everything."""
    touched = {winner.function for winner in winners}
    if EVERY_FUNCTION in touched:
        return {cell: list(logs) for cell, logs in ratios.items()}
    reference = [logs for cell, logs in ratios.items() if cell.function not in touched and logs]
    reference += anchors
    if len(reference) < REFERENCE_CELLS:
        return {cell: list(logs) for cell, logs in ratios.items()}
    factors = [numbers.median(pair) for pair in zip(*reference, strict=True)]
    return {
        cell: [log - factor for log, factor in zip(logs, factors, strict=True)]
        for cell, logs in ratios.items()
    }


def target_of(case: PlanCase) -> Target:
    return Target(case.function, case.bytes)
