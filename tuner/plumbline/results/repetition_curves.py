"""Figure 1 of PGMPI (Hunold et al., Euro-Par 2016) as a chart: the criteria of a stopping rule over
the number of repetitions, with their thresholds. Pure: cells in, a Vega-Lite specification out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plumbline.measure.repetitions import RepetitionsCell
from plumbline.system import chart

_COLUMNS = 2


def specification(cells: Sequence[RepetitionsCell], title: str) -> dict[str, Any]:
    """Return a panel for each cell that was measured: a line for each criterion and launch, a
    dashed line for each threshold."""
    values = [row for cell in cells for row in _rows(cell)]
    names = list(dict.fromkeys(row["cell"] for row in values))
    colour = {"field": "criterion", "type": "nominal", "legend": {"title": None, "orient": "top"}}
    x = {"field": "repetitions", "type": "quantitative", "title": "repetitions"}
    y = {"type": "quantitative", "title": "criterion", "scale": {"type": "log"}}
    lines = {"x": x, "y": y | {"field": "value"}, "color": colour, "detail": {"field": "launch"}}
    thresholds = {"y": y | {"field": "threshold"}, "color": colour}
    return {
        "title": {
            "text": title,
            "subtitle": "a line is a launch; dashed: the threshold",
            "anchor": "start",
        },
        "data": {"values": values},
        "facet": {"field": "cell", "type": "nominal", "title": None, "sort": names},
        "columns": _COLUMNS,
        "spec": {
            "width": 330,
            "height": 180,
            "layer": [
                chart.layer("line", lines, valid="value", point={"size": 12}),
                chart.layer("rule", thresholds, valid="threshold", strokeDash=[4, 3]),
            ],
        },
        "resolve": {"scale": {"x": "independent"}},
        "config": {"background": "white", "font": "sans-serif"},
    }


def _rows(cell: RepetitionsCell) -> list[dict[str, Any]]:
    variant = "" if cell.variant == "default" else f" {cell.variant}"
    name = f"{cell.function}{variant}, {cell.bytes} B"
    thresholds = {
        criterion.name: criterion.threshold
        for launch in cell.launches
        for criterion in launch.criteria
    }
    limits = [
        {"cell": name, "criterion": criterion, "threshold": threshold}
        for criterion, threshold in thresholds.items()
    ]
    return limits + [
        {
            "cell": name,
            "launch": number,
            "criterion": criterion,
            "repetitions": point.repetitions,
            "value": value,
        }
        for number, launch in enumerate(cell.launches, start=1)
        for point in launch.curve
        for criterion, value in point.values.items()
        if value
    ]
