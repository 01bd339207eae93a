"""Guidelines have names beside their numbers, in metrics and in JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from plumbline.core import guidelines
from plumbline.results.guideline_names import guideline_names
from plumbline_db.connection import Database
from plumbline_exporters.metrics import DatabaseCollector
from tests.db import build
from tests.exporters.test_metrics import promtool
from tests.tuner.cli.command import plumbline

NAME = "MPI_Allreduce ⪯ MPI_Reduce + MPI_Bcast"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.done(db)
    return path


def test_prometheus_is_told_what_was_verified_and_no_more(database: Path) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector(database, {"guideline_names": guideline_names}))
    labels = {"guideline": "GL12", "name": NAME}
    assert registry.get_sample_value("plumbline_guideline_info", labels) == 1
    text = generate_latest(registry).decode()
    series = [line for line in text.splitlines() if line.startswith("plumbline_guideline_info{")]
    assert 1 <= len(series) <= len(guidelines.load().entries())
    promtool(text)


def test_json_names_them(database: Path) -> None:
    found = plumbline("results", "--json", "--db", database).json
    assert found["guidelines"]["GL12"] == NAME
    named = {each["guideline"]: each["name"] for each in found["before"]["violations"]}
    assert named["GL12"] == NAME
