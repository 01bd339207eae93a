"""From trials to winners: which candidate is kept for which range of sizes.

Pure. A candidate is eligible when it is significantly faster than the default. Where the
library's own choice must be one for all sizes (Gather, Scatter, Scan …), an algorithm of the
library must not be slower at any size; our variants may be chosen size by size everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from plumbline_db.records import UNBOUNDED_BYTES, Trial, Winner

from .candidates import Candidate, Menu
from .race import Target

# A knob is preferred to a variant of ours that is faster by no more than this: it needs no preload
# library.
_TIE = 1.03

# How far a choice reaches from a measured size: nobody has measured what lies between.
_REACH = 2


def winners(
    menu: Menu,
    trials: Mapping[Target, Sequence[Trial]],
    sizes: Mapping[str, Sequence[int]],
    opened_by: Mapping[Target, Sequence[str]],
    *,
    nprocs: int,
    ppn: int,
    tolerance: float,
) -> list[Winner]:
    """The winners over all functions. `sizes` are the measured sizes of each function, in order;
    `opened_by` names the violations of each target; targets without one are there because their
    function must be judged as a whole."""
    found: list[Winner] = []
    for function in sorted({target.function for target in trials}):
        by_size = {one.bytes: trials[one] for one in trials if one.function == function}
        wanted = {one.bytes for one in opened_by if one.function == function}
        base: Winner | None = None
        if menu.one_for_all_sizes(function):
            base = _one_for_all(menu, function, by_size, wanted, nprocs, ppn, tolerance)
        chosen = {
            size: choice
            for size, measured in by_size.items()
            if size in wanted and (choice := _best(menu, function, measured, base)) is not None
        }
        chosen = _smooth(chosen, by_size)
        if base is not None:
            rest = [
                name
                for size in sorted(wanted - chosen.keys())
                for name in opened_by[Target(function, size)]
            ]
            found.append(msgspec.structs.replace(base, removes=sorted(set(rest))))
        for first, last, trial in _ranges(chosen, sizes[function]):
            low, high = _bounds(sizes[function], first, last)
            removes = {
                name
                for size in sizes[function]
                if first <= size <= last
                for name in opened_by.get(Target(function, size), ())
            }
            found.append(_winner(menu, function, trial, low, high, sorted(removes), nprocs, ppn))
    return found


def _best(menu: Menu, function: str, trials: Sequence[Trial], base: Winner | None) -> Trial | None:
    """The fastest eligible trial of one cell. With a `base` (an algorithm of the library that
    holds for all sizes) only our variants can still be chosen, and must beat it."""
    eligible = [one for one in trials if _faster(one)]
    if menu.one_for_all_sizes(function):
        eligible = [one for one in eligible if one.variant != "default"]
        if base is not None:
            under_base = next(
                (one.ratio for one in trials if one.knobs == base.configuration), None
            )
            eligible = [one for one in eligible if _ratio(one) * _TIE < (under_base or 1.0)]
    if not eligible:
        return None
    best = min(eligible, key=_ratio)
    knobs = [one for one in eligible if one.variant == "default"]
    if best.variant != "default" and knobs:
        rival = min(knobs, key=_ratio)
        if _ratio(rival) <= _ratio(best) * _TIE:
            return rival
    return best


def _smooth(
    chosen: Mapping[int, Trial], by_size: Mapping[int, Sequence[Trial]]
) -> dict[int, Trial]:
    """Where a smaller neighbour's choice is as good as the best, it is kept: fewer rules."""
    result: dict[int, Trial] = {}
    previous: Trial | None = None
    for size in sorted(chosen):
        best = chosen[size]
        if previous is not None:
            same = next((one for one in by_size[size] if _same(one, previous)), None)
            if same is not None and _faster(same) and _ratio(same) <= _ratio(best) * _TIE:
                best = same
        result[size] = previous = best
    return result


def _one_for_all(
    menu: Menu,
    function: str,
    by_size: Mapping[int, Sequence[Trial]],
    wanted: set[int],
    nprocs: int,
    ppn: int,
    tolerance: float,
) -> Winner | None:
    """The library's algorithm that helps the wanted sizes most and is slower at none; of equals the
    first on the menu."""
    order = {one: number for number, one in enumerate(menu.first(function))}
    candidates = {
        Candidate(one.variant, tuple(sorted(one.knobs.items())))
        for trials in by_size.values()
        for one in trials
        if one.variant == "default" and one.state == "measured"
    }
    best: tuple[float, Candidate, Trial] | None = None
    for candidate in sorted(candidates, key=lambda one: (order.get(one, len(order)), one)):
        at = {
            size: one
            for size, trials in by_size.items()
            for one in trials
            if one.state == "measured"
            and one.variant == "default"
            and one.knobs == dict(candidate.knobs)
        }
        if at.keys() != by_size.keys():
            continue
        if any(_slower(one, tolerance) for one in at.values()):
            continue
        helped = [size for size in wanted if _faster(at[size])]
        if not helped:
            continue
        gain = sum(math.log(_ratio(at[size])) for size in wanted)
        if gain >= 0:
            continue
        if best is None or gain < best[0]:
            best = (gain, candidate, min((at[size] for size in helped), key=_ratio))
    if best is None:
        return None
    return _winner(menu, function, best[2], 0, UNBOUNDED_BYTES, [], nprocs, ppn)


def _winner(
    menu: Menu,
    function: str,
    trial: Trial,
    low: int,
    high: int,
    removes: list[str],
    nprocs: int,
    ppn: int,
) -> Winner:
    candidate = Candidate(trial.variant, tuple(sorted(trial.knobs.items())))
    speedup = 1 / _ratio(trial)
    return Winner(
        function=function,
        nprocs=nprocs,
        ppn=ppn,
        bytes_from=low,
        bytes_to=high,
        variant=trial.variant,
        configuration=dict(trial.knobs),
        search_speedup=speedup,
        speedup=speedup,
        speedup_low=1 / trial.ratio_high if trial.ratio_high else speedup,
        speedup_high=1 / trial.ratio_low if trial.ratio_low else speedup,
        removes=removes,
        restrictions=menu.restrictions(function, candidate),
    )


def _ranges(chosen: Mapping[int, Trial], sizes: Sequence[int]) -> list[tuple[int, int, Trial]]:
    """Neighbouring sizes with the same choice, as (first, last, the trial with the least gain)."""
    ranges: list[tuple[int, int, Trial]] = []
    previous: int | None = None
    for size in sizes:
        trial = chosen.get(size)
        if trial is not None:
            near = previous is not None and size <= previous * _REACH**2
            if near and ranges and ranges[-1][1] == previous and _same(ranges[-1][2], trial):
                first, _, other = ranges[-1]
                ranges[-1] = (first, size, max(other, trial, key=_ratio))
            else:
                ranges.append((size, size, trial))
        previous = size
    return ranges


def _bounds(sizes: Sequence[int], first: int, last: int) -> tuple[int, int]:
    """The range a choice measured at `first` … `last` stands for: to the geometric middle between
    neighbouring measured sizes, at most a factor _REACH away, and not past the smallest and the
    largest."""
    position, end = sizes.index(first), sizes.index(last)
    low = math.isqrt(sizes[position - 1] * first) + 1 if position else first
    high = math.isqrt(last * sizes[end + 1]) if end + 1 < len(sizes) else last
    return max(low, first // _REACH), min(high, last * _REACH)


def _same(left: Trial, right: Trial) -> bool:
    return (left.variant, left.knobs) == (right.variant, right.knobs)


def _ratio(trial: Trial) -> float:
    return trial.ratio if trial.ratio is not None else math.inf


def _faster(trial: Trial) -> bool:
    return trial.state == "measured" and trial.ratio_high is not None and trial.ratio_high < 1


def _slower(trial: Trial, tolerance: float) -> bool:
    """Slower than the default beyond doubt, or by more than the tolerance as far as known."""
    return (trial.ratio_low is not None and trial.ratio_low > 1) or _ratio(trial) > 1 + tolerance
