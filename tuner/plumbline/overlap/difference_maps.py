"""Difference maps of two overlap campaigns: ratios above, times below, a column for each benchmark.
Pure: a difference in, a Vega-Lite specification out (chart.py renders it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plumbline.overlap import colours, heatmap
from plumbline.overlap.benches import LOAD
from plumbline.overlap.colours import APART, GREY, TIMES
from plumbline.overlap.difference import CellDifference, Difference
from plumbline.overlap.heatmap import Spot
from plumbline.overlap.sheet import page

_SIDE = 190


def sheet(found: Difference, a: str, b: str) -> dict[str, Any]:
    """`a`, `b`: what the sides are called."""
    benches = list(dict.fromkeys(line.bench for line in found.lines))
    rows = []
    for what, times in (
        ("overhead ratio", False),
        ("time of communication and computation together", True),
    ):
        maps = [
            _map(bench, [line for line in found.lines if line.bench == bench], times=times)
            for bench in benches
        ]
        heading = {"text": what, "anchor": "start", "fontSize": 13}
        rows.append({"title": heading, "hconcat": maps})
    words = [(GREY, "", "not told apart"), ("#ffffff", "", "×: not on both sides")]
    bars = [APART.bar()] if any(bench != LOAD for bench in benches) else []
    spec = page("", {"vconcat": rows, "spacing": 30}, [*bars, TIMES.bar(), colours.key(words)])
    spec["title"] = {
        "text": [f"A: {a}", f"B: {b}"],
        "subtitle": "Measured apart: what changed in the machine between them is in these maps.",
        "anchor": "start",
        "fontSize": 14,
        "offset": 14,
    }
    return spec


def _map(bench: str, lines: Sequence[CellDifference], *, times: bool) -> dict[str, Any]:
    spots = [_spot(difference, times=times) for difference in _middle(lines, times=times)]
    ranks = len({line.rank for line in lines})
    words = ["slowdowns A / B, in the colours of times"] if bench == LOAD and not times else []
    words += [f"median of {ranks} ranks"] if ranks > 1 else []
    heading = {"text": bench, "subtitle": words, "fontSize": 13, "subtitleFontSize": 11}
    return heatmap.drawn(heading, bench, spots, {}, _SIDE, crosses=True)


def _spot(line: CellDifference, *, times: bool) -> Spot:
    up = heatmap.height(line.bench, line.work_ns, line.threads)
    if times:
        colour = TIMES.of(line.times) if line.times_told else GREY
    else:
        scale = TIMES if line.bench == LOAD else APART
        colour = scale.of(line.overlap) if line.overlap_told else GREY
    return Spot(line.bytes, up, colour, line.measured)


def _middle(lines: Sequence[CellDifference], *, times: bool) -> list[CellDifference]:
    """Of each place the rank with the median (of two, the lower one)."""
    places: dict[tuple[int, int, int], list[CellDifference]] = {}
    for line in lines:
        places.setdefault((line.bytes, line.work_ns, line.threads), []).append(line)
    ordered = (
        sorted(place, key=lambda one: one.times if times else one.overlap)
        for place in places.values()
    )
    return [those[(len(those) - 1) // 2] for those in ordered]
