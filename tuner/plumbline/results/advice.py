"""Hamlet's question of one call: the library's own collective, the tuned one, or one that is made
by hand? Answered for a cell by what was measured there. Pure; advice_stored.py reads what it takes.

Ways are compared where they were measured together: in the same launches, or in launches that took
turns. What was not is never called faster."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec

from plumbline.search.outcome import label
from plumbline.system.words import with_interval
from plumbline.verify.decision import benjamini_hochberg, by_interval
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.statistics import DEFAULT_TEST, TESTS
from plumbline_db.records import Case, Medians, Winner
from plumbline_exporters.bundle import sizes

# All variants of a cell side by side: the time of each over that of the library's own call in the
# same launches. Pure.


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
            msgspec.structs.replace(variant, ratio=_over(variant, default)) for variant in others
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


def _over(numerator: CellVariant, denominator: CellVariant) -> Comparison | None:
    """The time of one over that of another in the launches that both share; None: they share
    none."""
    shared = sorted(numerator.seconds.keys() & denominator.seconds.keys())
    numerator_seconds = [numerator.seconds[run] for run in shared]
    denominator_seconds = [denominator.seconds[run] for run in shared]
    if not shared or min(*numerator_seconds, *denominator_seconds) <= 0:
        return None
    return TESTS[DEFAULT_TEST].run(numerator_seconds, denominator_seconds, "two-sided", 0.95)


Way = Literal["library", "tuned", "hand-made"]

TAKE: dict[Way | None, str] = {
    "library": "call the library's own",
    "tuned": "take the tuned one",
    "hand-made": "make it by hand",
    None: "not known",
}

ALPHA = 0.05
WORTH = 0.95  # of the library's time, at most: what is made by hand must be worth the work
NEAR = 4.0  # so many times as large a neighbour may be that a size lies between


class CallChoice(msgspec.Struct, frozen=True):
    """A way to make the call. `ratio`: its time over that of the library's own call, with its
    interval of 95 % (None: it is that call, or was never measured with it). `seconds`: the median
    over `launches` of their medians (None: not timed at this size)."""

    way: Way
    what: str
    seconds: float | None
    launches: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    basis: str


class MeasuredCall(msgspec.Struct, frozen=True):
    """The knowledge of a cell. `variants` without the library's own call; of `unfit` ones, by name,
    something is wrong. `exact`: one launch decides, as on a simulated machine."""

    bytes: int
    own: CellVariant
    variants: Sequence[CellVariant]
    winner: Winner | None
    tuned_seconds: Sequence[float] = ()
    unfit: frozenset[str] = frozenset()
    exact: bool = False


class Answer(msgspec.Struct, frozen=True):
    """`way` None: what was measured does not say. `choices`: the library's own call, the tuned one
    where there is one, and the fastest that are made by hand. `between`: the size itself was not
    measured, these two were, and times and ratios are interpolated."""

    way: Way | None
    why: str
    choices: list[CallChoice]
    between: list[int] = []

    def of(self, way: Way | None) -> CallChoice | None:
        return next((choice for choice in self.choices if choice.way == way), None)


_SHOWN = 3  # ways that are made by hand


def decide(cell: MeasuredCall, winner_name: str = "") -> Answer:
    """Decide for a size that was measured; `winner_name`: what the winner is."""
    count = len(cell.own.seconds)
    own = CallChoice("library", "its own call", cell.own.median, count, *_NO_RATIO, "")
    tuned = None if cell.winner is None else _tuned(cell, cell.winner, winner_name)
    by_hand = [
        variant
        for variant in cell.variants
        if _is_by_hand(variant) and variant.name not in cell.unfit
    ]
    by_hand.sort(key=lambda variant: variant.ratio.ratio if variant.ratio else math.inf)
    others = [variant for variant in by_hand if variant.name != winner_name]
    good = next((variant for variant in others if _is_faster(variant, cell.exact)), None)
    best = good or next(iter(others), None)
    shown = [*([best] if best else []), *(variant for variant in others if variant is not best)][
        :_SHOWN
    ]
    choices = [own, *([tuned] if tuned else []), *map(_by_hand, shown)]
    rival = best and best.ratio and Rival(best.name, best.ratio, faster=good is not None)
    winner_variant = next(
        (variant for variant in cell.variants if variant.name == winner_name), None
    )
    between = _over(good, winner_variant) if good and winner_variant else None
    way, why = choose(tuned, rival or None, between, exact=cell.exact)
    return Answer(way, why, choices)


_Numbers = tuple[float | None, float | None, float | None]
_NO_RATIO: _Numbers = (None, None, None)


def numbers_of(comparison: Comparison | None) -> _Numbers:
    """Ratio and interval."""
    return _NO_RATIO if comparison is None else (comparison.ratio, comparison.low, comparison.high)


def _is_by_hand(variant: CellVariant) -> bool:
    """Return whether it can be written with other calls of MPI, and was timed together with the
    library's own."""
    case = variant.case
    plain = not case.knobs and not case.ranks and not case.delay_ns
    return plain and case.variant not in ("default", "library") and variant.ratio is not None


def _tuned(cell: MeasuredCall, winner: Winner, name: str) -> CallChoice:
    seconds = cell.tuned_seconds
    return CallChoice(
        "tuned",
        name,
        statistics.median(seconds) if seconds else None,
        len(seconds),
        1 / winner.speedup,
        1 / winner.speedup_high,
        1 / winner.speedup_low,
        f"launches in turn, files in force, over {sizes(winner)}",
    )


def _by_hand(variant: CellVariant) -> CallChoice:
    count, numbers = len(variant.seconds), numbers_of(variant.ratio)
    return CallChoice("hand-made", variant.name, variant.median, count, *numbers, "same launches")


def _is_faster(variant: CellVariant, exact: bool) -> bool:
    """Return whether it is faster by enough, and surely: p is adjusted over all variants of the
    cell."""
    if variant.ratio is None or not surely(variant.ratio, exact=exact):
        return False
    return exact or (variant.p_adjusted is not None and variant.p_adjusted <= ALPHA)


class Rival(msgspec.Struct, frozen=True):
    """The best that is made by hand; `ratio`: its time over that of the library's own call;
    `faster`: it surely is, by enough."""

    name: str
    ratio: Comparison
    faster: bool


def choose(
    tuned: CallChoice | None, rival: Rival | None, between: Comparison | None, *, exact: bool
) -> tuple[Way, str]:
    """`between`: the rival's time over that of the tuned one; None: they were not measured
    together."""
    if tuned is not None and _wins(tuned, exact):
        tuned_words = f"it takes {words(tuned)} of the time of the library's own call"
        if rival is None or not rival.faster:
            return (
                "tuned",
                f"{tuned_words}; nothing made by hand is shown to be faster than that call",
            )
        if between is None:
            return "tuned", (
                f"{tuned_words}; {rival.name} is faster than that call too, but was not measured "
                "together "
                "with the tuned one: neither is called faster"
            )
        if surely(between, exact=exact):
            return "hand-made", (
                f"{rival.name} takes {_of(between)} of the time of the tuned one in the same "
                f"launches, and {_of(rival.ratio)} of that of the library's own call"
            )
        return "tuned", f"{tuned_words}; {rival.name} is not shown to be faster ({_of(between)})"
    if rival is None:
        return "library", "nothing else was measured beside it, and no winner applies here"
    if rival.faster:
        return "hand-made", (
            f"{rival.name} takes {_of(rival.ratio)} of the time of the library's own call in the "
            "same launches, and no faster winner applies here"
        )
    return "library", (
        f"nothing is shown to be faster by {100 * (1 - WORTH):.0f} % or more: the best that is "
        f"made by hand, {rival.name}, takes {_of(rival.ratio)} of its time"
    )


def _wins(tuned: CallChoice, exact: bool) -> bool:
    if exact and tuned.ratio_high is None:
        return tuned.ratio is not None and tuned.ratio < 1
    return tuned.ratio_high is not None and tuned.ratio_high < 1


def surely(comparison: Comparison, *, exact: bool) -> bool:
    """Return whether it is faster by enough."""
    return comparison.ratio <= WORTH and (exact or by_interval(comparison) == "faster")


def words(choice: CallChoice) -> str:
    """`0.71 [0.68, 0.74]`, or nothing."""
    return with_interval(choice.ratio, choice.ratio_low, choice.ratio_high)


def _of(comparison: Comparison | None) -> str:
    return (
        ""
        if comparison is None
        else with_interval(comparison.ratio, comparison.low, comparison.high)
    )


def interpolate(size: int, low: int, below: Answer, high: int, above: Answer) -> Answer:
    """Return, for a size between two measured ones, what both say, and nothing where they do not
    say the same. Times lie on a line of logarithms, an interval holds those of both sizes."""
    if high > NEAR * low:
        why = f"the nearest measured sizes, {low} and {high} B, are too far apart to answer"
        return Answer(None, why, [], [low, high])
    if below.way != above.way:
        both_ways = f"at {low} B {TAKE[below.way]}, at {high} B {TAKE[above.way]}"
        why = f"{both_ways}; the size where that changes was not measured"
        return Answer(None, why, [], [low, high])
    share = math.log(size / low) / math.log(high / low)
    choices = [
        _between(choice, above_choice, share)
        for choice in below.choices
        for above_choice in above.choices
        if (choice.way, choice.what) == (above_choice.way, above_choice.what)
    ]
    if below.way is not None and not any(choice.way == below.way for choice in choices):
        why = (
            f"{low} and {high} B need different ones; the size where that changes was not measured"
        )
        return Answer(None, why, [], [low, high])
    why = f"interpolated: at {low} B, {below.why}; at {high} B, {above.why}"
    return Answer(below.way, why, choices, [low, high])


def _between(below: CallChoice, above: CallChoice, share: float) -> CallChoice:
    lows, highs = (below.ratio_low, above.ratio_low), (below.ratio_high, above.ratio_high)
    return CallChoice(
        below.way,
        below.what,
        _mean(below.seconds, above.seconds, share),
        min(below.launches, above.launches),
        _mean(below.ratio, above.ratio, share),
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
        "interpolated",
    )


def _mean(below: float | None, above: float | None, share: float) -> float | None:
    if below is None or above is None or min(below, above) <= 0:
        return None
    return math.exp((1 - share) * math.log(below) + share * math.log(above))
