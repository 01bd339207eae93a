"""A campaign as one picture: two violation tables, before and after, by function and size, coloured
by how much too slow a call is, and beside them the run times of the function that gained most. The
data are read from the database; the rest is pure: data in, a Vega-Lite specification out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from plumbline.explain import explain, picture
from plumbline.explain.explain import Explanation
from plumbline.libraries import space_file
from plumbline.results import headline
from plumbline.results.report import Report
from plumbline.system import chart, paths
from plumbline.system.chart import LIGHT, Palette
from plumbline.system.words import counted
from plumbline_db import table_samples
from plumbline_db.connection import Database
from plumbline_db.records import Verdict

STEPS = (1.25, 2.0, 4.0)
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


def read(db: Database, report: Report) -> Tables:
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
    return sum((ratio or 1.0) >= least for least in STEPS)


def specification(every: Sequence[Tables], palette: Palette = LIGHT) -> dict[str, Any]:
    """Return the picture of campaigns, one below the other; curves are of one campaign alone."""
    rows = [_tables(tables, palette) for tables in every]
    drawn: dict[str, Any] = {"vconcat": rows, "spacing": 30}
    if len(every) == 1 and (curves := _curves(every[0], palette)) is not None:
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
        title = f"{name}: {counted(len(headline.everywhere(table)), 'violation')}"
        panel = _panel(title, list(_cells(table)), functions, sizes, palette)
        if panels:  # the rows are those of the first panel
            panel["encoding"]["y"]["axis"] = None
        panels.append(panel)
    return {
        "title": {"text": tables.title, "anchor": "start", "fontSize": 13},
        "hconcat": panels,
        "spacing": 20,
    }


def _panel(
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


def _curves(tables: Tables, palette: Palette) -> dict[str, Any] | None:
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
    panel = picture.of_function(tables.explanation, function, tables.tuned[function], palette)
    return panel | {"width": 260, "height": _ROW * len({v.function for v in tables.before})}


def _gain(default: Mapping[int, float], tuned: Mapping[int, float]) -> float:
    """Return the area between both lines, on logarithmic axes with equally distant sizes."""
    return sum(math.log(default[size] / tuned[size]) for size in default.keys() & tuned.keys())
