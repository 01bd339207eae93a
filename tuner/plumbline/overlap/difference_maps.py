"""Difference maps of two overlap campaigns: ratios above, times below, a column for each benchmark.
Pure: a difference in, a Vega-Lite specification out (chart.py renders it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plumbline.overlap import heatmap
from plumbline.overlap.benches import LOAD
from plumbline.overlap.difference import CellDifference, Difference
from plumbline.overlap.heatmap import APART, GREY, TIMES, Spot
from plumbline.overlap.sheet import beside, page, view

_SIDE = 190


_RATIOS, _TIMES = "overhead ratio", "time of communication and computation together"


def sheet(difference: Difference, a: str, b: str) -> dict[str, Any]:
    """`a`, `b`: what the sides are called."""
    rows = [
        {
            "title": {"text": title, "anchor": "start", "fontSize": 13},
            "hconcat": _maps(difference, times=times),
        }
        for title, times in ((_RATIOS, False), (_TIMES, True))
    ]
    spec = page("", {"vconcat": rows, "spacing": 30}, [*_bars(difference), TIMES.bar(), _words()])
    spec["title"] = {
        "text": [f"A: {a}", f"B: {b}"],
        "subtitle": "Measured apart: what changed in the machine between them is in these maps.",
        "anchor": "start",
        "fontSize": 14,
        "offset": 14,
    }
    return spec


def views(difference: Difference) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the two rows of the sheet, each with its name, as pictures of their own for a page:
    a map for each benchmark, and the legend of the row."""
    rows = [
        (_RATIOS, [*_maps(difference, times=False), beside([*_bars(difference), _words()])]),
        (_TIMES, [*_maps(difference, times=True), beside([TIMES.bar(), _words()])]),
    ]
    return [(title, [view(part) for part in parts]) for title, parts in rows]


def _maps(difference: Difference, *, times: bool) -> list[dict[str, Any]]:
    benches = dict.fromkeys(line.bench for line in difference.lines)
    return [
        _map(bench, [line for line in difference.lines if line.bench == bench], times=times)
        for bench in benches
    ]


def _bars(difference: Difference) -> list[dict[str, Any]]:
    """The legend of ratios: the benchmark of load has none."""
    return [APART.bar()] if any(line.bench != LOAD for line in difference.lines) else []


def _words() -> dict[str, Any]:
    return heatmap.key([(GREY, "", "not told apart"), ("transparent", "", "×: not on both sides")])


def _map(bench: str, lines: Sequence[CellDifference], *, times: bool) -> dict[str, Any]:
    spots = [_spot(difference, times=times) for difference in _middle(lines, times=times)]
    ranks = len({line.rank for line in lines})
    words = ["slowdowns A / B, in the colours of times"] if bench == LOAD and not times else []
    words += [f"median of {ranks} ranks"] if ranks > 1 else []
    heading = {"text": bench, "subtitle": words, "fontSize": 13, "subtitleFontSize": 11}
    return {"title": heading} | heatmap.drawn(bench, spots, _SIDE, crosses=True)


def _spot(line: CellDifference, *, times: bool) -> Spot:
    up = heatmap.height(line.bench, line.work_ns, line.threads)
    if times:
        colour = TIMES.of(line.times) if line.times_told else GREY
    else:
        scale = TIMES if line.bench == LOAD else APART
        colour = scale.of(line.overlap) if line.overlap_told else GREY
    return Spot(line.bytes, up, colour, line.measured)


def _middle(lines: Sequence[CellDifference], *, times: bool) -> list[CellDifference]:
    """Return that of each place the rank with the median (of two, the lower one)."""
    places: dict[tuple[int, int, int], list[CellDifference]] = {}
    for line in lines:
        places.setdefault((line.bytes, line.work_ns, line.threads), []).append(line)
    ordered = (
        sorted(place, key=lambda line: line.times if times else line.overlap)
        for place in places.values()
    )
    return [ranked[(len(ranked) - 1) // 2] for ranked in ordered]
