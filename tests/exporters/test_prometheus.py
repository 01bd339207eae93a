"""A real Prometheus scrapes a real `plumbline serve`, and has something for every dashboard and
every alert."""

from __future__ import annotations

import datetime
import html
import re
import shlex
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from plumbline.applied import files
from plumbline.applied.generations import FORMAT, AppliedFile, Generation, Store
from plumbline_db.connection import backup
from plumbline_exporters import grafana
from tests.db import build
from tests.exporters import installation
from tests.exporters.prometheus import ROOT, RULES, Prometheus, scraping, served

GRAFANA = ROOT / "exporters" / "grafana"
LISTED = grafana.read(GRAFANA)
DASHBOARDS = LISTED.dashboard
PANELS = [
    pytest.param(query, id=f"{dashboard.name}: {panel.title} {number}")
    for dashboard in DASHBOARDS
    for panel in dashboard.panel
    for number, query in enumerate(panel.queries)
]


def alerts_of(path: Path) -> dict[str, Any]:
    groups = yaml.safe_load(path.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


ALERTS = alerts_of(RULES / "alerts.yml")


def applied(home: Path) -> None:
    """A generation in force, in one file."""
    target = home / "mca-params.conf"
    text = files.block_of("openmpi", 1, ["x = y"])
    target.write_text(text)
    store = Store(home / "plumbline" / "applied", "openmpi", shared=False)
    store.folder.mkdir(parents=True)
    store.write(
        Generation(
            format=FORMAT, version=1, name="openmpi", number=1, previous=0, applied="2025-03-01",
            machine=build.MACHINE, library=build.LIBRARY, unsafe=False, sources=[], files={},
            targets=[AppliedFile(str(target), "lines", text)], scope="user",
        ),
        {},
    )  # fmt: skip


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    database = folder / "plumbline.db"
    installation.fill(database, datetime.datetime.now(datetime.UTC))
    backup(database, folder / "backup.db")
    applied(folder)
    with (
        served(database, {"XDG_DATA_HOME": str(folder)}) as (target, _),
        scraping(folder, target) as prometheus,
    ):
        prometheus.wait("count_over_time(plumbline_series[1m]) >= 3")
        prometheus.wait("period:plumbline_watch_node_seconds:ratio_budget")
        yield prometheus


@pytest.mark.parametrize("query", PANELS)
def test_every_panel_has_data(prometheus: Prometheus, query: grafana.Query) -> None:
    text = query.text
    for label in ("host", "library", "nprocs", "guideline"):
        text = text.replace(f"${label}", ".*")
    assert "$" not in text
    assert prometheus.query(text)


def test_every_variable_has_values(prometheus: Prometheus) -> None:
    for label in {name for dashboard in DASHBOARDS for name in dashboard.variables}:
        assert prometheus.ask(f"label/{label}/values", **{"match[]": "plumbline_violations"})


def test_every_rule_is_evaluated(prometheus: Prometheus) -> None:
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert {rule["name"] for rule in rules if rule["type"] == "alerting"} == ALERTS.keys()
    assert {rule["name"]: rule["health"] for rule in rules} == {r["name"]: "ok" for r in rules}


@pytest.mark.parametrize("name", ALERTS)
def test_every_part_of_an_alert_has_data(prometheus: Prometheus, name: str) -> None:
    """So that it can fire at all: each series that it names is there."""
    selectors = re.findall(r"(?:plumbline_\w+|\bup)(?:\{[^}]*\})?", ALERTS[name]["expr"])
    assert selectors
    for selector in selectors:
        assert prometheus.query(selector), selector


def test_what_has_changed_is_told_and_what_stays_is_not(prometheus: Prometheus) -> None:
    prometheus.wait('ALERTS{alertname="PlumblineRegression", alertstate="firing"}')
    firing = {alert["labels"]["alertname"] for alert in prometheus.ask("alerts")["alerts"]}
    assert firing == {"PlumblineRegression", "PlumblineViolationsAppeared"}
    remaining = 'plumbline_violations{stage="before"} > 0'
    assert prometheus.query(remaining)  # violated ever since: no alert of it


def test_a_scrape_as_prometheus_asks_for_it(prometheus: Prometheus) -> None:
    (target,) = prometheus.ask("targets")["activeTargets"]
    assert target["health"] == "up" and not target["lastError"]
    (openmetrics,) = prometheus.query("scrape_samples_scraped")
    assert int(openmetrics["value"][1]) > 100
    assert prometheus.query('process_resident_memory_bytes{job="plumbline"}')
    assert prometheus.query("python_info") and prometheus.query("python_gc_collections_total")


def test_promtool_tests_of_the_rules() -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("no promtool on PATH (Debian package prometheus)")
    checks = [
        ["check", "rules", str(RULES / "alerts.yml"), str(RULES / "recording.yml")],
        ["test", "rules", *map(str, RULES.glob("tests*.yml"))],
        ["check", "config", str(RULES / "prometheus.yml")],
    ]
    for check in checks:
        done = subprocess.run([program, *check], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_tested_to_fire_and_to_end() -> None:
    files = [yaml.safe_load(path.read_text()) for path in RULES.glob("tests*.yml")]
    seen = [
        (rule["alertname"], bool(rule["exp_alerts"]))
        for file in files
        for test in file["tests"]
        for rule in test.get("alert_rule_test", [])
    ]
    for name in ALERTS:
        outcomes = [fires for alert, fires in seen if alert == name]
        assert outcomes[0] is False and True in outcomes and outcomes[-1] is False, name


def test_each_alert_says_what_it_means_and_which_command_shows_more() -> None:
    for name, rule in ALERTS.items():
        words = rule["annotations"]
        assert words.keys() == {"summary", "description", "runbook", "runbook_url"}, name
        assert words["description"].endswith("."), name
        assert "plumbline " in words["runbook"], name


def test_the_runbook_of_each_alert_is_a_heading_of_the_page_that_is_served(
    prometheus: Prometheus,
) -> None:
    """Each alert has a section that says what it means and names the command that shows more."""
    (target,) = prometheus.ask("targets")["activeTargets"]
    instance = target["labels"]["instance"]
    for name, rule in ALERTS.items():
        words = rule["annotations"]
        url = words["runbook_url"].replace("{{ $labels.instance }}", instance)
        address, _, anchor = re.sub(r"{{.*?}}", "", url).partition("#")
        with urllib.request.urlopen(address, timeout=30) as answer:
            page = answer.read().decode()
        (section,) = re.findall(rf'<h2 id="{anchor}">(.*?)(?=<h2|</main>)', page, re.DOTALL)
        said = html.unescape(re.sub(r"<[^>]*>", "\n", section))
        for part in (name, words["description"], words["runbook"]):
            assert part in said, name


def test_each_alert_leads_to_its_instance_where_that_has_pages() -> None:
    """`runbook_url` is empty where node_exporter tells the metrics."""
    files = [yaml.safe_load(path.read_text()) for path in RULES.glob("tests*.yml")]
    fired = [
        alert
        for file in files
        for test in file["tests"]
        for rule in test.get("alert_rule_test", [])
        for alert in rule["exp_alerts"]
    ]
    assert len(fired) == len(ALERTS) + 1
    for alert in fired:
        labels, url = alert["exp_labels"], alert["exp_annotations"]["runbook_url"]
        begin = f"http://{labels['instance']}/alerts#"
        assert url.startswith(begin) if labels["job"] == "plumbline" else url == ""


def test_the_command_of_the_page_names_one_address_for_all_alerts(tmp_path: Path) -> None:
    copy = tmp_path / "alerts.yml"
    copy.write_bytes((RULES / "alerts.yml").read_bytes())
    (command,) = re.findall(
        r"`(sed -i [^`]*alerts\.yml)`", (RULES.parents[1] / "docs" / "monitoring.md").read_text()
    )
    subprocess.run(shlex.split(command), cwd=tmp_path, check=True)
    for name, rule in alerts_of(copy).items():
        url = f"https://plumbline.example/alerts#{name.lower()}"
        assert rule["annotations"]["runbook_url"] == url


def test_every_panel_says_what_is_good_and_leads_to_a_page() -> None:
    """Nothing is left to Grafana's defaults: its threshold of 80 makes an age of 80 s red."""
    for dashboard in DASHBOARDS:
        document = msgspec.json.decode(grafana.document(dashboard, LISTED.annotation))
        names = [one["name"] for one in document["templating"]["list"]]
        assert {"source", "host", "library", "nprocs", "pages"} <= set(names)
        assert len(document["annotations"]["list"]) == len(LISTED.annotation) >= 3
        for panel in document["panels"]:
            defaults = panel["fieldConfig"]["defaults"]
            first, *others = defaults["thresholds"]["steps"]
            values = [step["value"] for step in others]
            assert first["value"] is None and values == sorted(values), panel["title"]
            assert defaults["unit"] and defaults["noValue"], panel["title"]
            (link,) = defaults["links"]
            assert re.match(r"\$\{pages\}/", link["url"]), panel["title"]


@pytest.mark.parametrize("annotation", LISTED.annotation, ids=lambda one: one.name)
def test_every_annotation_is_a_query(
    prometheus: Prometheus, annotation: grafana.Annotation
) -> None:
    prometheus.query(annotation.expr)  # raises where it is none
    for name in re.findall(r"plumbline_\w+", annotation.expr):
        assert prometheus.query(name), name


def test_make_dashboards_writes_all_of_the_list(tmp_path: Path) -> None:
    target = tmp_path / "grafana" / "done"
    command = ["make", "-C", str(ROOT), str(target), f"DASHBOARDS={target.parent}"]
    subprocess.run([*command, "--old-file", ".venv/stamps/python"], check=True)
    files = {path.stem: path.read_text() for path in target.parent.glob("*.json")}
    assert files == {one.name: grafana.document(one, LISTED.annotation) for one in DASHBOARDS}
    for dashboard in DASHBOARDS:
        panels = msgspec.json.decode(files[dashboard.name])["panels"]
        assert [panel["title"] for panel in panels] == [one.title for one in dashboard.panel]


def test_provisioning_names_what_is_there() -> None:
    found = [yaml.safe_load(path.read_text()) for path in GRAFANA.glob("provisioning/*/*.yml")]
    assert len(found) == 2 and all(one["apiVersion"] == 1 for one in found)
    paths = [one["options"]["path"] for file in found for one in file.get("providers", [])]
    for name in yaml.safe_load((RULES / "prometheus.yml").read_text())["rule_files"]:
        assert (RULES / name).exists()  # beside it, in a checkout and where it is installed
    makefile = (ROOT / "Makefile").read_text()
    for path in paths:
        assert f"$(PREFIX){path.removeprefix('/usr/local')} " in makefile
