"""An explanation as a picture: run times over the size, of the default, the winners and all other
candidates, with the lower bound below them, and what the models say of default and winners. Pure:
an Explanation in, a Vega-Lite specification out (chart.py renders it)."""

from __future__ import annotations

from typing import Any

from plumbline.explain.explain import Explained, Explanation

DEFAULT, WINNER, OTHERS = "default", "winner", "other candidates"
MODEL_OF_DEFAULT, MODEL_OF_WINNER = "default, by the model", "winner, by the model"
FLOOR = "lower bound"

# Told apart without colour as well: by dashes and shapes.
_SERIES = {
    OTHERS: ("#b8b8b8", [1, 0], "circle"),
    DEFAULT: ("#1b6ca8", [1, 0], "circle"),
    WINNER: ("#d1761f", [1, 0], "square"),
    MODEL_OF_DEFAULT: ("#1b6ca8", [2, 3], "triangle-up"),
    MODEL_OF_WINNER: ("#d1761f", [2, 3], "triangle-down"),
    FLOOR: ("#222222", [7, 4], "stroke"),
}


def specification(found: Explanation, title: list[str]) -> dict[str, Any]:
    """`title`: its lines."""
    values = _curves(found)
    for cell in found.cells:
        values += _candidates(cell)
    shown = [name for name in _SERIES if any(value["series"] == name for value in values)]
    series = {"field": "series", "type": "nominal"}
    domain = {"domain": shown}
    legend = {"title": None, "orient": "top", "columns": 3, "labelLimit": 300, "symbolSize": 90}
    encoding = {
        "x": {"field": "bytes", "type": "ordinal", "title": "bytes", "axis": {"labelAngle": -45}},
        "y": {
            "field": "microseconds",
            "type": "quantitative",
            "scale": {"type": "log"},
            "title": "run time, µs",
        },
        "detail": {"field": "configuration"},
        "color": series
        | {"scale": domain | {"range": [_SERIES[name][0] for name in shown]}, "legend": legend},
    }
    dashes = series | {
        "scale": domain | {"range": [_SERIES[name][1] for name in shown]},
        "legend": None,
    }
    shapes = series | {
        "scale": domain | {"range": [_SERIES[name][2] for name in shown]},
        "legend": legend,
    }
    back, front = (
        {"filter": f"datum.series == '{OTHERS}'"},
        {"filter": f"datum.series != '{OTHERS}'"},
    )
    points = {"type": "point", "filled": True, "size": 45}
    layers = [
        {"transform": [back], "mark": {"type": "line", "strokeWidth": 1}, "encoding": encoding},
        {"transform": [back], "mark": points | {"size": 14}, "encoding": encoding},
        {
            "transform": [front],
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": encoding | {"strokeDash": dashes},
        },
        {"transform": [front], "mark": points, "encoding": encoding | {"shape": shapes}},
    ]
    return {
        "title": {"text": title, "subtitle": _says(found), "anchor": "start", "fontSize": 12},
        "data": {"values": values},
        "facet": {"field": "function", "type": "nominal", "title": None},
        "columns": 2,
        "spec": {"width": 420, "height": 260, "layer": layers},
        "resolve": {"scale": {"y": "independent", "x": "independent"}},
        "config": {"background": "white", "font": "sans-serif"},
    }


def _says(found: Explanation) -> str:
    if found.basis is None:
        return "no ping-pongs are stored: no models and no lower bounds"
    if found.typical_factor is None:
        return "no candidate has a model"
    return (
        f"{found.predictions} predictions, half of them off by a factor of "
        f"{found.typical_factor:.2f} or more"
    )


def _curves(found: Explanation) -> list[dict[str, Any]]:
    values = []
    for curve in found.curves:
        values.append(_point(curve.function, curve.bytes, DEFAULT, "", curve.default_seconds))
        values.append(_point(curve.function, curve.bytes, FLOOR, "", curve.floor_seconds))
    return [value for value in values if value["microseconds"]]


def _candidates(cell: Explained) -> list[dict[str, Any]]:
    winner = cell.winner.configuration if cell.winner else ""
    same = cell.default_is[0] if cell.default_is else ""
    values = []
    if cell.winner:
        values.append(_point(cell.function, cell.bytes, WINNER, "", cell.winner.seconds))
    for candidate in cell.candidates:
        name = candidate.configuration
        if name != winner:
            values.append(_point(cell.function, cell.bytes, OTHERS, name, candidate.seconds))
        model = {winner: MODEL_OF_WINNER, same: MODEL_OF_DEFAULT}.get(name)
        if model:
            values.append(_point(cell.function, cell.bytes, model, "", candidate.loggp_seconds))
    return [value for value in values if value["microseconds"]]


def _point(
    function: str, size: int, series: str, configuration: str, seconds: float | None
) -> dict[str, Any]:
    return {
        "function": function,
        "bytes": size,
        "series": series,
        "configuration": configuration or series,
        "microseconds": None if seconds is None else 1e6 * seconds,
    }
