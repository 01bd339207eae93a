"""Layouts of a site: how many nodes and ranks a node are asked for, between which of them the
others lie, and which ones a sample is drawn from. Pure.

Sub-communicators are layouts too: the ranks of one node are 1 x R, one rank of each node is N x 1,
every second rank is N x R/2."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from plumbline.core.application import Application
from plumbline.system.toml import Document


class SiteTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `site` of a campaign file. `ranks`: the numbers of ranks that are asked for,
    `ranks_per_node` how many of them a node has (empty: powers of two, and all that there are).
    `every`: each of these layouts has a campaign, also where those around it predict its winners.
    `budget_seconds`: seconds in launches times nodes, for the whole site (None: each campaign has
    its own budget). `samples`: cells of the last sample."""

    ranks: list[int] = []
    ranks_per_node: list[int] = []
    every: bool = False
    budget_seconds: float | None = None
    samples: int = 24


class RankLayout(msgspec.Struct, frozen=True, order=True):
    """`nodes` with `ppn` ranks each."""

    nodes: int
    ppn: int

    @property
    def nprocs(self) -> int:
        return self.nodes * self.ppn

    def __str__(self) -> str:
        return f"{self.nodes}x{self.ppn}"


class Gap(msgspec.Struct, frozen=True):
    """The layouts from `first` to `last`, which lie between the neighbours `lower` and `upper` and
    differ from them in nodes or in ranks a node alone."""

    lower: RankLayout
    upper: RankLayout
    first: RankLayout
    last: RankLayout

    def layouts(self) -> list[RankLayout]:
        nodes = range(self.first.nodes, self.last.nodes + 1)
        ranks_per_node = range(self.first.ppn, self.last.ppn + 1)
        return [RankLayout(number, ppn) for number in nodes for ppn in ranks_per_node]

    def middle(self) -> RankLayout:
        """Return the layout that is checked: half-way, the larger one of two."""
        inside = self.layouts()
        return inside[len(inside) // 2]

    def only(self, layout: RankLayout) -> Gap:
        """Return the gap with this layout alone between the same neighbours."""
        return Gap(self.lower, self.upper, layout, layout)


def read(document: Document) -> SiteTable | None:
    """Return the table `site` of a campaign file; None where it has none. Raises UsageError that
    names the key."""
    values = document.values.get("site")
    if values is None:
        return None
    try:
        table = msgspec.convert(values, SiteTable)
    except msgspec.ValidationError as error:
        raise document.refused(f"site: {error}") from error
    if any(number < 1 for number in [*table.ranks, *table.ranks_per_node]):
        raise document.refused("site: numbers of ranks must be at least 1")
    if (table.budget_seconds or 0) < 0 or table.samples < 0:
        raise document.refused("site: budget_seconds and samples must not be negative")
    return table


def grid(table: SiteTable, most: RankLayout) -> list[RankLayout]:
    """Return the layouts that are asked for, on at most as many nodes as `most` has, the fewest
    ranks first."""
    if most.nodes == 1 and not table.ranks_per_node:
        layouts = {RankLayout(1, total) for total in table.ranks or _powers(most.ppn)}
    else:
        ranks_per_node = table.ranks_per_node or _powers(most.ppn)
        layouts = {
            RankLayout(total // ppn, ppn)
            for ppn in ranks_per_node
            for total in table.ranks or [nodes * ppn for nodes in _powers(most.nodes)]
            if total % ppn == 0 and total // ppn <= most.nodes
        }
    return in_order(layout for layout in layouts if layout.nprocs > 1)


def _powers(most: int) -> list[int]:
    """Return the powers of two up to `most`, and `most`."""
    return sorted({2**power for power in range(most.bit_length())} | {most})


def in_order(layouts: Iterable[RankLayout]) -> list[RankLayout]:
    """Return them by their number of ranks, then by their number of nodes."""
    return sorted(layouts, key=lambda layout: (layout.nprocs, layout.nodes))


def of_application(application: Application) -> dict[RankLayout, float]:
    """Return the layouts of the communicators of an application, in order, each with the seconds
    of work of its calls. Those with an uneven number of ranks a node are left out."""
    work_seconds: dict[RankLayout, float] = {}
    for call in application.calls:
        if call.nodes and call.bytes and call.nprocs > 1 and call.nprocs % call.nodes == 0:
            layout = RankLayout(call.nodes, call.nprocs // call.nodes)
            work_seconds[layout] = work_seconds.get(layout, 0.0) + call.work_seconds
    return {layout: work_seconds[layout] for layout in in_order(work_seconds)}


def ends(layouts: Sequence[RankLayout]) -> list[RankLayout]:
    """Return the layouts between which all others lie, or between others that do."""
    left = list(layouts)
    for layout in layouts:
        rest = [each for each in left if each != layout]
        if any(layout in gap.layouts() for gap in gaps(rest)):
            left = rest
    return left


def neighbour(layout: RankLayout, measured: Iterable[RankLayout]) -> RankLayout | None:
    """Return the nearest measured layout that differs in nodes or in ranks a node alone; None:
    there is none."""
    nearby = [
        candidate
        for candidate in measured
        if (candidate.nodes == layout.nodes) != (candidate.ppn == layout.ppn)
    ]

    def distance(candidate: RankLayout) -> tuple[float, int]:
        return abs(math.log(candidate.nprocs / layout.nprocs)), candidate.nprocs

    return min(nearby, key=distance, default=None)


def nearest(layout: RankLayout, measured: Iterable[RankLayout], count: int) -> list[RankLayout]:
    """Return so many of the measured layouts: those with the most similar numbers of nodes and of
    ranks a node, in order."""

    def distance(candidate: RankLayout) -> float:
        nodes, ppn = candidate.nodes / layout.nodes, candidate.ppn / layout.ppn
        return abs(math.log(nodes)) + abs(math.log(ppn))

    return in_order(sorted(measured, key=distance)[:count])


def gaps(layouts: Sequence[RankLayout]) -> list[Gap]:
    """Return what lies between neighbours among these layouts."""
    return [
        *_along(layouts, lambda layout: layout.ppn, lambda ppn, nodes: RankLayout(nodes, ppn)),
        *_along(layouts, lambda layout: layout.nodes, RankLayout),
    ]


def _along(
    layouts: Sequence[RankLayout],
    fixed: Callable[[RankLayout], int],
    at: Callable[[int, int], RankLayout],
) -> Iterator[Gap]:
    """Yield the gaps in which one of nodes and ranks a node is `fixed` and the other one grows."""
    numbers_by_fixed: dict[int, list[int]] = {}
    for layout in layouts:
        numbers_by_fixed.setdefault(fixed(layout), []).append(layout.nprocs // fixed(layout))
    for same, numbers in sorted(numbers_by_fixed.items()):
        for lower, upper in pairwise(sorted(numbers)):
            if upper - lower > 1:
                ends = (lower, upper, lower + 1, upper - 1)
                yield Gap(*(at(same, number) for number in ends))
