"""A family of tests, followed over the looks of a design until each is decided.

Every test asks whether a ratio is above a limit, and that is what its p says. It is violated when
it is significant in its family; it holds when the interval of the ratio ends within the limit; what
is neither is undecided and gets more launches. Which errors that makes:
docs/design/verification.md. Pure: no clock, file or database."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Literal, TypeVar

import msgspec

from plumbline.verify.design import Design
from plumbline.verify.limit import Compare, above
from plumbline.verify.statistics import Comparison, adjusted_within, paired_ratio

Word = Literal["holds", "violated", "undecided"]
Key = TypeVar("Key")

# What a look knows of a test: log ratios of all launches so far, one each; why there are none; or
# None: it has not been measured since it was looked at last.
Evidence = Sequence[float] | str | None


class Hypothesis(msgspec.Struct, Generic[Key], frozen=True):
    """One test: is the ratio of `key` above `limit`? `weight` multiplies its p inside its cell: the
    sum of 1/weight over a cell is at most 1 (weighted Bonferroni)."""

    key: Key
    limit: float
    weight: float = 1.0


class HypothesisState(msgspec.Struct, Generic[Key]):
    """What is known of a test. The p of `comparison` is that of the ratio being above the limit, by
    itself; `p` is its sequential p, which never grows from look to look, as a test of its cell;
    `look` is the last one that it was measured for."""

    hypothesis: Hypothesis[Key]
    word: Word = "undecided"
    comparison: Comparison | None = None
    p: float | None = None
    p_adjusted: float | None = None
    reason: str = ""
    look: int = 0

    def suspicion(self) -> float:
        """The ratio; what could not be compared comes before all ratios."""
        return self.comparison.ratio if self.comparison else math.inf


class HypothesisFamily(Generic[Key]):
    """Tests in cells: a cell is violated if one of its tests is, holds if all hold. A cell that is
    decided stays so. The family of the correction is the cells."""

    def __init__(
        self,
        cells: Iterable[Iterable[Hypothesis[Key]]],
        design: Design,
        *,
        alpha: float,
        min_launches: int = 1,
        compare: Compare = paired_ratio,
    ) -> None:
        self.cells = [[HypothesisState(hypothesis) for hypothesis in cell] for cell in cells]
        self._design = design
        self._alpha = alpha
        self._min_launches = min_launches
        self._test = compare
        self._look = 0

    def look(self, evidence: Callable[[Key], Evidence]) -> None:
        """The next look of the design, at all cells that are undecided."""
        if self._look >= self._design.looks:
            raise ValueError(f"the design has {self._design.looks} looks, this is one more")
        asked = [
            standing
            for cell in self.cells
            if _word(cell) == "undecided"
            for standing in cell
            if standing.word == "undecided" and self._compare(standing, evidence)
        ]
        self._adjust()
        for standing in asked:
            self._judge(standing)
        self._look += 1

    def open(self) -> list[HypothesisState[Key]]:
        """The tests that more launches may decide, in the order of the cells."""
        if self._look >= self._design.looks:
            return []
        return [
            standing
            for cell in self.cells
            if _word(cell) == "undecided"
            for standing in cell
            if standing.word == "undecided" and standing.comparison is not None
        ]

    def _compare(self, standing: HypothesisState[Key], evidence: Callable[[Key], Evidence]) -> bool:
        """Brings a test up to this look; whether there is anything new to judge."""
        known = evidence(standing.hypothesis.key)
        if known is None:
            return False
        standing.look = self._look
        if isinstance(known, str):
            standing.comparison, standing.reason = None, known
            return False
        confidence = self._design.confidence(self._look, self._alpha)
        found = above(known, standing.hypothesis.limit, confidence, self._test)
        p = self._design.sequential(found.p * standing.hypothesis.weight, self._look)
        standing.comparison = found
        standing.p = p if standing.p is None else min(p, standing.p)
        return True

    def _adjust(self) -> None:
        """Benjamini-Hochberg over the cells. As no p grows, no adjusted p does."""
        tested = [state for cell in self.cells for state in cell if state.p is not None]
        members = [
            min(known)
            for cell in self.cells
            if (known := [state.p for state in cell if state.p is not None])
        ]
        adjusted = adjusted_within([state.p or 0.0 for state in tested], members)
        for standing, p in zip(tested, adjusted.tolist(), strict=True):
            standing.p_adjusted = p

    def _judge(self, standing: HypothesisState[Key]) -> None:
        found, limit, p = standing.comparison, standing.hypothesis.limit, standing.p_adjusted
        if found is None or p is None:
            raise ValueError("a test without a comparison cannot be judged")
        if found.n < self._min_launches:
            standing.reason = f"{found.n} launches, {self._min_launches} are needed"
        elif p < self._alpha and found.ratio > limit:  # p may be that of an earlier look
            standing.word, standing.reason = "violated", ""
        elif found.high is None:
            standing.reason = found.reason
        elif found.high <= limit:
            standing.word, standing.reason = "holds", ""
        elif found.ratio > limit:
            standing.reason = f"ratio {found.ratio:.3g}, but adjusted p is {p:.2g}"
        else:
            standing.reason = f"the ratio may be as large as {found.high:.3g}"


def may_be_found(comparison: Comparison, limit: float, launches: int) -> bool:
    """Whether `launches` in all may still find the ratio above `limit`, which the last look found
    it to be, but not surely: not where it would have to grow by more than half of its interval.

    The interval shrinks with the root of the number of launches; the ratio of the others may lie
    anywhere in today's interval, seldom further than half-way to its end."""
    low, high = comparison.low, comparison.high
    if not low or not high:
        return True
    half = math.log(high / low) / 2
    then = half * math.sqrt(comparison.n / launches)
    return math.log(comparison.ratio) + half / 2 > math.log(limit) + then


def shown(cell: Sequence[HypothesisState[Key]]) -> HypothesisState[Key]:
    """What a cell shows: of the violated tests, else of the undecided ones, else of all, the one
    with the largest ratio; at equal ratios the first."""
    violated = [state for state in cell if state.word == "violated"]
    undecided = [state for state in cell if state.word == "undecided"]
    return max(violated or undecided or cell, key=lambda one: one.suspicion())


def _word(cell: Sequence[HypothesisState[Key]]) -> Word:
    words = {state.word for state in cell}
    if "violated" in words:
        return "violated"
    return "undecided" if "undecided" in words else "holds"
