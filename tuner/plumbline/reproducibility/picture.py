"""Figure 12 of seed 002 for what was measured here: normalised run times of every trial, by size,
ours beside the plain schemes. Pure: a report in, a Vega-Lite specification out."""

from __future__ import annotations

from typing import Any

from plumbline.reproducibility.report import SpreadTable
from plumbline.reproducibility.spread import normalised

NAMES = {
    "ours": "ours",
    "each": "plain, each call timed (OMB, IMB)",
    "series": "plain, one series (IMB 4)",
}
# The series can be distinguished without colour too: by shape, and by position within a size.
_COLOURS = ["#1b6ca8", "#d1761f", "#8a8a8a"]
_SHAPES = ["circle", "square", "triangle-up"]


def specification(table: SpreadTable) -> dict[str, Any]:
    values = [
        {
            "function": row.function.removeprefix("MPI_"),
            "ranks": f"{row.nprocs} ranks",
            "bytes": row.bytes,
            "scheme": NAMES[scheme],
            "ratio": round(float(ratio), 5),
        }
        for row in table.rows
        for scheme, seconds in (
            ("ours", row.ours.seconds),
            *((name, spread.seconds) for name, spread in row.plain.items()),
        )
        for ratio in normalised(seconds)
    ]
    names = list(NAMES.values())
    scheme = {"field": "scheme", "type": "nominal", "sort": names}
    # All panels share one axis, which ends at the largest value.
    top = max((float(value["ratio"]) for value in values), default=1.0)  # type: ignore[arg-type]
    y = {
        "field": "ratio",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [1, max(1.05, top)], "nice": False},
        "title": "run time / least of the trials",
        "axis": {"values": [1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50], "format": "~g"},
    }
    place = {
        "x": {
            "field": "bytes",
            "type": "ordinal",
            "title": "bytes",
            "axis": {"labelAngle": 0},
        },
        "xOffset": scheme,
        "y": y,
        "color": scheme
        | {
            "scale": {"domain": names, "range": _COLOURS},
            "legend": {"title": None, "orient": "top", "labelLimit": 400},
        },
    }
    rule = {
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": place
        | {
            "y": y | {"aggregate": "min"},
            "y2": {"field": "ratio", "aggregate": "max"},
        },
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 14, "opacity": 0.75},
        "encoding": place | {"shape": scheme | {"scale": {"domain": names, "range": _SHAPES}}},
    }
    return {
        "title": {
            "text": f"{table.trials} trials, each divided by the least",
            "subtitle": f"ours: median of {table.launches} launches; plain: one launch",
            "anchor": "start",
        },
        "data": {"values": values},
        "facet": {
            "row": {"field": "ranks", "type": "nominal", "title": None},
            "column": {"field": "function", "type": "nominal", "title": None},
        },
        "spec": {"width": 330, "height": 200, "layer": [rule, points]},
        "config": {"background": "white", "font": "sans-serif"},
    }
