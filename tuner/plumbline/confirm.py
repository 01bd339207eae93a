"""Confirmation: the whole table again, cold, with the exported files in force, in launches that
alternate with launches of the library as it is. What comes out slower loses its place."""

from __future__ import annotations

import math
import statistics as numbers
from collections.abc import Collection, Mapping, Sequence

import msgspec

from plumbline import tables
from plumbline.guidelines import Guidelines
from plumbline.measure import Laboratory, Series
from plumbline.plan import PlanCase
from plumbline.search.candidates import DEFAULT
from plumbline.search.outcome import deciding, holds
from plumbline.search.race import Target, index
from plumbline.settings import Settings
from plumbline.verify.statistics import Comparison, benjamini_hochberg, paired_ratio
from plumbline_db import runs
from plumbline_db.records import Verdict, Winner

REFERENCE_CELLS = 10


class Confirmation(msgspec.Struct, frozen=True):
    """`winners` with their cold speed-ups; `dropped` with the reason; `verdicts` of the table."""

    winners: list[Winner]
    dropped: list[tuple[Winner, str]]
    verdicts: list[Verdict]


def confirm(
    lab: Laboratory,
    suite: str,
    stage: str,
    guidelines: Guidelines,
    settings: Settings,
    environment: Mapping[str, str],
    winners: Sequence[Winner],
) -> Confirmation:
    """`environment` puts the exported files in force."""
    all_cases = tables.cases(guidelines, settings)
    left = [case for case in all_cases if case.variant == "default"]
    # A variant of ours has the library's own call (PMPI_) beside it in the same launches.
    beside = [
        msgspec.structs.replace(case, variant="library")
        for case in left
        if any(one.variant != "default" and holds(one, target_of(case)) for one in winners)
    ]
    tuned = Series(lab, suite, tables.plan(settings, all_cases + beside), environment)
    plain = Series(lab, f"{suite}-default", tables.plan(settings, left), {})
    for _ in range(settings.launches):
        tuned.advance()
        plain.advance()
    verdicts = tables.judge(lab, stage, guidelines, settings, [suite])
    measured, lost = _cold_ratios(lab, suite, left)
    ratios = without_launch_factor(measured, winners)
    harm = slower_cells(ratios, settings)
    if harm:
        harm = _seen_again(lab, suite, settings, environment, winners, left, harm)
    built_on = {
        pattern.lhs: {
            used for other in guidelines.patterns if other.lhs == pattern.lhs for used in other.uses
        }
        for pattern in guidelines.patterns
    }
    kept, dropped = judge_winners(
        winners, ratios, harm, verdicts, built_on, lost, _beside(lab, suite)
    )
    return Confirmation(winners=kept, dropped=dropped, verdicts=verdicts)


def _seen_again(
    lab: Laboratory,
    suite: str,
    settings: Settings,
    environment: Mapping[str, str],
    winners: Sequence[Winner],
    left: Sequence[PlanCase],
    harm: Mapping[Target, Comparison],
) -> dict[Target, Comparison]:
    """What is slower again in as many fresh pairs of launches. Cells of one launch share its luck,
    so one pass finds whole groups by chance; chance does not find the same group twice."""
    touched = {winner.function for winner in winners}
    reference = [case for case in left if case.function not in touched]
    reference = reference[:: max(1, len(reference) // (2 * REFERENCE_CELLS))]
    suspects = [case for case in left if Target(case.function, case.bytes) in harm]
    cases = list(dict.fromkeys(suspects + reference))
    lab.progress.step(f"{len(suspects)} cells seem slower than before; measuring them again")
    again = f"{suite}-again"
    plan = tables.plan(settings, cases)
    tuned = Series(lab, again, plan, environment)
    plain = Series(lab, f"{again}-default", plan, {})
    for _ in range(settings.launches):
        tuned.advance()
        plain.advance()
    measured, _ = _cold_ratios(lab, again, cases)
    ratios = without_launch_factor(measured, winners)
    found = slower_cells({cell: ratios[cell] for cell in harm if cell in ratios}, settings)
    return {cell: one for cell, one in found.items() if one.low is None or one.low > 1}


def without_launch_factor(
    ratios: Mapping[Target, Sequence[float]], winners: Sequence[Winner]
) -> dict[Target, list[float]]:
    """Two launches differ by a factor that all their cells share (placement, drift). It is seen in
    the functions that no winner touches: the median of their log ratios, pair by pair, is taken
    off. With fewer than REFERENCE_CELLS such cells the ratios stay as they are."""
    touched = {winner.function for winner in winners}
    reference = [logs for cell, logs in ratios.items() if cell.function not in touched and logs]
    if len(reference) < REFERENCE_CELLS:
        return {cell: list(logs) for cell, logs in ratios.items()}
    factors = [numbers.median(pair) for pair in zip(*reference, strict=True)]
    return {
        cell: [log - factor for log, factor in zip(logs, factors, strict=True)]
        for cell, logs in ratios.items()
    }


def judge_winners(
    winners: Sequence[Winner],
    ratios: Mapping[Target, Sequence[float]],
    slower: Mapping[Target, Comparison],
    verdicts: Sequence[Verdict],
    built_on: Mapping[str, Collection[str]],
    lost: Collection[Target] = (),
    beside: Mapping[Target, Sequence[float]] | None = None,
) -> tuple[list[Winner], list[tuple[Winner, str]]]:
    """Keeps a winner if its cells are not slower than the default's in cold launches, and it is
    significantly faster over them, or no slower and what it was chosen for holds.

    `ratios`: per pair of launches, log(tuned / default) of each cell; `slower`: the cells that are
    slower than before; `built_on`: which functions a library may build a function on; `lost`: cells
    that give no (or a wrong) result with the files in force, and did without; `beside`: per launch,
    log(variant / the library's own call in the same launch) of the cells that our variants hold,
    which says far more about these than `ratios` between launches."""
    cells = [target for target, logs in ratios.items() if logs]
    held, violated = named(verdicts, "holds"), named(verdicts, "violated")
    kept: list[Winner] = []
    dropped: list[tuple[Winner, str]] = []
    for winner in winners:
        gone_wrong = [one for one in lost if _reaches(winner, one, built_on)]
        if gone_wrong:
            where = ", ".join(f"{one.function} at {one.bytes} B" for one in sorted(gone_wrong))
            dropped.append((winner, f"no right result with it in force: {where}"))
            continue
        inside = [one for one in cells if deciding(winners, one) is winner]
        hurt = [one for one in inside if one in slower]
        if hurt:
            worst = max(hurt, key=lambda one: slower[one].ratio)
            dropped.append(
                (winner, f"slower at {worst.bytes} B: {_text(slower[worst])} times the default")
            )
            continue
        paired = beside or {}
        by_launch = winner.variant != "default" and all(one in paired for one in inside)
        speed = _over(inside, paired if by_launch else ratios)
        if speed is None:
            dropped.append((winner, "no pair of launches has its cells"))
            continue
        faster = speed.high is not None and speed.high < 1
        cured = any((winner.function, name) in held for name in winner.removes)
        if not faster and not (cured and speed.ratio <= 1):
            dropped.append((winner, f"no gain is left cold: {_text(speed)} times the default"))
            continue
        kept.append(
            msgspec.structs.replace(
                winner,
                speedup=1 / speed.ratio,
                speedup_low=1 / speed.high if speed.high else 1 / speed.ratio,
                speedup_high=1 / speed.low if speed.low else 1 / speed.ratio,
                removes=[n for n in winner.removes if (winner.function, n) not in violated],
            )
        )
    for cell in sorted(slower):
        if any(holds(winner, cell) for winner in winners):
            continue
        blamed = [winner for winner in kept if _reaches(winner, cell, built_on)]
        why = f"{cell.function} at {cell.bytes} B became slower: {_text(slower[cell])}"
        kept = [winner for winner in kept if winner not in blamed]
        dropped += [(winner, why) for winner in blamed]
    return kept, dropped


def _reaches(winner: Winner, cell: Target, built_on: Mapping[str, Collection[str]]) -> bool:
    """Whether a winner can change what happens in a cell: its own, or, for a knob, a cell of a
    function that the library may build on the tuned one (a variant of ours reaches no other)."""
    if holds(winner, cell):
        return True
    return (
        winner.variant == "default"
        and winner.function in built_on.get(cell.function, ())
        and winner.bytes_from <= cell.bytes <= winner.bytes_to
    )


def named(verdicts: Sequence[Verdict], word: str) -> set[tuple[str, str]]:
    """Cells with this verdict as winners name them: the function, and `GUIDELINE@BYTES`."""
    return {
        (one.function, f"{one.guideline}@{one.bytes}") for one in verdicts if one.verdict == word
    }


def slower_cells(
    ratios: Mapping[Target, Sequence[float]], settings: Settings
) -> dict[Target, Comparison]:
    """Cells that are slower than before: significant after correction for the number of cells
    (Benjamini-Hochberg), and by more than the tolerance."""
    cells = [target for target, logs in ratios.items() if logs]
    found = [paired_ratio(ratios[cell]) for cell in cells]
    adjusted = benjamini_hochberg([one.p for one in found])
    return {
        cell: comparison
        for cell, comparison, p in zip(cells, found, adjusted, strict=True)
        if p < settings.alpha and comparison.ratio > 1 + settings.tolerance
    }


def _cold_ratios(
    lab: Laboratory, suite: str, left: Sequence[PlanCase]
) -> tuple[dict[Target, list[float]], list[Target]]:
    """Log ratios of the cells that every launch of both sides has measured, pair by pair; and the
    cells that are missing, wholly or in part, only with the files in force."""
    tuned = index(runs.medians(lab.db, lab.campaign, [suite]))
    plain = index(runs.medians(lab.db, lab.campaign, [f"{suite}-default"]))
    cells = [(Target(case.function, case.bytes), DEFAULT) for case in left]
    pairs = max((len(plain.get(cell, ())) for cell in cells), default=0)
    found: dict[Target, list[float]] = {}
    lost: list[Target] = []
    for cell in cells:
        ours, theirs = tuned.get(cell, {}), plain.get(cell, {})
        if len(theirs) < pairs:
            continue
        if len(ours) < pairs:
            lost.append(cell[0])
            continue
        values = zip(ours.values(), theirs.values(), strict=True)
        found[cell[0]] = [math.log(mine / other) for mine, other in values]
    return found, lost


def _beside(lab: Laboratory, suite: str) -> dict[Target, list[float]]:
    found: dict[str, dict[Target, dict[int, float]]] = {"default": {}, "library": {}}
    for one in runs.medians(lab.db, lab.campaign, [suite]):
        if one.case.variant in found:
            target = Target(one.case.function, one.case.bytes)
            found[one.case.variant][target] = dict(zip(one.runs, one.seconds, strict=True))
    return {
        target: [
            math.log(found["default"][target][run] / seconds)
            for run, seconds in library.items()
            if run in found["default"][target]
        ]
        for target, library in found["library"].items()
        if found["default"].get(target)
    }


def target_of(case: PlanCase) -> Target:
    return Target(case.function, case.bytes)


def _over(cells: Sequence[Target], ratios: Mapping[Target, Sequence[float]]) -> Comparison | None:
    """Ratio over all cells of a winner: per pair of launches, the mean of the cells' log ratios."""
    if not cells:
        return None
    pairs = min(len(ratios[cell]) for cell in cells)
    return paired_ratio(
        [sum(ratios[cell][pair] for cell in cells) / len(cells) for pair in range(pairs)]
    )


def _text(comparison: Comparison) -> str:
    return f"{comparison.ratio:.2f} [{comparison.low or 0:.2f}, {comparison.high or 0:.2f}]"
