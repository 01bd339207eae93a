"""One heat map: message size to the right, computation (or, of the benchmark `load`, the number of
busy threads) upwards, as A. Denis and F. Trahay draw them ("MPI Overlap: Benchmark and Analysis",
ICPP 2016, III.C); no interpolation. The white line is communication alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from plumbline.overlap import suite
from plumbline.overlap.benches import LOAD
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import OverlapResult, lines
from plumbline.system import chart

# Scales of colours of overlap maps: from a number to a colour, and the bar that explains it. The
# first is that of A. Denis and F. Trahay, "MPI Overlap: Benchmark and Analysis", ICPP 2016, III.C:
# black is perfect overlap, purple close to it, red one after the other, yellow worse, cut at 2.

_STEPS = 64
_WIDE, _HIGH = 14, 150  # pixels of a bar
_LINE = 18  # pixels from a line of a key to the next


class _Scale(msgspec.Struct, frozen=True):
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
                {"data": {"values": boxes}}
                | chart.layer(
                    "rect",
                    {"y": y, "y2": {"field": "y2"}, "color": _FILL},
                    strokeWidth=0,
                    y2Offset=-0.4,
                ),
                {"data": {"values": labels}} | _words_at(y),
            ],
        }


def _words_at(y: dict[str, Any]) -> dict[str, Any]:
    """Return the layer of the words beside a bar or a key."""
    words = {"y": y, "text": {"field": "text"}}
    return chart.layer("text", words, align="left", x=_WIDE + 6, fontSize=12)


# Boxes carry their colour.
_FILL = {"field": "colour", "type": "nominal", "scale": None}

RATIO = _Scale(
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
SLOWDOWN = _Scale(
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
APART = _Scale(
    "overhead ratio: A − B",
    ((-1, _BLUE), (0, _WHITE), (1, _RED)),
    (
        (-1, "−1 or less: A overlaps more"),
        (0, "0: no difference"),
        (1, "1 or more: B overlaps more"),
    ),
)
TIMES = _Scale(
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
_DOT = "#00e5ff"


_SQUARE = {
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
            {"mark": _SQUARE, "encoding": {"y": y, "color": _FILL}},
            {"transform": [{"filter": "datum.inside == 'line'"}]}
            | chart.layer("rule", {"y": y}, x=0, x2=_WIDE, strokeWidth=2, color="white"),
            {
                "transform": [{"filter": "datum.inside == 'dot'"}],
                "mark": _SQUARE | {"shape": "circle", "size": 7, "color": _DOT},
                "encoding": {"y": y},
            },
            _words_at(y),
        ],
    }


_LABELS = 6  # on an axis
# Room for labels, the same beside all maps, so that those of a column stand one below the other.
ROOM = {"minExtent": 30, "maxExtent": 30}
_BYTES = (
    "datum.value >= 1048576 ? round(10 * datum.value / 1048576) / 10 + 'M' : "
    "datum.value >= 1024 ? round(10 * datum.value / 1024) / 10 + 'k' : datum.value"
)
_MICROSECONDS = (
    "datum.value >= 1000000 ? datum.value / 1000000 + 'M' : "
    "datum.value >= 1000 ? datum.value / 1000 + 'k' : datum.value"
)

# Boxes that overlap by a little, so that no background shines through between them.
CLOSE = {"type": "rect", "strokeWidth": 0, "x2Offset": 0.4, "y2Offset": -0.4}

CROSS = "M-1,-1L1,1M-1,1L1,-1"

Span = tuple[float, float]


class Spot(msgspec.Struct, frozen=True):
    """A cell of a map. `up`: microseconds of computation, or a number of threads."""

    bytes: int
    up: float
    colour: str
    measured: bool = True


def spots(cells: Sequence[OverlapResult]) -> list[Spot]:
    """Return the spots of one benchmark; of several ranks the rank in the middle."""
    return [
        Spot(
            result.bytes,
            height(result.bench, result.work_ns, result.threads),
            _colour(result.bench, ratio),
            result.launches > 0,
        )
        for result, ratio in middle(cells)
    ]


def height(bench: str, work_ns: int, threads: int) -> float:
    return float(threads) if bench == LOAD else work_ns / 1000


def _colour(bench: str, ratio: Ratio) -> str:
    if ratio.noisy:
        return GREY
    return (SLOWDOWN if bench == LOAD else RATIO).of(ratio.value)


def middle(cells: Sequence[OverlapResult]) -> list[tuple[OverlapResult, Ratio]]:
    """Return the rank in the middle at each size and amount of work (`spreads`)."""
    medians = [spread.median for spread in suite.spreads(cells)]
    return [(result, result.ratio) for result in medians if result.ratio is not None]


def title(bench: str, cells: Sequence[OverlapResult]) -> dict[str, Any]:
    """Return the title, with what a map of one rank does not show of the other ranks."""
    spreads = suite.spreads(cells)
    every = max((spread.ranks for spread in spreads), default=0)
    heading: dict[str, Any] = {"text": bench, "fontSize": 13}
    if every > 1:
        apart = max(suite.ranks_apart(spread) for spread in spreads)
        heading["subtitle"] = f"median of {every} ranks, up to {apart:.2g} apart"
        heading["subtitleFontSize"] = 11
    return heading


def of(
    bench: str, cells: Sequence[OverlapResult], side: int, *, dots: bool = False
) -> dict[str, Any]:
    """The map of a benchmark, `side` pixels wide; with `dots` in measured cells."""
    line = {} if bench == LOAD else {size: 1e6 * line for size, line in lines(cells).items()}
    drawing = drawn(bench, spots(cells), side, line=line, dots=dots)
    return {"title": title(bench, cells)} | drawing


def drawn(
    bench: str,
    every: Sequence[Spot],
    side: int,
    *,
    line: Mapping[int, float] | None = None,
    dots: bool = False,
    crosses: bool = False,
) -> dict[str, Any]:
    """Return a map of spots of any colour, without a title. `line`: microseconds by size.
    `crosses`: where there is no cell."""
    places = _places(sorted({spot.bytes for spot in every}))
    across = _spans(list(places.values()))
    levels = sorted({spot.up for spot in every})
    up = _levels(levels) if bench == LOAD else _spans(levels)
    rows = []
    for spot in every:
        (x, x2), (y, y2) = across[places[spot.bytes]], up[spot.up]
        rows.append({"x": x, "x2": x2, "y": y, "y2": y2, "colour": spot.colour})
    encoding = _axes(places, across, up, bench)
    boxes = encoding | {"x2": {"field": "x2"}, "y2": {"field": "y2"}, "color": _FILL}
    layers: list[dict[str, Any]] = [{"data": {"values": rows}, "mark": CLOSE, "encoding": boxes}]
    if line:
        values = [{"x": places[size], "y": value} for size, value in line.items()]
        for colour, width in (("#000000", 4), ("#ffffff", 2)):  # seen on yellow as well
            mark = {"type": "line", "clip": True, "color": colour, "strokeWidth": width}
            layers.append({"data": {"values": values}, "mark": mark, "encoding": encoding})
    middles = {work: _middle(span, bench) for work, span in up.items()}
    if dots:
        points = [(places[spot.bytes], middles[spot.up]) for spot in every if spot.measured]
        layers.append(_points(points, encoding, {"size": 7, "filled": True, "color": _DOT}))
    if crosses:
        measured = {(places[spot.bytes], spot.up) for spot in every}
        points = [
            (size, middles[work]) for size in across for work in up if (size, work) not in measured
        ]
        layers.append(_points(points, encoding, {"size": 25, "shape": CROSS, "color": GREY}))
    return {"width": side, "height": side, "layer": layers}


def _points(
    places: Sequence[tuple[float, float]], encoding: Mapping[str, Any], mark: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "data": {"values": [{"x": x, "y": y} for x, y in places]},
        "mark": {"type": "point", "opacity": 1} | dict(mark),
        "encoding": encoding,
    }


def _axes(
    places: Mapping[int, float], across: Mapping[float, Span], up: Mapping[float, Span], bench: str
) -> dict[str, Any]:
    nothing = f"datum.value == {places[0]} ? '0' : " if 0 in places else ""
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2, "nice": False, "domain": _ends(across)},
        "axis": {
            "title": "message, bytes",
            "values": _some(list(places.values())),
            "labelExpr": nothing + _BYTES,
            "labelOverlap": True,
            "grid": False,
        },
    }
    if bench == LOAD:
        names = "[" + ", ".join(f"{level:g}" for level in up) + "]"
        axis = {
            "title": "busy threads",
            "values": _some(range(len(up))),
            "labelExpr": f"{names}[datum.value]",
        }
        scale: dict[str, Any] = {"nice": False, "zero": False}
    else:
        axis = {
            "title": "computation, µs",
            "values": _decades(list(up)),
            "labelExpr": _MICROSECONDS,
        }
        scale = {"type": "log", "nice": False}
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": scale | {"domain": _ends(up)},
        "axis": axis | ROOM | {"grid": False},
    }
    return {"x": x, "y": y}


def _some(every: Sequence[float]) -> list[float]:
    return list(every[:: max(1, math.ceil(len(every) / _LABELS))])


def _decades(every: Sequence[float]) -> list[float]:
    """Powers of ten between the values; where there are fewer than two, values."""
    tens = [10.0**power for power in range(-3, 10) if every[0] <= 10.0**power <= every[-1]]
    return tens if len(tens) > 1 else _some(every)


def _ends(spans: Mapping[float, Span]) -> list[float]:
    return [min(low for low, _ in spans.values()), max(high for _, high in spans.values())]


def _places(sizes: Sequence[int]) -> dict[int, float]:
    """Return where sizes stand on the axis: a logarithm has no zero, so no bytes at all stand as
    far below the smallest message as the next one stands above it."""
    place_by_size = {size: float(size) for size in sizes if size}
    if sizes[0] == 0:
        first = sizes[1] if len(sizes) > 1 else 1
        second = sizes[2] if len(sizes) > 2 else 2 * first
        place_by_size = {0: first * first / second, **place_by_size}
    return place_by_size


def _middle(span: Span, bench: str) -> float:
    return sum(span) / 2 if bench == LOAD else math.sqrt(span[0] * span[1])


def _levels(every: Sequence[float]) -> dict[float, Span]:
    """One above the other, whatever lies between them."""
    return {value: (at - 0.5, at + 0.5) for at, value in enumerate(every)}


def _spans(every: Sequence[float]) -> dict[float, Span]:
    """Return the span of each value, on logarithms: from the middle between it and the value below
    to the middle between it and the value above; at the ends as far outside as inside, for a single
    value a factor of 2."""
    if len(every) == 1:
        return {every[0]: (every[0] / math.sqrt(2), every[0] * math.sqrt(2))}
    low, high = every[0] ** 2 / every[1], every[-1] ** 2 / every[-2]
    around = [low, *every, high]
    return {
        value: (math.sqrt(below * value), math.sqrt(value * above))
        for below, value, above in zip(around, every, around[2:], strict=False)
    }
