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
        CellVariant(
            named(medians_of.case),
            medians_of.case,
            dict(zip(medians_of.runs, medians_of.seconds, strict=True)),
        )
        for medians_of in medians
    ]
    default = next((variant for variant in every if variant.name == "default"), None)
    others = [variant for variant in every if variant is not default]
    if default is not None:
        others = [
            msgspec.structs.replace(variant, ratio=over(variant, default)) for variant in others
        ]
    tested = [variant for variant in others if variant.ratio is not None]
    adjusted = benjamini_hochberg([variant.ratio.p for variant in tested if variant.ratio])
    by_name = {variant.name: float(p) for variant, p in zip(tested, adjusted, strict=True)}
    others = [
        msgspec.structs.replace(variant, p_adjusted=by_name.get(variant.name)) for variant in others
    ]
    others.sort(key=lambda variant: variant.median)
    return ([default] if default else []) + others


def named(case: Case) -> str:
    on = f" on {case.ranks} ranks" if case.ranks else ""
    return label(case.variant, case.knobs) + on


def over(numerator: CellVariant, denominator: CellVariant) -> Comparison | None:
    """The time of one over that of another in the launches that both share; None: they share
    none."""
    shared = sorted(numerator.seconds.keys() & denominator.seconds.keys())
    numerator_seconds = [numerator.seconds[run] for run in shared]
    denominator_seconds = [denominator.seconds[run] for run in shared]
    if not shared or min(*numerator_seconds, *denominator_seconds) <= 0:
        return None
    return TESTS[DEFAULT_TEST].run(numerator_seconds, denominator_seconds, "two-sided", 0.95)
