"""A comparison as figure 10 of seed 002 draws it: run times of both sides by message size (of
curves over ranks by these), above them the asterisks of the test where both sides were measured
together. Pure: a comparison in, a Vega-Lite specification out (chart.py renders it)."""

from __future__ import annotations

from typing import Any

from plumbline.results.compare import MatchedCell, Sample, SideComparison

# The sides can be distinguished without colour too: by shape, and by position within a size.
_COLOURS = ["#1b6ca8", "#d1761f"]
_SHAPES = ["circle", "square"]


def specification(comparison: SideComparison, a: str, b: str) -> dict[str, Any]:
    """`a`, `b`: what the sides are called. A point is the median over launches, a line reaches from
    the lower to the upper quartile."""
    names = [f"A: {a}", f"B: {b}"]
    values: list[dict[str, Any]] = []
    over_ranks = _over_ranks(comparison)
    for line in comparison.lines:
        panel = _panel(line.cell)
        on = line.cell.ranks or line.cell.nprocs
        place = {"panel": panel, "place": on if panel in over_ranks else line.cell.bytes}
        values += [
            place | _row(name, sample) for name, sample in zip(names, (line.a, line.b), strict=True)
        ]
        if line.stars:
            values.append(place | {"stars": line.stars})
    side = {"field": "side", "type": "nominal", "sort": names}
    axes = {"ranks" if _panel(line.cell) in over_ranks else "bytes" for line in comparison.lines}
    title = " or ".join(sorted(axes))
    axis = {"labelAngle": -45, "labelOverlap": True}
    x = {"field": "place", "type": "ordinal", "title": title, "axis": axis}
    colour = side | {
        "scale": {"domain": names, "range": _COLOURS},
        "legend": {"title": None, "orient": "top", "labelLimit": 500},
    }
    y = {"type": "quantitative", "scale": {"type": "log"}, "title": "run time, µs"}
    times = [{"filter": "isValid(datum.side)"}]
    layers = [
        {
            "transform": times,
            "mark": {"type": "rule", "opacity": 0.6},
            "encoding": {
                "x": x,
                "xOffset": side,
                "color": colour,
                "y": y | {"field": "low"},
                "y2": {"field": "high"},
            },
        },
        {
            "transform": times,
            "mark": {"type": "point", "filled": True, "size": 28},
            "encoding": {
                "x": x,
                "xOffset": side,
                "color": colour,
                "shape": side | {"scale": {"domain": names, "range": _SHAPES}},
                "y": y | {"field": "median"},
            },
        },
        {
            "transform": [{"filter": "isValid(datum.stars)"}],
            "mark": {"type": "text", "baseline": "top"},
            "encoding": {"x": x, "y": {"value": 2}, "text": {"field": "stars"}},
        },
    ]
    average = comparison.how.average.capitalize()
    paired = "paired by launch" if comparison.paired else "unpaired"
    signs = (
        "adjusted p: * ≤ 0.05, ** ≤ 0.01, *** ≤ 0.001"
        if comparison.together
        else "the sides were measured at different times, so no asterisks"
    )
    return {
        "title": {
            "text": f"{average}s of launches: their median and quartiles",
            "subtitle": f"{comparison.test}, {paired}, {comparison.how.alternative}; {signs}",
            "anchor": "start",
        },
        "data": {"values": values},
        "facet": {"field": "panel", "type": "nominal", "title": None, "sort": _panels(comparison)},
        "columns": 2,
        "spec": {"width": 380, "height": 180, "layer": layers},
        # Each panel with its own sizes below it: one axis below all is far from the first ones.
        "resolve": {"scale": dict.fromkeys(("x", "xOffset", "y"), "independent")},
        "config": {"background": "white", "font": "sans-serif"},
    }


def _panel(cell: MatchedCell) -> str:
    variant = "" if cell.variant in ("", "default") else f" {cell.variant}"
    return f"{cell.function.removeprefix('MPI_')}{variant} {cell.settings}".strip()


def _panels(comparison: SideComparison) -> list[str]:
    """Return the panels, those with the most cells that differ first."""
    differing: dict[str, int] = {}
    for line in comparison.lines:
        panel = _panel(line.cell)
        differs = line.verdict not in ("not shown", "not compared")
        differing[panel] = differing.get(panel, 0) + differs
    return sorted(differing, key=lambda panel: (-differing[panel], panel))


def _over_ranks(comparison: SideComparison) -> set[str]:
    """The panels whose cells differ in their ranks."""
    ranks: dict[str, set[int]] = {}
    for line in comparison.lines:
        ranks.setdefault(_panel(line.cell), set()).add(line.cell.ranks)
    return {panel for panel, rank_counts in ranks.items() if len(rank_counts) > 1}


def _row(name: str, sample: Sample) -> dict[str, Any]:
    return {
        "side": name,
        "median": 1e6 * sample.median,
        "low": 1e6 * sample.low_quartile,
        "high": 1e6 * sample.high_quartile,
    }
