"""A family of tests, followed over the looks of a design until each is decided.

Every test asks whether a ratio is above a limit, and that is what its p says. It is violated when
it is significant in its family; it holds when the interval of the ratio ends within the limit; what
is neither is undecided and gets more launches. Which errors that makes:
docs/design/verification.md. Pure: no clock, file or database."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Generic, Literal, TypeVar

import msgspec

from plumbline.verify.design import Design
from plumbline.verify.limit import Compare, Judge, above
from plumbline.verify.statistics import Comparison, adjusted_within, moderated

GIVEN_UP = 0.1  # a smaller chance to be found is not waited for

_NORMAL = NormalDist()

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
        judge: Judge = moderated,
    ) -> None:
        self.cells = [[HypothesisState(hypothesis) for hypothesis in cell] for cell in cells]
        self._design = design
        self._alpha = alpha
        self._min_launches = min_launches
        self._judge_by = judge
        self.compare: Compare = judge([])  # as the last look compared
        self._logs: dict[int, Sequence[float]] = {}  # of all tests so far, decided ones too
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
            if standing.word == "undecided" and self._learn(standing, evidence)
        ]
        self.compare = self._judge_by(list(self._logs.values()))
        for standing in asked:
            self._compare(standing)
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

    def _learn(self, standing: HypothesisState[Key], evidence: Callable[[Key], Evidence]) -> bool:
        """Brings a test up to this look; whether there is anything new to judge."""
        known = evidence(standing.hypothesis.key)
        if known is None:
            return False
        standing.look = self._look
        if isinstance(known, str):
            standing.comparison, standing.reason = None, known
            self._logs.pop(id(standing), None)
            return False
        self._logs[id(standing)] = known
        return True

    def _compare(self, standing: HypothesisState[Key]) -> None:
        confidence = self._design.confidence(self._look, self._alpha)
        logs = self._logs[id(standing)]
        found = above(logs, standing.hypothesis.limit, confidence, self.compare)
        p = self._design.sequential(found.p * standing.hypothesis.weight, self._look)
        standing.comparison = found
        standing.p = p if standing.p is None else min(p, standing.p)

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


def may_be_found(
    comparison: Comparison, limit: float, design: Design, look: int, alpha: float
) -> bool:
    """Whether the launches that are left after this `look` may still find the ratio above `limit`,
    which it is by now, but not surely: with a chance of GIVEN_UP at least.

    The chance is the predictive power (Spiegelhalter, Freedman and Blackburn, Controlled Clinical
    Trials 7 (1986)): log ratios are taken for normal, their mean for unknown, so that the ratio of
    all launches lies about today's with today's variance times the share of launches to come."""
    low, high = comparison.low, comparison.high
    if not low or not high:
        return True
    share = comparison.n / design.launches[-1]
    error = math.log(high / low) / 2 / _quantile(design.confidence(look, alpha))
    half = _quantile(design.confidence(design.looks - 1, alpha)) * error * math.sqrt(share)
    short = math.log(limit) + half - math.log(comparison.ratio)
    spread = error * math.sqrt(max(0.0, 1 - share))
    return short <= 0 if spread == 0 else 1 - _NORMAL.cdf(short / spread) >= GIVEN_UP


def _quantile(confidence: float) -> float:
    """Half the width of a normal interval, in standard errors."""
    return _NORMAL.inv_cdf((1 + confidence) / 2)


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
