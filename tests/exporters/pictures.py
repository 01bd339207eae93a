"""Draws the panels of the dashboards from what a real Prometheus answers, over a made-up month:

python -m tests.exporters.pictures docs
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from plumbline.system.chart import render
from plumbline_exporters import grafana
from plumbline_exporters.grafana import WIDTH, Dashboard, DashboardPanel
from tests.exporters import month
from tests.exporters.month import DAYS, STEP
from tests.exporters.prometheus import ROOT, RULES, Prometheus, scraping

PIXELS = 40  # for each of WIDTH
NOBODY = "127.0.0.1:9"  # nobody is scraped: all is there already


def main(folder: Path) -> None:
    seconds = int(STEP.total_seconds())
    now = int(datetime.datetime.now(datetime.UTC).timestamp()) // seconds * seconds
    end = datetime.datetime.fromtimestamp(now, datetime.UTC)
    with tempfile.TemporaryDirectory() as place:
        inside = Path(place)
        data = inside / "data"
        text = inside / "month.txt"
        text.write_bytes(month.exposition(inside, end))
        _promtool("tsdb", "create-blocks-from", "openmetrics", str(text), str(data))
        with scraping(inside, NOBODY, seconds=3600) as prometheus:
            text.write_text(_recorded(prometheus, now))
        _promtool("tsdb", "create-blocks-from", "openmetrics", str(text), str(data))
        with scraping(inside, NOBODY, seconds=3600) as prometheus:
            for dashboard in grafana.read(ROOT / "exporters" / "grafana").dashboard:
                spec = _picture(prometheus, dashboard, now)
                (folder / f"monitoring-{dashboard.name}.svg").write_text(render(spec))


def _promtool(*words: str) -> None:
    subprocess.run(["promtool", *words], check=True, capture_output=True, timeout=300)


def _recorded(prometheus: Prometheus, now: int) -> str:
    """What recording rules would have made of it, in OpenMetrics."""
    (group,) = yaml.safe_load((RULES / "recording.yml").read_text())["groups"]
    lines = []
    for rule in group["rules"]:
        for series in _range(prometheus, rule["expr"], now):
            words = {**series["metric"], "__name__": ""}
            labels = ",".join(f'{name}="{value}"' for name, value in words.items() if value)
            lines += [f"{rule['record']}{{{labels}}} {v} {at}" for at, v in series["values"]]
    return "\n".join([*lines, "# EOF\n"])


def _range(prometheus: Prometheus, query: str, now: int) -> list[Any]:
    span = {"start": str(now - DAYS * 86400), "end": str(now)}
    step = str(int(STEP.total_seconds()))
    return list(prometheus.ask("query_range", query=query, step=step, **span)["result"])


def _picture(prometheus: Prometheus, dashboard: Dashboard, now: int) -> dict[str, Any]:
    rows: list[list[dict[str, Any]]] = []
    left = WIDTH
    for panel in dashboard.panel:
        if left + panel.width > WIDTH:
            rows.append([])
            left = 0
        left += panel.width
        values = list(_values(prometheus, panel, now))
        if not values:
            raise SystemExit(f"{dashboard.name}: {panel.title} has no data")
        rows[-1].append(_spec(panel, values))
    return {
        "title": {"text": dashboard.title, "anchor": "start", "fontSize": 18},
        "vconcat": [
            {"hconcat": row, "resolve": {"scale": {"color": "independent"}}} for row in rows
        ],
        "resolve": {"scale": {"color": "independent"}},
        "config": {"font": "sans-serif", "view": {"stroke": "#ddd"}},
    }


def _values(prometheus: Prometheus, panel: DashboardPanel, now: int) -> Iterator[dict[str, Any]]:
    """Rows of series, time and value."""
    for query in panel.queries:
        text = re.sub(r"\$\w+", ".*", query.text)
        if panel.kind == "series":
            found = _range(prometheus, text, now)
        else:
            found = prometheus.ask("query", query=text, time=str(now))["result"]
        for series in found:
            name = re.sub(
                r"{{(\w+)}}", lambda word, one=series: one["metric"].get(word[1], ""), query.legend
            )
            for at, value in series.get("values") or [series["value"]]:
                if value != "NaN":
                    yield {"series": name, "time": at * 1000, "value": float(value)}


def _scale(unit: str, largest: float) -> tuple[float, str]:
    """What values are divided by, and what is said of them then."""
    if unit == "s":
        return (86400.0, "days") if largest > 86400 else (0.001, "ms") if largest < 1 else (1, "s")
    return {"percentunit": (0.01, "%"), "bytes": (2**20, "MiB")}.get(unit, (1.0, ""))


def _spec(panel: DashboardPanel, values: list[dict[str, Any]]) -> dict[str, Any]:
    scale, words = _scale(panel.unit, max(row["value"] for row in values))
    for row in values:
        row["value"] /= scale
        row["text"] = f"{row['value']:.3g} {words}"
    spec = {
        "title": {"text": panel.title, "anchor": "start", "fontSize": 13},
        "data": {"values": values},
        "width": panel.width * PIXELS - 90,
        "height": {"series": 150, "stat": 50}.get(panel.kind, {"step": 20}),
    }
    value = {"field": "value", "type": "quantitative", "title": words or None}
    name = {"field": "series", "type": "nominal", "title": None}
    match panel.kind:
        case "series":
            named = any(row["series"] for row in values)
            legend = {"orient": "bottom", "columns": 3, "labelLimit": 200} if named else None
            return spec | {
                "mark": {"type": "line", "interpolate": "step-after"},
                "encoding": {
                    "x": {"field": "time", "type": "temporal", "title": None},
                    "y": value,
                    "color": name | {"legend": legend},
                },
            }
        case "bars":
            return spec | {"mark": "bar", "encoding": {"x": value, "y": name}}
    size = 26 if panel.kind == "stat" else 14
    return spec | {
        "mark": {"type": "text", "fontSize": size},
        "encoding": {"y": name, "text": {"field": "text", "type": "nominal"}},
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
