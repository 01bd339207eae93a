"""Is B slower than A? What launches of two sides that took turns say, cell by cell (pure).

All cells are one family: the intervals of all of them hold together at the confidence asked for,
over all looks (Bonferroni over cells, the error split over the looks by the design), so that two
equal builds have no cell that is called slower or faster in as many comparisons as that says. A
change is called so where its interval leaves out 0 and the change itself is as large as the
tolerance; equal is what lies within the tolerance, interval and all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from plumbline.results.compare import (
    How,
    MatchedCell,
    Sample,
    by_cell,
    pairing,
    sample_of,
    seconds_of,
)
from plumbline.results.sides import Side
from plumbline.verify.design import Design
from plumbline.verify.statistics import paired_ratio
from plumbline_db.errors import PlumblineError, command_name

Change = Literal["slower", "faster", "equal", "not shown", "lost", "only in B"]
# A look at a cell wants a result in as many of its pairs: less than what the next look adds.
WITH_RESULT = 0.9
BAD: tuple[Change, ...] = ("slower", "lost")


class RegressionClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`alpha`: the error of all cells and looks together; `tolerance`: a smaller change does not
    count; `launches`: of each side in all at each look."""

    alpha: float
    tolerance: float
    design: Design


class Regression(msgspec.Struct, frozen=True):
    """A cell: B against A. `change`: how much longer B takes, as a share (0.12: 12 %), from `low`
    to `high` with all other cells together; None where launches are too few, or a side has no
    result. `pairs`: of launches; `look`: the last one, from 1."""

    cell: MatchedCell
    a: Sample | None
    b: Sample | None
    pairs: int = 0
    look: int = 0
    change: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Change = "not shown"


def regressions(a: Side, b: Side, claim: RegressionClaim, how: How) -> list[Regression]:
    """Largest slow-down first, before it what only A has a result of. Raises PlumblineError where
    the launches of the sides do not take turns."""
    pairs, why = pairing(a, b)
    if pairs is None:
        raise PlumblineError(f"{why}; measure them again: {command_name()} compare --measure A B")
    left, right = (
        {cell: seconds_of(samples, how) for cell, samples in by_cell(side, how).items()}
        for side in (a, b)
    )
    both = sorted(left.keys() & right.keys())
    found = [_judged(cell, left[cell], right[cell], pairs, claim, cells=len(both)) for cell in both]
    found += [
        _missing(cell, left.get(cell), right.get(cell)) for cell in left.keys() ^ right.keys()
    ]
    return sorted(found, key=_order)


def undecided(found: Sequence[Regression]) -> list[Regression]:
    """What more launches may decide."""
    return [line for line in found if line.verdict == "not shown"]


def is_worse(found: Sequence[Regression]) -> bool:
    return any(line.verdict in BAD for line in found)


def verdict_of(
    logs: Sequence[float], claim: RegressionClaim, cells: int
) -> tuple[Change, int, ChangeInterval]:
    """Of one cell among `cells`, by log(B / A), one a pair of launches in their order: at the first
    look that decides it, else at the last one that has its launches."""
    seen: tuple[Change, int, ChangeInterval] = ("not shown", 0, ChangeInterval(None, None, None))
    for look, launches in enumerate(claim.design.launches):
        if len(logs) < launches * WITH_RESULT:
            break
        confidence = claim.design.confidence(look, claim.alpha / cells)
        found = paired_ratio(logs[:launches], confidence, "two-sided")
        low, high = (None if end is None else end - 1 for end in (found.low, found.high))
        interval = ChangeInterval(found.ratio - 1, low, high)
        seen = interval.verdict(claim.tolerance), look + 1, interval
        if seen[0] != "not shown":
            break
    return seen


class ChangeInterval(msgspec.Struct, frozen=True):
    change: float | None
    low: float | None
    high: float | None

    def verdict(self, tolerance: float) -> Change:
        if self.change is None or self.low is None or self.high is None:
            return "not shown"
        if self.low > 0 and self.change >= tolerance:
            return "slower"
        # As many times faster as the tolerance allows slower.
        fastest = 1 / (1 + tolerance) - 1
        if self.high < 0 and self.change <= fastest:
            return "faster"
        return "equal" if fastest < self.low and self.high < tolerance else "not shown"


def _judged(
    cell: MatchedCell,
    left: Mapping[int, float],
    right: Mapping[int, float],
    pairs: Sequence[tuple[int, int]],
    claim: RegressionClaim,
    *,
    cells: int,
) -> Regression:
    times = [(left[ours], right[other]) for ours, other in pairs if ours in left and other in right]
    seen = [pair for pair in times if min(pair) > 0]
    verdict, look, interval = verdict_of(
        [math.log(theirs / ours) for ours, theirs in seen], claim, cells
    )
    return Regression(
        cell=cell,
        a=sample_of(list(left.values())),
        b=sample_of(list(right.values())),
        pairs=len(seen),
        look=look,
        change=interval.change,
        low=interval.low,
        high=interval.high,
        verdict=verdict,
    )


def _missing(
    cell: MatchedCell, left: Mapping[int, float] | None, right: Mapping[int, float] | None
) -> Regression:
    a, b = (sample_of(list(seconds.values())) if seconds else None for seconds in (left, right))
    return Regression(cell, a, b, verdict="lost" if left else "only in B")


def _order(line: Regression) -> tuple[bool, float, MatchedCell]:
    return line.verdict != "lost", -(line.change or 0.0), line.cell
