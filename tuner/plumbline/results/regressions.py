"""Is B slower than A? What launches of two sides that took turns say, cell by cell (pure).

All cells are one family: the intervals of all of them hold together at the confidence asked for,
over all looks, so that two equal builds have no cell that is called slower or faster in as many
comparisons as that says (docs/design/reproducibility.md)."""

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
from plumbline.results.sides import ComparedSide
from plumbline.verify.decision import CellDecision, Claim, Design, HypothesisFamily, Key, alone
from plumbline_db.errors import PlumblineError, command_name

Change = Literal["slower", "faster", "equal", "not shown", "lost", "only in B"]
# A look decides a cell only if so many of its pairs have a result: fewer than the next look adds.
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


def regressions(
    a: ComparedSide, b: ComparedSide, claim: RegressionClaim, how: How
) -> list[Regression]:
    """Largest slow-down first, before it what only A has a result of. Raises PlumblineError where
    the launches of the sides do not take turns."""
    pairs, why = pairing(a, b)
    if pairs is None:
        raise PlumblineError(f"{why}; measure them again: {command_name()} compare --measure A B")
    cells_of_a, cells_of_b = (
        {cell: seconds_of(samples, how) for cell, samples in by_cell(side, how).items()}
        for side in (a, b)
    )
    both = sorted(cells_of_a.keys() & cells_of_b.keys())
    logs = {cell: _log_ratios(cells_of_a[cell], cells_of_b[cell], pairs) for cell in both}
    lines = [
        _regression(decision, cells_of_a[cell], cells_of_b[cell], len(logs[cell]))
        for decision in decided(logs, claim)
        for cell in [decision.key]
    ]
    lines += [
        _missing(cell, cells_of_a.get(cell), cells_of_b.get(cell))
        for cell in cells_of_a.keys() ^ cells_of_b.keys()
    ]
    return sorted(lines, key=_order)


def undecided(lines: Sequence[Regression]) -> list[Regression]:
    """Return what more launches may decide."""
    return [line for line in lines if line.verdict == "not shown"]


def is_worse(lines: Sequence[Regression]) -> bool:
    return any(line.verdict in BAD for line in lines)


def decided(logs: Mapping[Key, Sequence[float]], claim: RegressionClaim) -> list[CellDecision[Key]]:
    """Decide all cells by log(B / A), one a pair of launches in their order: each at the first look
    that can, else at the last one that has its launches."""
    family = HypothesisFamily.of(
        logs,
        Claim(
            tolerance=claim.tolerance,
            alpha=claim.alpha,
            design=claim.design,
            judge=alone,
            correction="all",
        ),
    )
    for launches in claim.design.launches:
        family.look(
            lambda cell, first=launches: (  # type: ignore[misc]
                logs[cell][:first] if len(logs[cell]) >= first * WITH_RESULT else None
            )
        )
    return family.decisions


def _log_ratios(
    seconds_of_a: Mapping[int, float],
    seconds_of_b: Mapping[int, float],
    pairs: Sequence[tuple[int, int]],
) -> list[float]:
    times = [
        (seconds_of_a[launch_of_a], seconds_of_b[launch_of_b])
        for launch_of_a, launch_of_b in pairs
        if launch_of_a in seconds_of_a and launch_of_b in seconds_of_b
    ]
    return [
        math.log(time_of_b / time_of_a)
        for time_of_a, time_of_b in times
        if min(time_of_b, time_of_a) > 0
    ]


def _regression(
    decision: CellDecision[MatchedCell],
    seconds_of_a: Mapping[int, float],
    seconds_of_b: Mapping[int, float],
    pairs: int,
) -> Regression:
    line = Regression(
        decision.key,
        sample_of(list(seconds_of_a.values())),
        sample_of(list(seconds_of_b.values())),
        pairs,
    )
    comparison = decision.comparison
    if comparison is None:
        return line
    low, high = (None if end is None else end - 1 for end in (comparison.low, comparison.high))
    return msgspec.structs.replace(
        line,
        look=decision.look + 1,
        change=comparison.ratio - 1,
        low=low,
        high=high,
        verdict="not shown" if decision.word == "undecided" else decision.word,
    )


def _missing(
    cell: MatchedCell,
    seconds_of_a: Mapping[int, float] | None,
    seconds_of_b: Mapping[int, float] | None,
) -> Regression:
    a, b = (
        sample_of(list(seconds.values())) if seconds else None
        for seconds in (seconds_of_a, seconds_of_b)
    )
    return Regression(cell, a, b, verdict="lost" if seconds_of_a else "only in B")


def _order(line: Regression) -> tuple[bool, float, MatchedCell]:
    return line.verdict != "lost", -(line.change or 0.0), line.cell
