"""Sheets of heat maps: all benchmarks of a library; or a row for each library or configuration and
a column for each benchmark, as figures 2 to 4 of A. Denis and F. Trahay, "MPI Overlap: Benchmark
and Analysis", ICPP 2016. Pure: cells in, a Vega-Lite specification out (chart.py renders it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plumbline.overlap import heatmap
from plumbline.overlap.benches import LOAD
from plumbline.overlap.difference import CampaignDifference, CellDifference
from plumbline.overlap.heatmap import APART, GREY, TIMES, Spot
from plumbline.overlap.suite import OverlapResult

# Difference maps of two overlap campaigns: ratios above, times below, a column for each benchmark.
# Pure: a difference in, a Vega-Lite specification out (chart.py renders it).

_MAP_SIDE = 190


_RATIOS, _TIMES = "overhead ratio", "time of communication and computation together"


def difference_sheet(difference: CampaignDifference, a: str, b: str) -> dict[str, Any]:
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


def difference_views(difference: CampaignDifference) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the two rows of the sheet, each with its name, as pictures of their own for a page:
    a map for each benchmark, and the legend of the row."""
    rows = [
        (_RATIOS, [*_maps(difference, times=False), beside([*_bars(difference), _words()])]),
        (_TIMES, [*_maps(difference, times=True), beside([TIMES.bar(), _words()])]),
    ]
    return [(title, [view(part) for part in parts]) for title, parts in rows]


def _maps(difference: CampaignDifference, *, times: bool) -> list[dict[str, Any]]:
    benches = dict.fromkeys(line.bench for line in difference.lines)
    return [
        _map(bench, [line for line in difference.lines if line.bench == bench], times=times)
        for bench in benches
    ]


def _bars(difference: CampaignDifference) -> list[dict[str, Any]]:
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
    return {"title": heading} | heatmap.drawn(bench, spots, _MAP_SIDE, crosses=True)


def _spot(line: CellDifference, *, times: bool) -> Spot:
    up = heatmap.height(line.bench, line.work_ns, line.threads)
    if times:
        colour = TIMES.of(line.times) if line.times_told else GREY
    else:
        scale = TIMES if line.bench == LOAD else APART
        colour = scale.of(line.overlap) if line.overlap_told else GREY
    return Spot(line.bytes, up, colour, line.measured)


def _middle(lines: Sequence[CellDifference], *, times: bool) -> list[CellDifference]:
    """Return the rank with the median (of two, the lower one) at each place."""
    places: dict[tuple[int, int, int], list[CellDifference]] = {}
    for line in lines:
        places.setdefault((line.bytes, line.work_ns, line.threads), []).append(line)
    ordered = (
        sorted(place, key=lambda line: line.times if times else line.overlap)
        for place in places.values()
    )
    return [ranked[(len(ranked) - 1) // 2] for ranked in ordered]


_COLUMNS = 3
_SIDE, _SMALL = 230, 150  # pixels of a map, alone and in a row
# Pixels at the right for fonts that are wider than those which a picture was laid out with.
_WIDER = 50


def of_one(title: str, cells: Sequence[OverlapResult], *, dots: bool = False) -> dict[str, Any]:
    """A map for each benchmark. `dots`: in the cells that were measured, not inferred."""
    maps = [heatmap.of(bench, _of(bench, cells), _SIDE, dots=dots) for bench in benches_of(cells)]
    return page(title, {"columns": _COLUMNS, "concat": maps}, legend(cells, dots=dots))


def views(cells: Sequence[OverlapResult]) -> list[dict[str, Any]]:
    """Return the maps of `of_one` and their legend, each as a picture of its own for a page."""
    maps = [heatmap.of(bench, _of(bench, cells), _SIDE) for bench in benches_of(cells)]
    return [view(chart) for chart in (*maps, beside(legend(cells, dots=False)))]


def beside(keys: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the parts of a legend below each other."""
    return {"vconcat": list(keys), "spacing": 24}


def view(part: dict[str, Any]) -> dict[str, Any]:
    """Return a map or a legend as a picture without a ground, in letters as large as a page's."""
    axis = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    config = {"aria": False, "background": "transparent", "axis": axis, "text": {"fontSize": 12}}
    padding = {"left": 4, "top": 4, "right": _WIDER, "bottom": 4}
    return part | {"padding": padding, "config": config}


def of_several(title: str, rows: Sequence[tuple[str, Sequence[OverlapResult]]]) -> dict[str, Any]:
    """`rows`: a name and the cells of each; a benchmark that a row has not is left blank."""
    every = [cell for _, cells in rows for cell in cells]
    columns = benches_of(every)
    drawn = [
        {
            "title": {"text": name, "anchor": "start", "fontSize": 13},
            "hconcat": [
                heatmap.of(bench, own_cells, _SMALL)
                if (own_cells := _of(bench, cells))
                else blank(_SMALL)
                for bench in columns
            ],
        }
        for name, cells in rows
    ]
    return page(title, {"vconcat": drawn, "spacing": 30}, legend(every, dots=False))


def benches_of(cells: Sequence[OverlapResult]) -> list[str]:
    """Return the benchmarks that anything is drawn of."""
    return list(dict.fromkeys(cell.bench for cell in cells if cell.ratio is not None))


def _of(bench: str, cells: Sequence[OverlapResult]) -> list[OverlapResult]:
    return [cell for cell in cells if cell.bench == bench and cell.ratio is not None]


def blank(side: int) -> dict[str, Any]:
    """Return a chart as wide as a map, with its invisible axis."""
    unseen = ("domain", "tick", "label", "title")
    axis = heatmap.ROOM | {f"{part}Opacity": 0 for part in unseen} | {"grid": False}
    return {
        "width": side,
        "height": side,
        "view": {"stroke": None},
        "data": {"values": [{"y": 0}]},
        "mark": {"type": "text", "text": "not measured", "color": "#777777", "x": side / 2},
        "encoding": {"y": {"field": "y", "type": "quantitative", "axis": axis}},
    }


def page(title: str, maps: dict[str, Any], keys: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Maps with their legend to the right."""
    return {
        "title": {"text": title, "anchor": "start", "fontSize": 15, "offset": 14},
        "background": "white",
        "padding": {"left": 12, "top": 12, "right": _WIDER, "bottom": 12},
        "config": {"aria": False},  # a sentence for every box
        "hconcat": [maps, beside(keys)],
        "spacing": 24,
    }


def legend(cells: Sequence[OverlapResult], *, dots: bool) -> list[dict[str, Any]]:
    """Return the legend of what occurs in these cells."""
    measured = [cell for cell in cells if cell.ratio is not None]
    load = any(result.bench == LOAD for result in measured)
    beside_work = any(result.bench != LOAD for result in measured)
    bars = [heatmap.RATIO.bar()] if beside_work else []
    bars += [heatmap.SLOWDOWN.bar()] if load else []
    entries = [("#333333", "line", "the communication alone")] if beside_work else []
    if any(result.ratio.noisy for result in measured if result.ratio is not None):
        entries.append((heatmap.GREY, "", "scatters too much to say"))
    inferred = sum(result.launches == 0 for result in measured)
    if dots:
        entries.append(("#333333", "dot", "measured"))
    if inferred:
        entries.append(("transparent", "", f"{inferred} of {len(measured)} cells inferred"))
    return [*bars, *([heatmap.key(entries)] if entries else [])]
