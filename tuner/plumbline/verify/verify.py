"""From medians to verdicts: makes the comparisons of all kinds, corrects for their number, judges.

The rule, its error rates and what they rest on are in docs/verification.md. Pure: no clock, file
or database.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from plumbline.guidelines import Guidelines
from plumbline.verify import statistics
from plumbline.verify.index import Index, Obstacle
from plumbline.verify.kinds import Candidate, Cell, all_kinds
from plumbline.verify.statistics import Comparison
from plumbline_db.records import Medians, Verdict

# Log ratios that differ by less are equal: a nanosecond in a millisecond.
SAME = 1e-6

Word = Literal["holds", "violated", "undecided"]


class VerifySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`alpha`: false discovery rate of the violations in a table. `tolerance`: the least slow-down
    that counts; a guideline may ask for more. `looks`: how many times the table is looked at in all
    while launches are added. `deterministic`: launches do not differ, the ratio alone decides."""

    alpha: float = 0.05
    tolerance: float = 0.05
    looks: int = 1
    min_launches: int = 6
    deterministic: bool = False

    def __post_init__(self) -> None:
        if not (0 < self.alpha < 1 and 0 <= self.tolerance < 1):
            raise ValueError(f"alpha {self.alpha} or tolerance {self.tolerance} is out of range")
        if self.looks < 1 or self.min_launches < 1:
            raise ValueError("looks and min_launches are at least 1")


class _Test(msgspec.Struct, frozen=True):
    """A candidate with what came of it: a comparison, or the reason why there is none."""

    candidate: Candidate
    comparison: Comparison | None
    obstacle: str = ""

    def p_in_cell(self, looks: int) -> float | None:
        if self.comparison is None:
            return None
        return min(1.0, self.comparison.p * self.candidate.weight * looks)


class _Judged(msgspec.Struct, frozen=True):
    test: _Test
    p_adjusted: float | None
    verdict: Word
    reason: str

    def suspicion(self) -> float:
        """The ratio; what could not be compared comes before all ratios."""
        comparison = self.test.comparison
        return comparison.ratio if comparison else math.inf


def verify(
    medians: Iterable[Medians],
    guidelines: Guidelines,
    *,
    stage: str,
    nprocs: int,
    ppn: int,
    suites: list[str],
    settings: VerifySettings | None = None,
    obstacles: Sequence[Obstacle] = (),
) -> list[Verdict]:
    """One verdict for each cell, kind by kind, in the order of the guidelines and of sizes.

    `medians` come from one campaign, so that equal launch numbers are the same launch. `obstacles`
    name planned sides that were not timed (a mock-up that failed its check)."""
    settings = settings or VerifySettings()
    index = Index(medians, obstacles)
    cells = [cell for kind in all_kinds() for cell in kind.cells(index, guidelines)]
    tests = [[_test(index, each, settings) for each in cell.candidates] for cell in cells]
    verdicts = []
    for cell, row, p in zip(cells, tests, _adjust(tests, settings), strict=True):
        judged = [_judge(*each, cell, settings) for each in zip(row, p, strict=True)]
        verdicts.append(_verdict(cell, _shown(judged), stage, nprocs, ppn, suites))
    return verdicts


def _test(index: Index, candidate: Candidate, settings: VerifySettings) -> _Test:
    for name, side in (("left", candidate.left), ("right", candidate.right)):
        reason = index.missing(side)
        if reason:
            return _Test(candidate, None, f"{name} side {side.variant}: {reason}")
    ratios, unusable = index.log_ratios(candidate.left, candidate.right, candidate.factor)
    if unusable:
        return _Test(candidate, None, f"{unusable} launches have times that are not positive")
    if not ratios:
        return _Test(candidate, None, "no launch has both sides")
    if settings.deterministic:
        return _deterministic(candidate, ratios)
    confidence = 1 - settings.alpha / settings.looks
    return _Test(candidate, statistics.paired_ratio(ratios, confidence))


def _deterministic(candidate: Candidate, log_ratios: list[float]) -> _Test:
    """The ratio of the first launch, which all others must repeat; there is nothing to test."""
    if max(log_ratios) - min(log_ratios) > SAME:
        return _Test(candidate, None, "launches differ, so the platform is not deterministic")
    ratio = math.exp(log_ratios[0])
    return _Test(candidate, Comparison(ratio, ratio, ratio, 1.0, len(log_ratios), ""))


def _adjust(tests: list[list[_Test]], settings: VerifySettings) -> list[list[float | None]]:
    """Adjusted p of every candidate: weighted Bonferroni inside a cell and over the looks, then
    Benjamini-Hochberg over the cells. Nothing to adjust on a deterministic platform."""
    if settings.deterministic:
        return [[None for _ in row] for row in tests]
    raw = [[test.p_in_cell(settings.looks) for test in row] for row in tests]
    family = [min(known) for row in raw if (known := [p for p in row if p is not None])]
    flat = [p for row in raw for p in row if p is not None]
    adjusted = iter(statistics.adjusted_within(flat, family).tolist())
    return [[None if p is None else next(adjusted) for p in row] for row in raw]


def _judge(test: _Test, p_adjusted: float | None, cell: Cell, settings: VerifySettings) -> _Judged:
    """Violated: significant, and slower by more than the tolerance. Holds: the interval ends within
    the tolerance. Else undecided, with the reason."""

    def judged(verdict: Word, reason: str = "") -> _Judged:
        return _Judged(test, p_adjusted, verdict, reason)

    found, limit = test.comparison, 1 + max(settings.tolerance, cell.tolerance)
    if found is None:
        return judged("undecided", test.obstacle)
    if settings.deterministic:
        return judged("violated" if found.ratio > limit else "holds")
    if p_adjusted is None:
        raise ValueError("a comparison without an adjusted p")
    if found.n < settings.min_launches:
        return judged("undecided", f"{found.n} launches, {settings.min_launches} are needed")
    if p_adjusted < settings.alpha and found.ratio > limit:
        return judged("violated")
    if found.high is None:
        return judged("undecided", found.reason)
    if found.high <= limit:
        return judged("holds")
    if found.ratio > limit:
        return judged("undecided", f"ratio {found.ratio:.3g}, but adjusted p is {p_adjusted:.2g}")
    return judged("undecided", f"the ratio may be as large as {found.high:.3g}")


def _shown(judged: list[_Judged]) -> _Judged:
    """What the cell shows: of the violated candidates, else of the undecided ones, else of all, the
    one with the largest ratio; at equal ratios the first."""
    violated = [each for each in judged if each.verdict == "violated"]
    undecided = [each for each in judged if each.verdict == "undecided"]
    return max(violated or undecided or judged, key=_Judged.suspicion)


def _verdict(
    cell: Cell, shown: _Judged, stage: str, nprocs: int, ppn: int, suites: list[str]
) -> Verdict:
    candidate, found = shown.test.candidate, shown.test.comparison
    return Verdict(
        stage=stage,
        guideline=cell.guideline,
        kind=cell.kind,
        function=cell.function,
        rhs=cell.rhs,
        nprocs=nprocs,
        ppn=ppn,
        bytes=cell.bytes,
        other_bytes=candidate.right.bytes,
        factor=candidate.factor,
        verdict=shown.verdict,
        ratio=found.ratio if found else None,
        ratio_low=found.low if found else None,
        ratio_high=found.high if found else None,
        p=found.p if found and shown.p_adjusted is not None else None,
        p_adjusted=shown.p_adjusted,
        launches=found.n if found else 0,
        reason=shown.reason,
        suites=suites,
    )
