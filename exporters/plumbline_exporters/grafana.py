"""Make Grafana's dashboards, JSON, of a short list of panels (exporters/grafana/dashboards.toml):

python -m plumbline_exporters.grafana exporters/grafana build/grafana
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

WIDTH = 24  # of a dashboard, as Grafana counts
_HEIGHTS = {"stat": 4, "series": 8, "bars": 8, "table": 8}
_TYPES = {"stat": "stat", "series": "timeseries", "bars": "bargauge", "table": "table"}
_SCHEMA = 39  # of Grafana 10.4 and later, which bring older ones up to date
_SOURCE = {"type": "prometheus", "uid": "${source}"}

# $place in queries.
PLACE = 'host=~"$host", library=~"$library", nprocs=~"$nprocs"'
_LABELS = {"nprocs": "Ranks"}  # of variables that are not called as they are
_PAGES = "pages"  # the variable with the address of `plumbline serve`


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    expr: str
    legend: str

    @property
    def text(self) -> str:
        return self.expr.replace("$place", PLACE)


class DashboardPanel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`unit` as Grafana names it; `steps`: colours, each from a value on; `page`: of `plumbline
    serve`, where a value leads to; `width` of WIDTH."""

    title: str
    kind: Literal["stat", "series", "bars", "table"]
    help: str
    queries: list[Query]
    width: int
    unit: str
    steps: list[tuple[str, float]]
    page: str


class Annotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Moments at which `expr` has a value; `text` as of a legend."""

    name: str
    colour: str
    expr: str
    text: str


class Dashboard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`variables` are labels that one may choose values of."""

    name: str
    title: str
    variables: list[str]
    panel: list[DashboardPanel]


class DashboardList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`annotation`: those of every dashboard."""

    annotation: list[Annotation]
    dashboard: list[Dashboard]


def read(folder: Path) -> DashboardList:
    """dashboards.toml."""
    text = (folder / "dashboards.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), DashboardList)


def document(dashboard: Dashboard, annotations: Sequence[Annotation]) -> str:
    """The file of a dashboard."""
    whole = {
        "uid": f"plumbline-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["plumbline", "mpi"],
        "schemaVersion": _SCHEMA,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "time": {"from": "now-30d", "to": "now"},
        "refresh": "5m",
        "timezone": "browser",
        "links": [
            {"type": "dashboards", "tags": ["plumbline"], "title": "Plumbline", "asDropdown": True}
        ],
        "annotations": {"list": [_annotation(annotation) for annotation in annotations]},
        "templating": {"list": [_source(), *map(_variable, dashboard.variables), _pages()]},
        "panels": list(_panels(dashboard.panel)),
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=1).decode() + "\n"


def _source() -> dict[str, Any]:
    words = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {**words, "hide": 0, "refresh": 1}


def _pages() -> dict[str, Any]:
    """Return the variable with the address of `plumbline serve`, for links to its pages."""
    here = "http://127.0.0.1:9464"
    chosen = {"text": here, "value": here}
    words = {"name": _PAGES, "label": "Pages", "type": "textbox", "query": here}
    return {**words, "current": chosen, "options": [{**chosen, "selected": True}]}


def _annotation(annotation: Annotation) -> dict[str, Any]:
    return {
        "name": annotation.name,
        "datasource": _SOURCE,
        "enable": True,
        "iconColor": annotation.colour,
        "expr": annotation.expr,
        "step": "60s",
        "titleFormat": annotation.name,
        "textFormat": annotation.text,
    }


def _variable(label: str) -> dict[str, Any]:
    query = f"label_values(plumbline_violations, {label})"
    return {
        "name": label,
        "label": _LABELS.get(label, label.capitalize()),
        "type": "query",
        "datasource": _SOURCE,
        "definition": query,
        "query": {"query": query, "refId": label},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panels(panels: Sequence[DashboardPanel]) -> Iterator[dict[str, Any]]:
    """Rows from left to right, as long as there is room."""
    column = top = height = 0
    for number, panel in enumerate(panels, 1):
        if column + panel.width > WIDTH:
            column, top, height = 0, top + height, 0
        height = max(height, _HEIGHTS[panel.kind])
        place = {"x": column, "y": top, "w": panel.width, "h": _HEIGHTS[panel.kind]}
        column += panel.width
        yield _panel(number, panel, place)


def _panel(number: int, panel: DashboardPanel, place: dict[str, int]) -> dict[str, Any]:
    now = panel.kind != "series"
    targets = [
        {
            "refId": chr(ord("A") + position),
            "datasource": _SOURCE,
            "expr": query.text,
            "legendFormat": query.legend,
            "instant": now,
            "range": not now,
            "format": "table" if panel.kind == "table" else "time_series",
        }
        for position, query in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "title": panel.title,
        "description": panel.help,
        "type": _TYPES[panel.kind],
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel.kind),
    }


def _defaults(panel: DashboardPanel) -> dict[str, Any]:
    """Return how values look. Lines have colours of their own, and thresholds as lines where there
    are several."""
    (base, _), *above = panel.steps
    steps: list[dict[str, Any]] = [{"color": base, "value": None}]
    steps += [{"color": colour, "value": value} for colour, value in above]
    by_series = panel.kind == "series"
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "min": 0,
        "noValue": "no data",
        "color": {"mode": "palette-classic" if by_series else "thresholds"},
        "thresholds": {"mode": "absolute", "steps": steps},
        "links": [
            {"title": "Page of Plumbline", "url": f"${{{_PAGES}}}{panel.page}", "targetBlank": True}
        ],
    }
    if by_series:
        defaults["custom"] = {"thresholdsStyle": {"mode": "dashed" if above else "off"}}
    return defaults


def _options(kind: str) -> dict[str, Any]:
    last = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}
    match kind:
        case "stat":
            return {**last, "colorMode": "value", "graphMode": "area"}
        case "bars":
            return {**last, "orientation": "horizontal", "displayMode": "basic"}
        case "series":
            return {"legend": {"displayMode": "list", "placement": "bottom"}}
    return {"showHeader": True}


def main(source: Path, target: Path) -> None:
    """Write a file for each dashboard of the list in `source`."""
    listed = read(source)
    target.mkdir(parents=True, exist_ok=True)
    for dashboard in listed.dashboard:
        path = target / f"{dashboard.name}.json"
        path.write_text(document(dashboard, listed.annotation), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
