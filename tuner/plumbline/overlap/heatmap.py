"""Heat maps of overlap, in the colours of A. Denis and F. Trahay, "MPI Overlap: Benchmark and
Analysis", ICPP 2016, section III.C: message size to the right, work upwards; black is perfect
overlap, red one after the other, yellow worse, cut at 2. The white line is communication alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plumbline.overlap.suite import Cell, lines

_COLUMNS = 3
_SIDE = 230  # pixels
_LABELS = 6  # on the axis of sizes
_BYTES = (
    "datum.value >= 1048576 ? round(10 * datum.value / 1048576) / 10 + 'M' : "
    "datum.value >= 1024 ? round(10 * datum.value / 1024) / 10 + 'k' : datum.value"
)


def sheet(title: str, cells: Sequence[Cell]) -> dict[str, Any]:
    """A Vega-Lite specification with a map for each benchmark."""
    benches = list(dict.fromkeys(one.bench for one in cells))
    return {
        "title": {"text": title, "anchor": "start"},
        "background": "white",
        "config": {"aria": False},  # a sentence for every box
        "columns": _COLUMNS,
        "concat": [
            one_map(bench, [one for one in cells if one.bench == bench]) for bench in benches
        ],
        "resolve": {"scale": {"color": "shared"}},
    }


def one_map(bench: str, cells: Sequence[Cell]) -> dict[str, Any]:
    sizes = sorted({one.bytes for one in cells})
    works = sorted({one.work_ns for one in cells})
    measured = [
        {
            **_box("x", one.bytes, sizes),
            **_box("y", one.work_ns / 1000, [work / 1000 for work in works]),
            "ratio": one.ratio.value,
        }
        for one in cells
        if one.ratio is not None
    ]
    noisy = [row for row, one in zip(measured, _told(cells), strict=True) if one.noisy]
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {
            "title": "bytes",
            "values": sizes[:: max(1, len(sizes) // _LABELS)],
            "labelExpr": _BYTES,
            "labelOverlap": True,
            "grid": False,
        },
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False},
        "axis": {"title": "work, µs", "grid": False, "tickCount": 4},
    }
    color = {
        "field": "ratio",
        "type": "quantitative",
        "scale": {
            "domain": [0, 0.5, 1, 2],
            "range": ["#000000", "#7b1fa2", "#e53020", "#ffee33"],
            "clamp": True,
            "interpolate": "rgb",
        },
        "legend": {"title": "overhead ratio", "values": [0, 0.5, 1, 1.5, 2]},
    }
    boxes = {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}}
    line = [{"x": size, "y": 1e6 * seconds} for size, seconds in lines(cells).items()]
    shown = [one for one in line if _within(one["y"], works)]
    return {
        "title": bench,
        "width": _SIDE,
        "height": _SIDE,
        "layer": [
            {
                "data": {"values": measured},
                "mark": {"type": "rect", "strokeWidth": 0},
                "encoding": boxes | {"color": color},
            },
            {
                "data": {"values": noisy},
                "mark": {"type": "rect", "color": "#bbbbbb"},
                "encoding": boxes,
            },
            {
                "data": {"values": shown},
                "mark": {"type": "line", "color": "white", "strokeWidth": 2},
                "encoding": {"x": x, "y": y},
            },
        ],
    }


def _told(cells: Sequence[Cell]) -> list[Any]:
    return [one.ratio for one in cells if one.ratio is not None]


def _within(microseconds: float, works: Sequence[int]) -> bool:
    return works[0] / 1000 <= microseconds <= works[-1] / 1000


def _box(axis: str, value: float, every: Sequence[float]) -> dict[str, float]:
    """From the middle between the value and the one below to that between it and the one above."""
    place = every.index(value)
    below = every[place - 1] if place else _beyond(every, 1)
    above = every[place + 1] if place + 1 < len(every) else _beyond(every, -2)
    return {axis: math.sqrt(value * below), f"{axis}2": math.sqrt(value * above)}


def _beyond(every: Sequence[float], neighbour: int) -> float:
    """As far outside as the neighbour inside is away; of a single value a factor of 2."""
    if len(every) == 1:
        return every[0] * (2 if neighbour < 0 else 0.5)
    end = every[0] if neighbour > 0 else every[-1]
    return end * end / every[neighbour]
