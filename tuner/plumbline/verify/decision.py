"""Decisions: which cells of a family are slower, equal or faster, and which are undecided; and the
design of looks while launches are added.

The only place that decides. A `Claim` says what is claimed and at which error; a family holds the
log ratios of its cells, one a launch, against the claim, look by look, until each is decided. Which
errors that makes: docs/design/verification.md. Pure: no clock, file or database."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import msgspec

from plumbline.verify.curve import CurveEstimate
from plumbline.verify.significance.comparison import SAME, Comparison, Vector, exact_ratio
from plumbline.verify.significance.moderated import moderated
from plumbline.verify.significance.signed_rank import paired_ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# The design of looks at a table while launches are added: when, and what each look may spend of the
# error.
# Group-sequential designs with the error split over the looks in advance: Slud and Wei, JASA 77
# (1982); spending functions: Lan and DeMets, Biometrika 70 (1983), of the power family of Kim and
# DeMets, Biometrika 74 (1987); repeated confidence intervals: Jennison and Turnbull, "Group
# Sequential Methods with Applications to Clinical Trials" (2000), chapters 7 and 9. Why these:
# docs/design/verification.md.

GROWTH = 4 / 3  # of the launches from one look to the next, about
# The error spent when a share t of the launches is done is t to this power. Few launches cannot
# show a violation in a large table, however the error is spent; later looks get the rest.
_POWER = 2.0


class Design(msgspec.Struct, frozen=True):
    """`launches`: how many there are in all at each look, ascending. `shares`: what each look may
    spend of the error of either verdict; they add up to 1."""

    launches: tuple[int, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.launches) == len(self.shares) > 0:
            raise ValueError("a design needs at least one look, and a share for each look")
        if self.launches[0] < 1 or sorted(set(self.launches)) != list(self.launches):
            raise ValueError(f"launches must grow from look to look: {self.launches}")
        if min(self.shares) <= 0 or not math.isclose(sum(self.shares), 1):
            raise ValueError(f"shares must be positive and add up to 1: {self.shares}")

    @property
    def looks(self) -> int:
        return len(self.launches)

    def sequential(self, p: float, look: int) -> float:
        """Return what the p of a look (0: the first one) counts over all looks: the smallest of
        these is at most u with probability u or less when the sides are equal."""
        return min(1.0, p / self.shares[look])

    def confidence(self, look: int, alpha: float) -> float:
        """Return the confidence of the intervals at a look: all intervals cover together with
        probability 1 - alpha."""
        return 1 - alpha * self.shares[look]

    def new_launches(self, look: int) -> int:
        """Return what a look has more than the one before it."""
        return self.launches[look] - (self.launches[look - 1] if look else 0)


def design_over(first: int, most: int) -> Design:
    """Looks from `first` launches on, a third more each time, up to `most`."""
    if not 1 <= first <= most:
        raise ValueError(f"the first look has {first} launches, the last one {most}")
    steps = max(1, round(math.log(most / first) / math.log(GROWTH)))
    planned = {round(first * (most / first) ** (step / steps)) for step in range(steps)}
    launches = [*sorted(planned - {most}), most]
    spent = [0.0, *((count / most) ** _POWER for count in launches)]
    return Design(tuple(launches), tuple(after - before for before, after in pairwise(spent)))


ONE_LOOK = Design((1,), (1.0,))


# Corrections for many tests. Sources: Benjamini and Hochberg, JRSS B 57 (1995); Benjamini and
# Bogomolov, JRSS B 76 (2014), for tests inside selected families.


def benjamini_hochberg(p: ArrayLike) -> Vector:
    """Adjusted p-values: rejecting those below α keeps the false discovery rate at α."""
    return adjusted_within(p, p)


def adjusted_within(p: ArrayLike, family: ArrayLike) -> Vector:
    """The least α at which each p, a test inside a member of the family, is rejected.

    Benjamini-Hochberg selects R of the m members at α; a test inside a selected one is rejected at
    α R/m (Benjamini and Bogomolov). So the value is the minimum over k of m max(p, p_(k)) / k,
    which for the members' own p is the Benjamini-Hochberg adjustment."""
    import numpy as np

    members = np.sort(_probabilities(family))
    tests = _probabilities(p)
    m = len(members)
    if m == 0:
        return np.zeros(0)
    at_least = np.maximum.outer(tests, members) * (m / np.arange(1, m + 1))
    return np.asarray(np.minimum(at_least.min(axis=1), 1.0), dtype=np.float64)


def _probabilities(p: ArrayLike) -> Vector:
    import numpy as np

    array = np.asarray(p, dtype=np.float64)
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError("p-values must lie between 0 and 1")
    return array


GIVEN_UP = 0.1  # a smaller chance to be found is not waited for
MUCH = math.log(1.15)
FEW = 2  # launches after which what is much slower in all of them is given up

_NORMAL = NormalDist()

# "undecided": more launches may decide. "equal": not slower by more than the tolerance; "faster":
# not slower by more than the tolerance, and certainly faster.
Word = Literal["slower", "equal", "faster", "undecided"]
Key = TypeVar("Key")

# Compares log ratios (one for each launch) with the confidence of the interval.
Compare = Callable[[Sequence[float], float], Comparison]
# Chooses the comparison of a cell by the log ratios of all comparable cells.
Judge = Callable[[Collection[Sequence[float]]], Compare]

# The evidence of a test at a look: the log ratios of all launches so far, the reason why there are
# none, or None if nothing was measured since the last look.
Evidence = Sequence[float] | str | None


def compare_of(*, simulated: bool) -> Compare:
    """Return the comparison of a series by itself; a simulated machine repeats itself."""
    return exact_ratio if simulated else paired_ratio


def alone(_: Collection[Sequence[float]]) -> Compare:
    """Judge each cell by its own launches: the signed-rank test."""
    return paired_ratio


def exactly(_: Collection[Sequence[float]]) -> Compare:
    """Judge cells of a machine that repeats itself."""
    return exact_ratio


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim about a family of cells. `tolerance`: the slow-down that is allowed; `alpha`: the
    error over all looks of the `design`; `judge`: the test.

    `correction`: "discoveries" tests whether a ratio is above the limit, at a false discovery rate
    of alpha over the cells; with `both_sides` also whether it is below. "all" lets the intervals of
    all cells hold together (Bonferroni), and each says what it does by itself (`by_interval`)."""

    tolerance: float = 0.0
    alpha: float = 0.05
    design: Design = ONE_LOOK
    judge: Judge = moderated
    correction: Literal["discoveries", "all"] = "discoveries"
    both_sides: bool = False
    min_launches: int = 1

    def __post_init__(self) -> None:
        if not (self.alpha > 0 and 0 <= self.tolerance < 1):
            raise ValueError(f"alpha {self.alpha} or tolerance {self.tolerance} is out of range")
        if self.min_launches < 1:
            raise ValueError("min_launches is at least 1")

    @property
    def limit(self) -> float:
        return 1 + self.tolerance

    def confidence(self, look: int, cells: int = 1) -> float:
        """Return the confidence of the intervals at a look (from 0) in a family of so many
        cells."""
        alpha = self.alpha / cells if self.correction == "all" else self.alpha
        return self.design.confidence(look, alpha)


class CellDecision(msgspec.Struct, Generic[Key]):
    """One test and what is decided of it: is the ratio of `key` above `limit`? `weight` multiplies
    its p inside its cell: the sum of 1/weight over a cell is at most 1 (weighted Bonferroni). The p
    of `comparison` is that of the test by itself; `p` is its sequential p, which never grows from
    look to look, as a test of its cell; `look` is the last one that it was measured for.
    `estimate`: what all cells of the same candidate say of it, where that was asked."""

    key: Key
    limit: float
    weight: float = 1.0
    word: Word = "undecided"
    comparison: Comparison | None = None
    p: float | None = None
    p_adjusted: float | None = None
    reason: str = ""
    look: int = 0
    estimate: CurveEstimate | None = None

    @property
    def told(self) -> Comparison:
        """Raise ValueError for a test without a comparison."""
        if self.comparison is None:
            raise ValueError(f"nothing is known of {self.key}: {self.reason}")
        return self.comparison

    @property
    def is_held(self) -> bool:
        """Return whether it is known not to be slower than is allowed."""
        return self.word in ("equal", "faster")

    @property
    def seems_slower(self) -> bool:
        return self.comparison is not None and self.comparison.ratio > self.limit

    def suspicion(self) -> float:
        """The ratio; what could not be compared comes before all ratios."""
        return self.comparison.ratio if self.comparison else math.inf


class HypothesisFamily(Generic[Key]):
    """Tests in cells: a cell is slower if one of its tests is, held if all are. A cell that is
    decided stays so. The family of the correction is the cells."""

    def __init__(self, cells: Iterable[list[CellDecision[Key]]], claim: Claim) -> None:
        self.cells = list(cells)
        self.claim = claim
        self.compare: Compare = claim.judge([])  # as the last look compared
        self._logs: dict[int, Sequence[float]] = {}  # of all tests so far, decided ones too
        self._look = 0

    @classmethod
    def of(cls, keys: Iterable[Key], claim: Claim) -> HypothesisFamily[Key]:
        """Return a family of cells with one test each, at the limit of the claim."""
        return cls(([CellDecision(key, claim.limit)] for key in keys), claim)

    @property
    def decisions(self) -> list[CellDecision[Key]]:
        return [decision for cell in self.cells for decision in cell]

    @property
    def confidence(self) -> float:
        """Return the confidence of the intervals at the last look."""
        return self.claim.confidence(max(0, self._look - 1), max(1, len(self.cells)))

    def look(self, evidence: Callable[[Key], Evidence]) -> None:
        """The next look of the design, at all cells that are undecided."""
        if self._look >= self.claim.design.looks:
            looks = self.claim.design.looks
            raise ValueError(f"the design has {looks} looks, this is one more")
        asked = [decision for decision in self._undecided() if self._learn(decision, evidence)]
        self.compare = self.claim.judge(list(self._logs.values()))
        self._look += 1
        for decision in asked:
            self._compare(decision)
        if self.claim.correction == "discoveries":
            self._adjust()
        for decision in asked:
            self._judge(decision)

    def repeat(self, evidence: Callable[[Key], Evidence], why: str) -> None:
        """The one look of a machine that repeats itself: the ratio of the first launch decides, for
        the reason `why`, and all others must be the same."""
        for decision in self.decisions:
            logs = evidence(decision.key) or "no launch has both sides"
            if not isinstance(logs, str) and max(logs) - min(logs) > SAME:
                logs = "launches differ, so the platform is not deterministic"
            if isinstance(logs, str):
                decision.word, decision.comparison, decision.reason = "undecided", None, logs
                continue
            ratio = math.exp(logs[0])
            decision.comparison = Comparison(ratio, ratio, ratio, 1.0, len(logs), "")
            decision.word = "slower" if decision.seems_slower else "equal"
            decision.reason = why

    def open(self) -> list[CellDecision[Key]]:
        """The tests that more launches may decide, in the order of the cells."""
        if self._look >= self.claim.design.looks:
            return []
        return [decision for decision in self._undecided() if decision.comparison is not None]

    def suspects(self) -> list[CellDecision[Key]]:
        """Return the decisions about cells that seem slower, and that the remaining launches may
        show to be slower."""
        return [
            decision
            for decision in self.open()
            if decision.seems_slower
            and may_be_found(decision.told, decision.limit, self.claim, decision.look)
        ]

    def worth_looking(self) -> list[CellDecision[Key]]:
        """Return the open tests of cells that the launches to come may decide: those by which the
        cell may be found slower, and all if all of them may be held."""
        open_tests = {id(decision) for decision in self.open()}
        worth: list[CellDecision[Key]] = []
        for cell in self.cells:
            undecided = [decision for decision in cell if decision.word == "undecided"]
            tests = [decision for decision in undecided if id(decision) in open_tests]
            chances = [
                (
                    decision,
                    decision_chances(decision.told, decision.limit, self.claim, decision.look),
                )
                for decision in tests
            ]
            all_may_hold = len(tests) == len(undecided) and all(
                max(found, held) >= GIVEN_UP for _, (found, held) in chances
            )
            worth += [
                decision
                for decision, (found, _) in chances
                if all_may_hold or (decision.seems_slower and found >= GIVEN_UP)
            ]
        return worth

    def _undecided(self) -> list[CellDecision[Key]]:
        return [
            decision
            for cell in self.cells
            if _word(cell) == "undecided"
            for decision in cell
            if decision.word == "undecided"
        ]

    def _learn(self, decision: CellDecision[Key], evidence: Callable[[Key], Evidence]) -> bool:
        """Brings a test up to this look; whether there is anything new to judge."""
        new_evidence = evidence(decision.key)
        if new_evidence is None:
            return False
        decision.look = self._look
        if isinstance(new_evidence, str):
            decision.comparison, decision.reason = None, new_evidence
            self._logs.pop(id(decision), None)
            return False
        self._logs[id(decision)] = new_evidence
        return True

    def _compare(self, decision: CellDecision[Key]) -> None:
        logs, claim = self._logs[id(decision)], self.claim
        confidence = self.confidence
        if claim.correction == "all":
            decision.comparison = self.compare(logs, confidence)
            return
        comparison = above(logs, decision.limit, confidence, self.compare)
        if claim.both_sides:
            below = above([-log for log in logs], decision.limit, 0.95, self.compare)
            comparison = msgspec.structs.replace(
                comparison, p=min(1.0, 2 * min(comparison.p, below.p))
            )
        p = claim.design.sequential(comparison.p * decision.weight, decision.look)
        decision.comparison = comparison
        decision.p = p if decision.p is None else min(p, decision.p)

    def _adjust(self) -> None:
        """Benjamini-Hochberg over the cells. As no p grows, no adjusted p does."""
        tested = [decision for decision in self.decisions if decision.p is not None]
        members = [
            min(p_values)
            for cell in self.cells
            if (p_values := [decision.p for decision in cell if decision.p is not None])
        ]
        adjusted = adjusted_within([decision.p or 0.0 for decision in tested], members)
        for decision, p in zip(tested, adjusted.tolist(), strict=True):
            decision.p_adjusted = p

    def _judge(self, decision: CellDecision[Key]) -> None:
        comparison, limit, p = decision.told, decision.limit, decision.p_adjusted
        decision.reason = ""
        if comparison.n < self.claim.min_launches:
            decision.reason = f"{comparison.n} launches, {self.claim.min_launches} are needed"
        elif p is None:
            decision.word = by_interval(comparison, self.claim.tolerance)
        elif p < self.claim.alpha and comparison.ratio > limit:  # p may be that of an earlier look
            decision.word = "slower"
        elif comparison.high is None:
            decision.reason = comparison.reason
        elif self.claim.both_sides:
            sure = p < self.claim.alpha and comparison.high < 1
            decision.word = "faster" if sure else "undecided"
        elif comparison.high <= limit:
            decision.word = "faster" if comparison.high < 1 else "equal"
        elif comparison.ratio > limit:
            decision.reason = f"ratio {comparison.ratio:.3g}, but adjusted p is {p:.2g}"
        else:
            decision.reason = f"the ratio may be as large as {comparison.high:.3g}"


def decide(log_ratios: Mapping[Key, Sequence[float]], claim: Claim) -> dict[Key, CellDecision[Key]]:
    """Return what is decided of cells that are looked at once. Cells without log ratios are no
    cells."""
    once = msgspec.structs.replace(claim, design=ONE_LOOK)
    family = HypothesisFamily.of((key for key, logs in log_ratios.items() if logs), once)
    family.look(log_ratios.__getitem__)
    return {decision.key: decision for decision in family.decisions}


def slower(log_ratios: Mapping[Key, Sequence[float]], claim: Claim) -> dict[Key, Comparison]:
    """Return the cells that are slower, of those that are looked at once: their intervals, where
    they have one, lie above 1 too."""
    return {
        key: decision.told
        for key, decision in decide(log_ratios, claim).items()
        if decision.word == "slower" and (decision.told.low is None or decision.told.low > 1)
    }


def by_interval(comparison: Comparison | None, tolerance: float = 0.0, base: float = 1.0) -> Word:
    """Return what an interval says by itself of a ratio against `base`: slower or faster is what is
    so beyond doubt, and by the tolerance as far as is known; equal is what is within the tolerance
    beyond doubt."""
    if comparison is None or comparison.low is None or comparison.high is None:
        return "undecided"
    # As many times faster as the tolerance allows slower.
    least, most = base / (1 + tolerance), base * (1 + tolerance)
    if comparison.low > base and comparison.ratio >= most:
        return "slower"
    if comparison.high < base and comparison.ratio <= least:
        return "faster"
    return "equal" if least < comparison.low and comparison.high < most else "undecided"


def above(
    log_ratios: Sequence[float],
    limit: float,
    confidence: float = 0.95,
    compare: Compare = paired_ratio,
) -> Comparison:
    """`compare` of per-launch log ratios, with the p of "the ratio is above `limit`": that of what
    they are above log(limit). Ratio and interval are those of the ratio itself."""
    comparison = compare(log_ratios, confidence)
    if limit == 1:
        return comparison
    level = math.log(limit)
    return msgspec.structs.replace(
        comparison, p=compare([ratio - level for ratio in log_ratios], confidence).p
    )


def much_slower(logs: Collection[float], least: float = MUCH) -> bool:
    """Return whether all launches, of which FEW suffice, say so: such a cell is given up before any
    interval exists."""
    return min(logs, default=-math.inf) > least


def joint(cells: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of the log ratios of several cells, launch by launch, of as many launches as
    all have."""
    return [statistics.fmean(launch) for launch in zip(*cells, strict=False)]


def may_be_found(comparison: Comparison, limit: float, claim: Claim, look: int) -> bool:
    """Return whether the launches that are left after this `look` may still find the ratio above
    `limit`, which it is by now, but not surely: with a chance of GIVEN_UP at least."""
    return decision_chances(comparison, limit, claim, look)[0] >= GIVEN_UP


def decision_chances(
    comparison: Comparison, limit: float, claim: Claim, look: int
) -> tuple[float, float]:
    """Return the chances that the launches which are left after this `look` find the ratio above
    `limit`, and that they hold it below; 1 where there is no interval yet.

    A chance is the predictive power (Spiegelhalter, Freedman and Blackburn, Controlled Clinical
    Trials 7 (1986)): log ratios are taken for normal, their mean for unknown, so that the ratio of
    all launches lies about today's with today's variance times the share of launches to come."""
    low, high = comparison.low, comparison.high
    if not low or not high:
        return 1.0, 1.0
    design = claim.design
    share = comparison.n / design.launches[-1]
    error = math.log(high / low) / 2 / _quantile(claim.confidence(look))
    half = _quantile(claim.confidence(design.looks - 1)) * error * math.sqrt(share)
    spread = error * math.sqrt(max(0.0, 1 - share))
    excess = math.log(comparison.ratio / limit)
    if spread == 0:
        return float(excess >= half), float(excess <= -half)
    return _NORMAL.cdf((excess - half) / spread), _NORMAL.cdf((-excess - half) / spread)


def _quantile(confidence: float) -> float:
    """Half the width of a normal interval, in standard errors."""
    return _NORMAL.inv_cdf((1 + confidence) / 2)


def shown(cell: Sequence[CellDecision[Key]]) -> CellDecision[Key]:
    """Return what a cell shows: of the slower tests, else of the undecided ones, else of all, the
    one with the largest ratio; at equal ratios the first."""
    slower_tests = [decision for decision in cell if decision.word == "slower"]
    undecided = [decision for decision in cell if decision.word == "undecided"]
    return max(slower_tests or undecided or cell, key=lambda decision: decision.suspicion())


def _word(cell: Sequence[CellDecision[Key]]) -> Word:
    words = {decision.word for decision in cell}
    if "slower" in words:
        return "slower"
    return "undecided" if "undecided" in words else "equal"
