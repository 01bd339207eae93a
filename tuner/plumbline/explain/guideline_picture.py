"""One guideline of a campaign as a picture, before and after: the run times of both sides over the
size, with a ground of its own where the guideline is violated, and stars for how certain that is
(figures 2 and 3 of Hunold et al., Euro-Par 2016). Pure but for `read`: sides in, a Vega-Lite
specification out (chart.py renders it)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from plumbline.core import guidelines
from plumbline.core.guidelines import LIBRARY
from plumbline.results.report import Report
from plumbline.system import chart
from plumbline.system.chart import LIGHT, Palette
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
            panels.setdefault(key, []).append(_panel(db, report.campaign.id, title, own))
    return panels


def _panel(db: Database, campaign: str, title: str, verdicts: Sequence[Verdict]) -> GuidelinePanel:
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


def specification(
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
