"""All variants of a cell side by side: the time of each over that of the library's own call in the
same launches. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from plumbline.search.outcome import label
from plumbline.verify.corrections import benjamini_hochberg
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.statistics import DEFAULT_TEST, TESTS
from plumbline_db.records import Case, Medians


class CellVariant(msgspec.Struct, frozen=True):
    """`seconds`: medians by launch number. `ratio`: its time over that of the library's own call in
    the same launches (None: it is that call, or they share no launch); `p_adjusted` over all
    variants of the cell."""

    name: str
    case: Case
    seconds: dict[int, float]
    ratio: Comparison | None = None
    p_adjusted: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds.values())


def compared(medians: Sequence[Medians]) -> list[CellVariant]:
    """The library's own call first, the others by their time."""
    every = [
        CellVariant(named(each.case), each.case, dict(zip(each.runs, each.seconds, strict=True)))
        for each in medians
    ]
    default = next((each for each in every if each.name == "default"), None)
    others = [each for each in every if each is not default]
    if default is not None:
        others = [msgspec.structs.replace(each, ratio=over(each, default)) for each in others]
    tested = [each for each in others if each.ratio is not None]
    adjusted = benjamini_hochberg([each.ratio.p for each in tested if each.ratio])
    by_name = {each.name: float(p) for each, p in zip(tested, adjusted, strict=True)}
    others = [msgspec.structs.replace(each, p_adjusted=by_name.get(each.name)) for each in others]
    others.sort(key=lambda each: each.median)
    return ([default] if default else []) + others


def named(case: Case) -> str:
    on = f" on {case.ranks} ranks" if case.ranks else ""
    return label(case.variant, case.knobs) + on


def over(left: CellVariant, right: CellVariant) -> Comparison | None:
    """The time of one over that of another in the launches that both share; None: they share
    none."""
    shared = sorted(left.seconds.keys() & right.seconds.keys())
    ours = [left.seconds[run] for run in shared]
    theirs = [right.seconds[run] for run in shared]
    if not shared or min(*ours, *theirs) <= 0:
        return None
    return TESTS[DEFAULT_TEST].run(ours, theirs, "two-sided", 0.95)
