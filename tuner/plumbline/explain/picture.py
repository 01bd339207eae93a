"""An explanation as a picture: run times over the size, of the default, the winners and all other
candidates, with the lower bound below them, and what the models say of default and winners. Lines
end where a size between was not measured. Pure: an Explanation in, a Vega-Lite specification out
(chart.py renders it)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.explain.explain import Explained, Explanation
from plumbline.system import chart
from plumbline.system.chart import Palette

DEFAULT, WINNER, OTHERS = "default", "winner", "other candidates"
MODEL_OF_DEFAULT, MODEL_OF_WINNER = "default, by the model", "winner, by the model"
FLOOR = "lower bound with messages"  # memory that ranks share may be faster


def _series(palette: Palette) -> dict[str, tuple[str, list[int], str]]:
    """Return colour, dashes and shape of each series: without colours they differ as well."""
    return {
        OTHERS: (palette.others, [1, 0], "circle"),
        DEFAULT: (palette.default, [1, 0], "circle"),
        WINNER: (palette.winner, [1, 0], "square"),
        MODEL_OF_DEFAULT: (palette.default, [2, 3], "triangle-up"),
        MODEL_OF_WINNER: (palette.winner, [2, 3], "triangle-down"),
        FLOOR: (palette.text, [7, 4], "stroke"),
    }


def specification(explanation: Explanation, title: list[str]) -> dict[str, Any]:
    """`title`: its lines."""
    sizes: dict[str, set[int]] = {}
    places = [(curve.function, curve.bytes) for curve in explanation.curves]
    places += [(cell.function, cell.bytes) for cell in explanation.cells]
    for function, size in places:
        sizes.setdefault(function, set()).add(size)
    values = _curves(explanation)
    for cell in explanation.cells:
        values += _candidates(cell)
    values = _in_pieces(values, {name: sorted(its_sizes) for name, its_sizes in sizes.items()})
    return {
        "title": {"text": title, "subtitle": _says(explanation), "anchor": "start", "fontSize": 12},
        "data": {"values": values},
        "columns": 2,
        "concat": [
            _panel(name, sorted(sizes[name]), values, chart.LIGHT)
            | {"transform": [{"filter": f"datum.function == '{name}'"}]}
            for name in sizes
        ],
        "config": {"background": "white", "font": "sans-serif"},
    }


def of_function(
    explanation: Explanation, function: str, tuned: Mapping[int, float], palette: Palette
) -> dict[str, Any]:
    """Return a panel with its data, of one function without the models of its candidates. `tuned`:
    seconds with the winners by size, as measured in the last table."""
    values = [value for value in _curves(explanation) if value["function"] == function]
    for cell in explanation.cells:
        if cell.function == function:
            values += [value for value in _candidates(cell) if value["series"] == OTHERS]
    values += [_point(function, size, WINNER, "", seconds) for size, seconds in tuned.items()]
    sizes = sorted({value["bytes"] for value in values})
    values = _in_pieces(values, {function: sizes})
    return _panel(function, sizes, values, palette) | {"data": {"values": values}}


def _panel(
    function: str, sizes: Sequence[int], values: Sequence[dict[str, Any]], palette: Palette
) -> dict[str, Any]:
    """Return the panel of a function, one of those of the values. Its axis is logarithmic; a call
    without bytes has one place."""
    series_of = {value["series"] for value in values}
    of_series = {name: look for name, look in _series(palette).items() if name in series_of}
    shown = list(of_series)
    others = any(point["series"] == OTHERS and point["function"] == function for point in values)
    bytes_axis: dict[str, Any] = {"type": "ordinal", "title": "bytes", "axis": {"labelAngle": 0}}
    if sizes[0] > 0:
        bytes_axis = chart.log_bytes(sizes)
    series = {"field": "series", "type": "nominal"}
    legend = {"title": None, "orient": "top", "columns": 3, "labelLimit": 300, "symbolSize": 90}
    colours, dashes, shapes = (
        {"scale": {"domain": shown, "range": [look[place] for look in of_series.values()]}}
        for place in range(3)
    )
    encoding = {
        "x": {"field": "bytes"} | bytes_axis,
        "y": {
            "field": "microseconds",
            "type": "quantitative",
            "scale": {"type": "log"},
            "title": "run time, µs",
        },
        "detail": [{"field": "configuration"}, {"field": "piece"}],
        "color": series | colours | {"legend": legend},
    }
    back, front = ({"filter": f"datum.series {sign} '{OTHERS}'"} for sign in ("==", "!="))
    points = {"type": "point", "filled": True, "size": 45}
    layers = [
        {"transform": [back], "mark": {"type": "line", "strokeWidth": 1}, "encoding": encoding},
        {"transform": [back], "mark": points | {"size": 14}, "encoding": encoding},
        {
            "transform": [front],
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": encoding | {"strokeDash": series | dashes | {"legend": legend}},
        },
        {
            "transform": [front],
            "mark": points,
            "encoding": encoding | {"shape": series | shapes | {"legend": legend}},
        },
    ]
    return {
        "title": {"text": function, "anchor": "middle"},
        "width": 420,
        "height": 260,
        "layer": layers if others else layers[2:],  # no layer without a point
    }


def _says(explanation: Explanation) -> str:
    if explanation.basis is None:
        return "no ping-pongs are stored: no models and no lower bounds"
    if explanation.typical_factor is None:
        return "no candidate has a model"
    return (
        f"{explanation.predictions} predictions, half of them off by a factor of "
        f"{explanation.typical_factor:.2f} or more"
    )


def _curves(explanation: Explanation) -> list[dict[str, Any]]:
    values = []
    for curve in explanation.curves:
        values.append(_point(curve.function, curve.bytes, DEFAULT, "", curve.default_seconds))
        values.append(_point(curve.function, curve.bytes, FLOOR, "", curve.floor_seconds))
    return [value for value in values if value["microseconds"]]


def _candidates(cell: Explained) -> list[dict[str, Any]]:
    """A winner that was not measured at this size has no point here."""
    winner = cell.winner.configuration if cell.winner else ""
    same = cell.default_is[0] if cell.default_is else ""
    values = []
    for candidate in cell.candidates:
        name = candidate.configuration
        series, configuration = (WINNER, "") if name == winner else (OTHERS, name)
        values.append(_point(cell.function, cell.bytes, series, configuration, candidate.seconds))
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


def _in_pieces(
    values: list[dict[str, Any]], sizes: Mapping[str, Sequence[int]]
) -> list[dict[str, Any]]:
    """Each with the piece of its line: a new one begins behind a size of the function at which the
    line has no point."""
    last: dict[tuple[str, str, str], tuple[int, int]] = {}
    points = []
    for value in sorted(values, key=lambda value: int(value["bytes"])):
        line = (value["function"], value["series"], value["configuration"])
        place = bisect_left(sizes[value["function"]], value["bytes"])
        before, piece = last.get(line, (place - 1, 0))
        piece += place > before + 1
        last[line] = (place, piece)
        points.append(value | {"piece": piece})
    return points
