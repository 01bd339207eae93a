"""Pairs of cold launches: one with the exported files in force, one of the library as it is, and so
on in turn; and what they say about each cell, tuned over default."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from plumbline.core.plan import PlanCase
from plumbline.measure import tables
from plumbline.measure.experiment import (
    REFERENCE_CELLS,
    Arm,
    enough_of,
    log_ratios,
    take_turns,
    without_shared_factor,
)
from plumbline.measure.launches import LaunchStore
from plumbline.search.outcome import holds
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.cells import Target, index
from plumbline.settings import Settings
from plumbline.verify.statistics import Comparison, slower
from plumbline_db import runs
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner


class Pairs:
    """All pairs so far. `ratios`: per pair, log(tuned / default) of each cell, without the factor
    that a launch shares; `beside`: per tuned launch, log(variant / the library's own call in the
    same launch) of the cells that our variants hold, which says far more about these; `lost`: cells
    that give no (or a wrong) result with the files in force, and did without. `reference_cases`,
    which no exported file changes, are measured on both sides where winners leave few cells
    untouched."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        environment: Mapping[str, str],
        winners: Sequence[Winner],
        reference_cases: Sequence[PlanCase] = (),
    ) -> None:
        self.ratios: dict[Target, list[float]] = {}
        self.beside: dict[Target, list[float]] = {}
        self.lost: list[Target] = []
        self.store = store
        self.settings = settings
        self._environment = environment
        self.winners = winners
        self._reference_cases = reference_cases

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
                for winner in self.winners
            )
        ]
        seen = sum(not _touches(self.winners, target_of(case)) for case in left)
        whole = [winner for winner in self.winners if winner.function == EVERY_FUNCTION]
        reference_cases = [
            case
            for case in self._reference_cases
            if seen < REFERENCE_CELLS and not _touches(whole, target_of(case))
        ]
        cases = list(dict.fromkeys([*left, *more, *beside, *reference_cases]))
        store = self.store
        plan = msgspec.structs.replace(tables.until_sure(self.settings, cases), seed=seed)
        # The calls of a longer row are faster: both sides repeat theirs as often.
        plan = store.filled(suite, plan)
        tuned = Arm(suite, plan, self._environment)
        plan = msgspec.structs.replace(plan, cases=(*left, *reference_cases))
        plain = Arm(suite.beside(), plan)
        take_turns(store, [tuned, plain], count)
        ours = index(runs.medians(store.db, store.campaign, [suite.name]))
        theirs = index(runs.medians(store.db, store.campaign, [suite.beside().name]))
        cells = [target_of(case) for case in left]
        measured, lost = cold_ratios(ours, theirs, cells, self.winners)
        self.lost += lost
        for cell, logs in measured.items():
            self.ratios.setdefault(cell, []).extend(logs)
        for cell, logs in self._beside(suite.name).items():
            self.beside.setdefault(cell, []).extend(logs)
        return {cell for cell, logs in measured.items() if logs}

    def _beside(self, suite: str) -> dict[Target, list[float]]:
        store = self.store
        found: dict[str, dict[Target, dict[int, float]]] = {"default": {}, "library": {}}
        for median in runs.medians(store.db, store.campaign, [suite]):
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


Seconds = Mapping[tuple[Target, Candidate], Mapping[int, float]]


def cold_ratios(
    tuned: Seconds, plain: Seconds, cells: Sequence[Target], winners: Sequence[Winner]
) -> tuple[dict[Target, list[float]], list[Target]]:
    """Log ratios of the cells that every launch of both sides has measured, pair by pair, without
    the factor that the launches of a pair differ by; and the cells that are missing, wholly or in
    part, only in the `tuned` launches, in which `winners` are in force. Reference cases are the
    variants of ours that both sides have measured."""
    ours, theirs = _in_order(tuned), _in_order(plain)
    defaults = [(cell, DEFAULT) for cell in cells]
    pairs = max((len(theirs.get(key, ())) for key in defaults), default=0)
    found, lost = log_ratios(ours, theirs, defaults, pairs)
    of_ours = [key for key in theirs if key[1] != DEFAULT]
    reference_cases, _ = log_ratios(ours, theirs, of_ours, pairs)
    ratios = {cell: logs for (cell, _), logs in found.items()}
    kept = without_launch_factor(ratios, winners, list(reference_cases.values()))
    return kept, [cell for cell, _ in lost]


def _in_order(seconds: Seconds) -> dict[tuple[Target, Candidate], list[float]]:
    return {key: list(times.values()) for key, times in seconds.items()}


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


def without_launch_factor(
    ratios: Mapping[Target, Sequence[float]],
    winners: Sequence[Winner],
    reference_cases: Sequence[Sequence[float]] = (),
) -> dict[Target, list[float]]:
    """Two launches differ by a factor that all their cells share (placement, drift). It is seen in
    the cells that no winner touches, and in `reference_cases`: the median of their log ratios, pair
    by pair, is taken off. With fewer than REFERENCE_CELLS of both the ratios stay as they are."""
    reference = [logs for cell, logs in ratios.items() if logs and not _touches(winners, cell)]
    return without_shared_factor(ratios, [*reference, *reference_cases])


def target_of(case: PlanCase) -> Target:
    return Target(case.function, case.bytes)


def slower_cells(
    ratios: Mapping[Target, Sequence[float]], settings: Settings
) -> dict[Target, Comparison]:
    """Cells that are slower than before by more than the tolerance, after correction for the number
    of cells (Benjamini-Hochberg)."""
    judge = tables.judge_of(settings)
    return slower(ratios, 1 + settings.claims.tolerance, settings.claims.alpha, judge)


def told(comparison: Comparison) -> str:
    """Return a ratio with its interval, for people."""
    return f"{comparison.ratio:.2f} [{comparison.low or 0:.2f}, {comparison.high or 0:.2f}]"
