"""Rules for a whole site, proposed from what its campaigns have measured: the winners of each
layout, and what is carried over to layouts between two measured ones. Pure.

A proposal is no evidence: checks.py measures it before a file may contain it. First come
configurations that both measured neighbours found faster than the library, then what a regression
over all layouts and sizes predicts to be faster (docs/design/campaign.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import chosen_configuration, deciding, holds, without_sizes
from plumbline.site.layouts import Gap, RankLayout, nearest
from plumbline.verify.curve import CurveEstimate, CurvePoint, estimates
from plumbline_db.records import EVERY_FUNCTION, Search, Winner
from plumbline_exporters.bundle import conditions, is_profile, span

IsLimited = Callable[[Winner], bool]
"""A function that says whether the files of a library can limit a winner to a layout."""

# The regression over the nearest layouts proposes what takes at most this share of the library's
# time, with this confidence. Log ratios of two campaigns differ by the error at least.
_LAYOUTS, _GAIN, _CONFIDENCE, _ERROR = 6, 0.97, 0.5, 0.05


class MemberFindings(msgspec.Struct, frozen=True):
    """The winners and searches of the campaign `id` of one layout."""

    id: str
    layout: RankLayout
    winners: list[Winner]
    searches: list[Search]

    def sizes(self) -> set[tuple[str, int]]:
        """Return the functions and sizes that were searched."""
        return {(search.function, search.bytes) for search in self.searches}

    def faster(self) -> list[Winner]:
        """Return all candidates that a search found faster than the library."""
        return [each for each in self.tried() if each.speedup_low > 1]

    def tried(self) -> list[Winner]:
        """Return all candidates that a search has measured, as winners for the sizes around each
        measured one."""
        sizes: dict[str, list[int]] = {}
        for search in self.searches:
            sizes.setdefault(search.function, []).append(search.bytes)
        return [
            Winner(
                function=search.function,
                nprocs=self.layout.nprocs,
                ppn=self.layout.ppn,
                bytes_from=first,
                bytes_to=last,
                variant=trial.variant,
                configuration=dict(trial.knobs),
                search_speedup=1 / trial.ratio,
                speedup=1 / trial.ratio,
                speedup_low=1 / trial.ratio_high,
                speedup_high=1 / (trial.ratio_low or trial.ratio),
                removes=[],
                restrictions=[],
                measured_from=search.bytes,
                measured_to=search.bytes,
            )
            for search in self.searches
            for first, last in [_around(search.bytes, sizes[search.function])]
            for trial in search.trials
            if trial.state == "measured"
            and trial.ratio is not None
            and trial.ratio_high is not None
        ]


def _around(size: int, sizes: Iterable[int]) -> tuple[int, int]:
    """Return the range of bytes that a measured size stands for: half-way to its neighbours on a
    logarithmic scale, a factor of two at most, nothing beyond the smallest and the largest one."""
    below = max((smaller for smaller in sizes if smaller < size), default=None)
    above = min((larger for larger in sizes if larger > size), default=None)
    first = size if below is None else max(-(-size // 2), math.isqrt(below * size) + 1)
    last = size if above is None else min(2 * size, math.isqrt(size * above))
    return first, last


def measured(member: MemberFindings, is_limited: IsLimited) -> list[Winner]:
    """Return the rules for a measured layout: the winners of its campaign that files can limit to
    it."""
    word = f"measured={member.layout}"
    return [_with_words(winner, [word]) for winner in _own(member, is_limited)]


def _own(member: MemberFindings, is_limited: IsLimited) -> list[Winner]:
    for_process = {winner.function for winner in member.winners if not is_limited(winner)}
    return [
        winner
        for winner in member.winners
        if winner.function not in for_process and _fits(winner, is_limited)
    ]


def carried(
    gap: Gap, members: Mapping[RankLayout, MemberFindings], is_limited: IsLimited
) -> list[Winner]:
    """Return the rules proposed for a gap: what both neighbours agree upon, then what the nearest
    `members` make expected."""
    first, last = gap.first, gap.last
    words = [
        f"nprocs={first.nprocs}-{last.nprocs}",
        f"nodes={first.nodes}-{last.nodes}",
        f"ppn={first.ppn}-{last.ppn}",
    ]
    parts = *agreed(gap, members, is_limited), predicted(gap, members, is_limited)
    return [_with_words(winner, words) for winner in _beside_each_other(*parts)]


def agreed(
    gap: Gap, members: Mapping[RankLayout, MemberFindings], is_limited: IsLimited
) -> tuple[list[Winner], list[Winner]]:
    """Return the configurations with which both neighbours of a gap are faster than the library:
    those that won at both, and all."""
    lower, upper = members[gap.lower], members[gap.upper]
    lower_own, upper_own = (_own(member, is_limited) for member in (lower, upper))
    lower_faster, upper_faster = (
        [each for each in member.faster() if _fits(each, is_limited)] for member in (lower, upper)
    )
    return (
        _common(lower_own, upper_own, gap),
        _common([*lower_own, *lower_faster], [*upper_own, *upper_faster], gap),
    )


def predicted(
    gap: Gap, members: Mapping[RankLayout, MemberFindings], is_limited: IsLimited
) -> list[Winner]:
    """Return what is faster than the library in the middle of a gap, at the sizes of its
    neighbours, by a regression over all measured cells of a configuration: over their volumes,
    nodes and ranks a node."""
    middle = gap.middle()
    sizes = [*members[gap.lower].sizes(), *members[gap.upper].sizes()]
    asked = {function: {size for of, size in sizes if of == function} for function, _ in sizes}
    cells_by_choice: dict[tuple[object, ...], dict[tuple[RankLayout, int], Winner]] = {}
    for layout in nearest(middle, members, _LAYOUTS):
        member = members[layout]
        for winner in [*member.tried(), *_own(member, is_limited)]:
            cells = cells_by_choice.setdefault(_choice(winner), {})
            ends = {winner.measured_from, winner.measured_to} - {0}
            own = {size for of, size in member.sizes() if of == winner.function} | ends
            if winner.function in asked and _fits(winner, is_limited):
                fitting = [size for size in own if holds(winner, Target(winner.function, size))]
                cells |= {(layout, size): winner for size in fitting}
    candidates = [
        cells
        for cells in cells_by_choice.values()
        if len({layout for layout, _ in cells}) > 1
        and any(winner.speedup_low > 1 for winner in cells.values())
    ]
    faster: list[Winner] = []
    for cells, curve in zip(candidates, _curves(candidates, asked, middle), strict=True):
        one = next(iter(cells.values()))
        word = f"carried={','.join(map(str, sorted({layout for layout, _ in cells})))}"
        for size, estimate in curve.items():
            if math.exp(estimate.high(_CONFIDENCE)) < _GAIN:
                range_of_size = _around(size, asked[one.function])
                faster.append(_expected(gap, _with_words(one, [word]), range_of_size, estimate))
    return faster


def _expected(
    gap: Gap, winner: Winner, range_of_size: tuple[int, int], estimate: CurveEstimate
) -> Winner:
    """Return what is chosen by a winner as a rule of a gap, with an estimated speed-up."""
    return msgspec.structs.replace(
        winner,
        nprocs=gap.first.nprocs,
        ppn=gap.first.ppn,
        bytes_from=range_of_size[0],
        bytes_to=range_of_size[1],
        speedup=math.exp(-estimate.mean),
        speedup_low=math.exp(-estimate.high(_CONFIDENCE)),
        speedup_high=math.exp(-estimate.low(_CONFIDENCE)),
        removes=[],
        tried=[],
        measured_from=0,
        measured_to=0,
    )


def _curves(
    candidates: Sequence[Mapping[tuple[RankLayout, int], Winner]],
    sizes: Mapping[str, Collection[int]],
    middle: RankLayout,
) -> list[dict[int, CurveEstimate]]:
    """Return what the measured cells of each candidate say of these sizes on a layout."""
    asked = [sorted(sizes[next(iter(cells.values())).function]) for cells in candidates]
    points = [
        [
            *(CurvePoint(size, "", "", 0.0, math.inf, middle.nodes, middle.ppn) for size in own),
            *(
                CurvePoint(
                    size, "", "", -math.log(winner.speedup), _variance(winner),
                    layout.nodes, layout.ppn,
                )
                for (layout, size), winner in cells.items()
            ),
        ]
        for own, cells in zip(asked, candidates, strict=True)
    ]  # fmt: skip
    curves = estimates(points) if points else []
    return [dict(zip(own, curve, strict=False)) for own, curve in zip(asked, curves, strict=True)]


def _variance(winner: Winner) -> float:
    """Return the variance of a log ratio by the interval of the speed-up."""
    error = math.log(winner.speedup / winner.speedup_low) / 1.96 if winner.speedup_low else 1.0
    return max(error, _ERROR) ** 2


def _common(lower: Iterable[Winner], upper: Sequence[Winner], gap: Gap) -> list[Winner]:
    """Return what is the same configuration in both, for the sizes that it has in both."""
    by_choice: dict[object, list[Winner]] = {}
    for winner in upper:
        by_choice.setdefault(_choice(winner), []).append(winner)
    return [
        msgspec.structs.replace(
            winner,
            nprocs=gap.first.nprocs,
            ppn=gap.first.ppn,
            restrictions=[*winner.restrictions, f"carried={gap.lower},{gap.upper}"],
            bytes_from=max(winner.bytes_from, counterpart.bytes_from),
            bytes_to=min(winner.bytes_to, counterpart.bytes_to),
            speedup=math.sqrt(winner.speedup * counterpart.speedup),
            speedup_low=min(winner.speedup_low, counterpart.speedup_low),
            speedup_high=max(winner.speedup_high, counterpart.speedup_high),
            removes=[],
            tried=[],
            measured_from=0,
            measured_to=0,
        )
        for winner in lower
        for counterpart in by_choice.get(_choice(winner), ())
        if max(winner.bytes_from, counterpart.bytes_from)
        <= min(winner.bytes_to, counterpart.bytes_to)
    ]


def _choice(winner: Winner) -> tuple[object, ...]:
    return (*chosen_configuration(winner), tuple(conditions(winner)))


def _fits(winner: Winner, is_limited: IsLimited) -> bool:
    return winner.function != EVERY_FUNCTION and is_limited(winner)


def _beside_each_other(*parts: Sequence[Winner]) -> list[Winner]:
    """Return the winners of all parts without overlaps: those of an earlier part come first, then
    the faster ones. A range of one configuration that goes on is one winner."""
    placed: list[Winner] = []
    for part in parts:
        for winner in sorted(part, key=lambda each: -each.speedup):
            pieces = [winner]
            for standing in placed:
                if standing.function == winner.function:
                    taken = standing.bytes_from, standing.bytes_to
                    pieces = [rest for piece in pieces for rest in without_sizes(piece, *taken)]
            placed += pieces
    placed.sort(key=lambda winner: (winner.function, winner.bytes_from))
    joined: list[Winner] = []
    for winner in placed:
        last = joined[-1] if joined else None
        goes_on = last is not None and winner.bytes_from == last.bytes_to + 1
        is_alike = last is not None and last.restrictions == winner.restrictions
        if last is not None and goes_on and is_alike and _choice(last) == _choice(winner):
            joined[-1] = _together(last, winner)
        else:
            joined.append(winner)
    return joined


def _together(lower: Winner, upper: Winner) -> Winner:
    measured_sizes = [
        size
        for winner in (lower, upper)
        for size in (winner.measured_from, winner.measured_to)
        if size
    ]
    return msgspec.structs.replace(
        lower,
        bytes_to=upper.bytes_to,
        speedup=math.sqrt(lower.speedup * upper.speedup),
        speedup_low=min(lower.speedup_low, upper.speedup_low),
        speedup_high=max(lower.speedup_high, upper.speedup_high),
        removes=sorted({*lower.removes, *upper.removes}),
        measured_from=min(measured_sizes, default=0),
        measured_to=max(measured_sizes, default=0),
    )


def _with_words(winner: Winner, words: Iterable[str]) -> Winner:
    return msgspec.structs.replace(winner, restrictions=[*winner.restrictions, *words])


def is_for_layout(winner: Winner, layout: RankLayout) -> bool:
    """Return whether a rule decides calls on communicators of this layout. A profile goes by nodes
    and ranks a node, a rules file by the number of ranks alone."""
    numbers: Mapping[str, int] = {"nprocs": layout.nprocs}
    if is_profile(winner):
        numbers = {**numbers, "nodes": layout.nodes, "ppn": layout.ppn}
    spans = {key: span(winner, key) for key in numbers}
    return all(spans[key][0] <= number <= spans[key][1] for key, number in numbers.items())


def open_share(gap: Gap, winners: Sequence[Winner], cells: Iterable[Target]) -> float:
    """Return how many of the rules that both neighbours of a gap have for these cells have no
    counterpart in its middle, as a share."""
    counted = [(lower + upper, inside) for lower, upper, inside in _decided(gap, winners, cells)]
    rules = sum(count for count, _ in counted)
    return sum(count for count, inside in counted if not inside) / rules if rules else 0.0


def differing(gap: Gap, winners: Sequence[Winner], cells: Iterable[Target]) -> list[Target]:
    """Return the cells with a rule in both neighbours of a gap and none in its middle: other rules
    won, or the check failed."""
    of_cells = list(cells)
    decided = _decided(gap, winners, of_cells)
    return [
        cell
        for cell, (lower, upper, inside) in zip(of_cells, decided, strict=True)
        if lower and upper and not inside
    ]


def _decided(
    gap: Gap, winners: Sequence[Winner], cells: Iterable[Target]
) -> list[tuple[bool, bool, bool]]:
    """Return whether there is a rule for each cell in both neighbours and in the middle."""
    lower, upper, inside = (
        [winner for winner in winners if is_for_layout(winner, layout)]
        for layout in (gap.lower, gap.upper, gap.middle())
    )
    return [
        (
            deciding(lower, cell) is not None,
            deciding(upper, cell) is not None,
            deciding(inside, cell) is not None,
        )
        for cell in cells
    ]


def is_from(winner: Winner, layout: RankLayout) -> bool:
    """Return whether the campaign of this layout has measured a rule."""
    return f"measured={layout}" in winner.restrictions
