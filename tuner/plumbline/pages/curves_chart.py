"""All chosen curves in one picture. Pure: curves in, a Vega-Lite specification out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plumbline.pages.curve import Curve, PlottedPoint
from plumbline.system import chart

# Okabe and Ito's colours that stand out on white, told apart without colour by shape and dashes.
_COLOURS = ["#0072b2", "#d55e00", "#007a5a", "#b0508c", "#8a6d00", "#3b3b3b", "#1f8fc4", "#a33b00"]
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
_DASHES = [[1, 0], [6, 3], [2, 2]]
_MOST_TEXT = 80


def specification(
    curves: Sequence[Curve], *, x: str, y: str, ratios: bool, zoom: bool
) -> dict[str, Any]:
    """`ratios`: to the base in place of times. `zoom`: by wheel and dragging, for browsers."""
    texts = [
        _short(f"{place}. {single_curve.text}") for place, single_curve in enumerate(curves, 1)
    ]
    values = [
        {"curve": text} | _row(point, ratios=ratios)
        for text, single_curve in zip(texts, curves, strict=True)
        for point in single_curve.points
        if not ratios or point.factor is not None
    ]
    base = next((place for place, single_curve in enumerate(curves, 1) if single_curve.is_base), 0)
    title = f"run time over that of curve {base}" if ratios else "run time, µs"
    axis = curves[0].axis if curves else "bytes"
    places = sorted({point.place for single_curve in curves for point in single_curve.points})
    encoding = _encoding(texts, axis, places, x, y, title)
    points: dict[str, Any] = {
        "mark": {"type": "point", "filled": True, "size": 45},
        "encoding": {"shape": _shape(texts), "tooltip": _tooltip(axis, base)},
    }
    if zoom:
        points["params"] = [{"name": "zoom", "select": "interval", "bind": "scales"}]
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "opacity": 0.55},
            "encoding": {"y": encoding["y"] | {"field": "low"}, "y2": {"field": "high"}},
        },
        {"mark": {"type": "line", "opacity": 0.8}, "encoding": {"strokeDash": _dash(texts)}},
        points,
    ]
    if axis == "rank":  # between ranks there is nothing
        del layers[1]
    if ratios:
        layers.insert(0, _level())
    return {
        "width": 640,
        "height": 400,
        "data": {"values": values},
        "encoding": encoding,
        "layer": layers,
        "config": {"background": "white", "font": "sans-serif"},
    }


def below_each_other(pictures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several of them in one."""
    panels = [
        {key: picture[key] for key in picture if key != "config"} | {"width": 520, "height": 260}
        for picture in pictures
    ]
    return {
        "vconcat": panels,
        "resolve": {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")},
        "config": pictures[0]["config"],
    }


def _encoding(
    texts: list[str], over: str, places: list[int], x: str, y: str, title: str
) -> dict[str, Any]:
    scale: dict[str, Any] = {"type": "symlog" if x == "log" else "linear"}
    scale |= {"nice": False, "padding": 10, "zero": False}
    axis: dict[str, Any] = {"labelOverlap": True, "labelExpr": chart.IN_POWERS_OF_TWO}
    if over != "bytes":
        axis = {"labelOverlap": True, "values": places, "format": "d"}
        scale["type"] = "linear" if x == "linear" or over == "rank" else "log"
    if scale["type"] == "log":
        del scale["zero"]
    elif x == "log" and over == "bytes":
        axis["values"] = [0, *(4**power for power in range(31))]
    colour = {"domain": texts, "range": _cycle(_COLOURS, texts)}
    return {
        "x": {
            "field": "place",
            "type": "quantitative",
            "title": over,
            "scale": scale,
            "axis": axis,
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": title,
            "scale": {"type": "log"} if y == "log" else {"type": "linear", "zero": False},
        },
        "color": {
            "field": "curve",
            "type": "nominal",
            "scale": colour,
            "legend": {
                "title": None,
                "orient": "bottom",
                "columns": 1,
                "labelLimit": 620,
            },
        },
    }


def _cycle(values: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    return [values[place % len(values)] for place in range(len(texts))]


def _shape(texts: list[str]) -> dict[str, Any]:
    scale = {"domain": texts, "range": _cycle(_SHAPES, texts)}
    return {"field": "curve", "type": "nominal", "scale": scale}


def _dash(texts: list[str]) -> dict[str, Any]:
    """Another one when all colours were used."""
    dashes = [_DASHES[place // len(_COLOURS) % len(_DASHES)] for place in range(len(texts))]
    scale = {"domain": texts, "range": dashes}
    return {"field": "curve", "type": "nominal", "scale": scale}


def _level() -> dict[str, Any]:
    return {
        "mark": {"type": "rule", "color": "#555", "strokeDash": [3, 3]},
        "encoding": {"y": {"datum": 1}, "x": None, "color": None},
    }


def _tooltip(over: str, base: int) -> list[dict[str, str]]:
    return [
        {"field": "curve", "title": "curve"},
        {"field": "place", "title": over},
        {"field": "n", "title": "launches (n)"},
        {"field": "time", "title": "median, µs"},
        {"field": "interval", "title": "95 % interval, µs"},
        {"field": "factor", "title": f"times that of curve {base}"},
        {"field": "why", "title": "added for"},
    ]


def _row(point: PlottedPoint, *, ratios: bool) -> dict[str, Any]:
    factor = point.factor
    row: dict[str, Any] = {
        "place": point.place,
        "n": point.n,
        "time": f"{1e6 * point.seconds:.4g}",
        "interval": "too few launches",
        "factor": "",
        "why": point.why or "it was asked for",
    }
    if point.low is not None and point.high is not None:
        row["interval"] = f"{1e6 * point.low:.4g} to {1e6 * point.high:.4g}"
    if factor is not None:
        row["factor"] = f"{factor.ratio:.3g}"
        if factor.low is not None and factor.high is not None:
            row["factor"] += f" ({factor.low:.3g} to {factor.high:.3g})"
        row["factor"] += "" if factor.together else ", measured apart"
    if ratios and factor is not None:
        return row | {"value": factor.ratio, "low": factor.low, "high": factor.high}
    low, high = (None if seconds is None else 1e6 * seconds for seconds in (point.low, point.high))
    return row | {"value": 1e6 * point.seconds, "low": low, "high": high}


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"
