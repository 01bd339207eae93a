"""Scales of colours of overlap maps: from a number to a colour, and the bar that explains it. The
first is that of A. Denis and F. Trahay, "MPI Overlap: Benchmark and Analysis", ICPP 2016, III.C:
black is perfect overlap, purple close to it, red one after the other, yellow worse, cut at 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

_STEPS = 64
_WIDE, _HIGH = 14, 150  # pixels of a bar
_LINE = 18  # pixels from a line of a key to the next


class Scale(msgspec.Struct, frozen=True):
    """`stops`: values, ascending, each with its colour; outside, that of the end holds. `words`: at
    which values the bar says what. `logarithmic`: between stops, and along the bar."""

    title: str
    stops: tuple[tuple[float, str], ...]
    words: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def of(self, value: float) -> str:
        """#rrggbb. A value that is no number, or none of a logarithm, has the colour of the low
        end."""
        place = -math.inf if self.logarithmic and value <= 0 else self._place(value)
        places = [self._place(stop) for stop, _ in self.stops]
        parts = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for _, colour in self.stops]
        mixed = (np.interp(place, places, channel) for channel in zip(*parts, strict=True))
        return "#" + "".join(f"{round(float(channel)):02x}" for channel in mixed)

    def _place(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value

    def bar(self) -> dict[str, Any]:
        """The legend, as a view of a specification."""
        low_end, high_end = self._place(self.stops[0][0]), self._place(self.stops[-1][0])
        edges = np.linspace(low_end, high_end, _STEPS + 1)
        values = np.exp(edges) if self.logarithmic else edges
        boxes = [
            {"y": float(low), "y2": float(high), "colour": self.of(float(value))}
            for low, high, value in zip(
                edges[:-1], edges[1:], (values[:-1] + values[1:]) / 2, strict=True
            )
        ]
        labels = [{"y": self._place(value), "text": text} for value, text in self.words]
        y = {
            "field": "y",
            "type": "quantitative",
            "axis": None,
            "scale": {"domain": [low_end, high_end], "nice": False, "zero": False},
        }
        return {
            "title": {"text": self.title, "anchor": "start", "fontSize": 12},
            "width": _WIDE,
            "height": _HIGH,
            "view": {"stroke": None},
            "layer": [
                {
                    "data": {"values": boxes},
                    "mark": {"type": "rect", "strokeWidth": 0, "y2Offset": -0.4},
                    "encoding": {"y": y, "y2": {"field": "y2"}, "color": FILL},
                },
                {
                    "data": {"values": labels},
                    "mark": {"type": "text", "align": "left", "x": _WIDE + 6, "fontSize": 12},
                    "encoding": {"y": y, "text": {"field": "text"}},
                },
            ],
        }


# Boxes carry their colour.
FILL = {"field": "colour", "type": "nominal", "scale": None}

RATIO = Scale(
    "overhead ratio",
    ((0, "#000000"), (0.25, "#4b1091"), (0.6, "#a3188f"), (1, "#e52a20"), (2, "#ffee33")),
    (
        (0, "0: perfect overlap"),
        (0.5, "0.5"),
        (1, "1: one after the other"),
        (1.5, "1.5"),
        (2, "2 or more: worse"),
    ),
)
SLOWDOWN = Scale(
    "load: beside threads / alone",
    ((1, "#000000"), (3, "#4b1091"), (10, "#e52a20"), (1000, "#ffee33")),
    (
        (1, "1: as alone"),
        (10, "10 times as long"),
        (100, "100 times"),
        (1000, "1000 times or more"),
    ),
    logarithmic=True,
)
_BLUE, _WHITE, _RED = "#1f5fb4", "#ffffff", "#c2410c"
APART = Scale(
    "overhead ratio: A − B",
    ((-1, _BLUE), (0, _WHITE), (1, _RED)),
    (
        (-1, "−1 or less: A overlaps more"),
        (0, "0: no difference"),
        (1, "1 or more: B overlaps more"),
    ),
)
TIMES = Scale(
    "time of both together: A / B",
    ((0.25, _BLUE), (1, _WHITE), (4, _RED)),
    (
        (0.25, "¼ or less: A is shorter"),
        (0.5, "½"),
        (1, "1: equal"),
        (2, "2"),
        (4, "4 or more: B is shorter"),
    ),
    logarithmic=True,
)
GREY = "#bdbdbd"
DOT = "#00e5ff"


SQUARE = {
    "type": "point",
    "shape": "square",
    "filled": True,
    "opacity": 1,
    "size": 150,
    "x": _WIDE / 2,
}


def key(entries: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """Return what else is drawn: the colour of a box, what is in it (line, dot or nothing), the
    words."""
    rows = [
        {"y": _LINE * at + 8, "colour": box, "inside": inside, "text": text}
        for at, (box, inside, text) in enumerate(entries)
    ]
    y = {"field": "y", "type": "quantitative", "axis": None, "scale": None}
    return {
        "data": {"values": rows},
        "width": _WIDE,
        "height": _LINE * len(rows),
        "view": {"stroke": None},
        "layer": [
            {
                "mark": SQUARE,
                "encoding": {"y": y, "color": FILL},
            },
            {
                "transform": [{"filter": "datum.inside == 'line'"}],
                "mark": {"type": "rule", "x": 0, "x2": _WIDE, "strokeWidth": 2, "color": "white"},
                "encoding": {"y": y},
            },
            {
                "transform": [{"filter": "datum.inside == 'dot'"}],
                "mark": SQUARE | {"shape": "circle", "size": 7, "color": DOT},
                "encoding": {"y": y},
            },
            {
                "mark": {"type": "text", "align": "left", "x": _WIDE + 6, "fontSize": 12},
                "encoding": {"y": y, "text": {"field": "text"}},
            },
        ],
    }
