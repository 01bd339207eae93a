"""Explanations and guidelines as pictures: run times over the size, of the default, the winners and
all other candidates, with the lower bound below them, and what the models say of default and
winners; a campaign's violation tables, before and after; and one guideline, before and after, with
a ground of its own where it is violated, and stars for how certain that is (figures 2 and 3 of
Hunold et al., Euro-Par 2016). Pure but for `read`: explanations, tables or sides in, a Vega-Lite
specification out (chart.py renders it)."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from plumbline.core import guidelines
from plumbline.core.guidelines import LIBRARY
from plumbline.explain import explain
from plumbline.explain.explain import Explained, Explanation
from plumbline.libraries import space_file
from plumbline.results import report
from plumbline.results.report import Report
from plumbline.system import chart, paths
from plumbline.system.chart import LIGHT, Palette
from plumbline.system.words import counted
from plumbline.verify import grid
from plumbline_db import table_samples
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Verdict

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))  # below so large a p there are so many


class SidePoint(msgspec.Struct, frozen=True):
    """The median run time of one side of a guideline at one size. `low_us`, `high_us`: the least
    and the greatest median of a launch."""

    side: str
    bytes: int
    us: float
    low_us: float
    high_us: float


class GuidelinePanel(msgspec.Struct, frozen=True):
    """A table, before or after: the points of one function's guideline; `violated`: stars by
    size."""

    title: str
    points: list[SidePoint]
    violated: dict[int, str]


def read(db: Database, report: Report, ids: Sequence[str]) -> dict[str, list[GuidelinePanel]]:
    """Return the panels of each guideline and function by a name. Raises UsageError where the
    campaign has not tested a guideline."""
    stages = {"before": report.before}
    if report.after is not None and report.winners:
        stages["with the winners"] = report.after
    tested = dict.fromkeys(verdict.guideline for verdict in report.before)
    for missing in (name for name in ids if name not in tested):
        raise UsageError(
            f"{report.campaign.id} has not tested {missing}; it has tested: "
            f"{', '.join(tested) or 'nothing'}"
        )
    known_guidelines = guidelines.load(None)
    panels: dict[str, list[GuidelinePanel]] = {}
    for title, table in stages.items():
        places = [(name, each.function) for name in ids for each in table if each.guideline == name]
        for name, function in dict.fromkeys(places):
            own = [each for each in table if (each.guideline, each.function) == (name, function)]
            key = grid.named(name, known_guidelines, function)
            panels.setdefault(key, []).append(_guideline_panel(db, report.campaign.id, title, own))
    return panels


def _guideline_panel(
    db: Database, campaign: str, title: str, verdicts: Sequence[Verdict]
) -> GuidelinePanel:
    """Return the panel of one function. Sides that are several (pieces of a split) are a curve
    each."""
    function = verdicts[0].function
    labels = {"default": function.removeprefix("MPI_")}
    for verdict in verdicts:
        if verdict.rhs not in (LIBRARY, function):
            labels[verdict.rhs] = verdict.rhs
    sizes = {size for verdict in verdicts for size in (verdict.bytes, verdict.other_bytes)}
    points = []
    for medians in table_samples.medians(db, campaign, verdicts, sizes, {function}):
        case = medians.case
        if case.variant in labels and medians.seconds and not (case.use or case.ranks):
            low, middle, high = (
                1e6 * choose(medians.seconds) for choose in (min, statistics.median, max)
            )
            points.append(SidePoint(labels[case.variant], case.bytes, middle, low, high))
    return GuidelinePanel(
        title,
        points,
        {
            verdict.bytes: _stars(verdict.p_adjusted)
            for verdict in verdicts
            if verdict.verdict == "violated"
        },
    )


def _stars(probability: float | None) -> str:
    if probability is None:
        return ""
    return next((stars for below, stars in _STARS if probability < below), "")


def guideline_specification(
    panels: Mapping[str, Sequence[GuidelinePanel]],
    title: Sequence[str],
    palette: Palette = LIGHT,
) -> dict[str, Any]:
    """Return the picture: a row for each name, its panels beside each other with one axis of
    time."""
    rows = [
        {
            "title": {"text": name, "anchor": "start"},
            "hconcat": [_drawn(panel, of_name, palette) for panel in of_name],
            "resolve": {"scale": {"y": "shared"}},
        }
        for name, of_name in panels.items()
    ]
    heading = {"text": list(title), "anchor": "start", "fontSize": 13}
    apart = {"scale": {"color": "independent", "shape": "independent"}}
    drawn = {"title": heading, "vconcat": rows, "spacing": 30, "resolve": apart}
    return drawn | {"config": palette.config()}


def _drawn(
    panel: GuidelinePanel, both: Sequence[GuidelinePanel], palette: Palette
) -> dict[str, Any]:
    points = [point for each in both for point in each.points]
    sides = list(dict.fromkeys(point.side for point in points))
    sizes = sorted({point.bytes for point in points})
    x = {"field": "bytes"} | _axis(sizes)
    y = {
        "field": "us",
        "type": "quantitative",
        "scale": {"type": "log", "zero": False},
        "title": "run time, µs",
    }
    series = {"field": "side", "type": "nominal"}
    legend = {"title": None, "orient": "top", "columns": 1, "labelLimit": 300}
    range_of_colours = [palette.default, palette.winner, palette.others, *palette.steps]
    colours = {"scale": {"domain": sides, "range": range_of_colours}}
    looks = {
        "color": series | colours | {"legend": legend},
        "shape": series | {"scale": {"domain": sides}, "legend": legend},
    }
    values = [msgspec.to_builtins(point) for point in panel.points]
    rule = {
        "x": x,
        "color": looks["color"],
        "y": y | {"field": "low_us"},
        "y2": {"field": "high_us"},
    }
    return {
        "title": {"text": panel.title, "anchor": "middle"},
        "width": 320,
        "height": 240,
        "layer": [
            *_grounds(panel, x, palette),
            {"data": {"values": values}} | chart.layer("rule", rule),
            {"data": {"values": values}}
            | chart.layer("line", {"x": x, "y": y, "color": looks["color"]}),
            {"data": {"values": values}}
            | chart.layer("point", {"x": x, "y": y} | looks, filled=True, size=40),
        ],
    }


def _grounds(panel: GuidelinePanel, x: dict[str, Any], palette: Palette) -> list[dict[str, Any]]:
    """Return the ground of violated sizes, with the stars above it."""
    if not panel.violated:
        return []
    values = [{"bytes": size, "stars": stars} for size, stars in panel.violated.items()]
    ground = chart.layer("rule", {"x": x}, color=palette.steps[0], strokeWidth=14, opacity=0.7)
    text = {"x": x, "text": {"field": "stars"}, "y": {"value": 8}}
    stars = chart.layer("text", text, color=palette.steps[2], fontWeight="bold")
    return [{"data": {"values": values}} | ground, {"data": {"values": values}} | stars]


def _axis(sizes: Sequence[int]) -> dict[str, Any]:
    if sizes and sizes[0] > 0:
        return chart.log_bytes(sizes)
    return {"type": "ordinal", "title": "bytes", "axis": {"labelAngle": 0}}


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
    dashed = encoding | {"strokeDash": series | dashes | {"legend": legend}}
    shaped = encoding | {"shape": series | shapes | {"legend": legend}}
    layers = [
        {"transform": [back]} | chart.layer("line", encoding, strokeWidth=1),
        {"transform": [back]} | chart.layer("point", encoding, filled=True, size=14),
        {"transform": [front]} | chart.layer("line", dashed, strokeWidth=2),
        {"transform": [front]} | chart.layer("point", shaped, filled=True, size=45),
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


# A campaign as one picture: two violation tables, before and after, by function and size, coloured
# by how much too slow a call is, and beside them the run times of the function that gained most.
# The data are read from the database; the rest is pure: data in, a Vega-Lite specification out.

_STEPS = (1.25, 2.0, 4.0)
"""Ratios from which the colour of a violation is darker."""

_CELL = 11  # width of a cell, in pixels
_ROW = 19


class Tables(msgspec.Struct, frozen=True):
    """The tables of a campaign that are drawn. `tuned`: by function and size, seconds in the last
    table, of functions that have winners. `explanation`: None where the campaign is of
    benchmarks."""

    title: str
    before: list[Verdict]
    after: list[Verdict] | None
    explanation: Explanation | None
    tuned: dict[str, dict[int, float]]


def read_tables(db: Database, report: Report) -> Tables:
    """Read what is drawn of a campaign. No program is started."""
    explanation = None
    if not report.of_benchmarks():
        space = space_file.for_library(paths.layout().search_spaces, report.library)
        explanation = explain.explain(db, report, space, {})
    version = " ".join(report.library.version_string.split())
    title = f"{version}, {counted(report.campaign.nprocs, 'rank')}: {report.campaign.id}"
    return Tables(title, report.before, report.after, explanation, _tuned(db, report))


def _tuned(db: Database, report: Report) -> dict[str, dict[int, float]]:
    winning = {winner.function for winner in report.winners}
    seconds: dict[str, dict[int, float]] = {}
    for medians in table_samples.medians(db, report.campaign.id, report.after or []):
        case = medians.case
        plain = case.variant == "default" and not case.knobs and not case.ranks and not case.use
        if plain and medians.seconds and case.function in winning:
            by_size = seconds.setdefault(case.function, {})
            by_size[case.bytes] = statistics.median(medians.seconds)
    return seconds


def step(ratio: float | None) -> int:
    """Return the place of a violation's colour among the four steps, 0 to 3."""
    return sum((ratio or 1.0) >= least for least in _STEPS)


def before_after_specification(every: Sequence[Tables], palette: Palette = LIGHT) -> dict[str, Any]:
    """Return the picture of campaigns, one below the other; curves are of one campaign alone."""
    rows = [_tables(tables, palette) for tables in every]
    drawn: dict[str, Any] = {"vconcat": rows, "spacing": 30}
    if len(every) == 1 and (curves := _gain_curves(every[0], palette)) is not None:
        apart = {"scale": {name: "independent" for name in ("color", "shape", "strokeDash")}}
        drawn = {"hconcat": [*rows, curves], "spacing": 40, "resolve": apart}
    return drawn | {"config": palette.config()}


def _tables(tables: Tables, palette: Palette) -> dict[str, Any]:
    both = [("before", tables.before)]
    both += [] if tables.after is None else [("with the winners", tables.after)]
    cells = [verdict for _, table in both for verdict in table]
    functions = sorted({verdict.function for verdict in cells})
    sizes = sorted({verdict.bytes for verdict in cells})
    panels: list[dict[str, Any]] = []
    for name, table in both:
        title = f"{name}: {counted(len(report.everywhere(table)), 'violation')}"
        panel = _table_panel(title, list(_cells(table)), functions, sizes, palette)
        if panels:  # the rows are those of the first panel
            panel["encoding"]["y"]["axis"] = None
        panels.append(panel)
    return {
        "title": {"text": tables.title, "anchor": "start", "fontSize": 13},
        "hconcat": panels,
        "spacing": 20,
    }


def _table_panel(
    title: str,
    cells: list[dict[str, Any]],
    functions: Sequence[str],
    sizes: Sequence[int],
    palette: Palette,
) -> dict[str, Any]:
    """Return a table whose cells have the colours of their states."""
    colours = dict(zip(_STATES, (palette.holds, palette.undecided, *palette.steps), strict=True))
    return {
        "title": {"text": title, "anchor": "middle"},
        "data": {"values": cells},
        "width": _CELL * len(sizes),
        "height": _ROW * len(functions),
        "mark": {"type": "rect", "stroke": palette.ground, "strokeWidth": 1.5},
        "encoding": {
            "x": {
                "field": "bytes",
                "type": "ordinal",
                "scale": {"domain": sizes},
                "title": "bytes",
                "axis": {
                    "labelAngle": 0,
                    "values": _powers(sizes),
                    "labelExpr": chart.IN_POWERS_OF_TWO,
                    "labelOverlap": True,
                    "ticks": False,
                },
            },
            "y": {
                "field": "function",
                "type": "ordinal",
                "scale": {"domain": functions},
                "title": None,
                "axis": {"ticks": False, "labelExpr": "replace(datum.value, 'MPI_', '')"},
            },
            "color": {
                "field": "state",
                "type": "nominal",
                "scale": {"domain": list(colours), "range": list(colours.values())},
                "legend": {
                    "title": None,
                    "orient": "bottom",
                    "columns": len(colours),
                    "symbolType": "square",
                    "symbolSize": 130,
                },
            },
        },
    }


_STATES = ("holds", "undecided", "too slow: up to 1.25 ×", "up to 2 ×", "up to 4 ×", "more")


def _powers(sizes: Sequence[int]) -> list[int]:
    """Return the powers of four among the sizes, or all sizes where there is no power."""
    return [size for size in sizes if size and math.log(size, 4).is_integer()] or list(sizes)


def _cells(table: Sequence[Verdict]) -> Iterator[dict[str, Any]]:
    """Yield the worst state of each function and size, over all guidelines."""
    worst: dict[tuple[str, int], int] = {}
    for verdict in table:
        key = (verdict.function, verdict.bytes)
        worst[key] = max(worst.get(key, 0), _state(verdict))
    for (function, size), state in worst.items():
        yield {"function": function, "bytes": size, "state": _STATES[state]}


def _state(verdict: Verdict) -> int:
    if verdict.violated_everywhere:
        return 2 + step(verdict.ratio)
    return int(verdict.verdict == "undecided")


def _gain_curves(tables: Tables, palette: Palette) -> dict[str, Any] | None:
    """Return the run times of the function that gained most; None if no function has a winner."""
    if tables.explanation is None:
        return None
    defaults: dict[str, dict[int, float]] = {}
    for point in tables.explanation.curves:
        defaults.setdefault(point.function, {})[point.bytes] = point.default_seconds
    gains = {
        function: _gain(defaults[function], tuned)
        for function, tuned in sorted(tables.tuned.items())
        if function in defaults
    }
    if not gains:
        return None
    function = max(gains, key=lambda name: gains[name])
    panel = of_function(tables.explanation, function, tables.tuned[function], palette)
    return panel | {"width": 260, "height": _ROW * len({v.function for v in tables.before})}


def _gain(default: Mapping[int, float], tuned: Mapping[int, float]) -> float:
    """Return the area between both lines, on logarithmic axes with equally distant sizes."""
    return sum(math.log(default[size] / tuned[size]) for size in default.keys() & tuned.keys())
