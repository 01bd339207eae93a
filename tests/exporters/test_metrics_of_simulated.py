"""Metrics of simulated machines: left out, unless they are asked for."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from plumbline_db import campaigns, findings, machines
from plumbline_db.connection import Database
from plumbline_exporters.metrics import DatabaseCollector
from tests.db import build

SIMULATED = "simgrid-3.32-ompi"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A campaign here, and one on a simulated machine."""
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.finished(db)
        machines.put_library(
            db, msgspec.structs.replace(build.LIBRARY, id=SIMULATED, fingerprint="f-simulated")
        )
        simulated = msgspec.structs.replace(
            build.CAMPAIGN,
            id="simulated",
            key="k-simulated",
            library_fingerprint="f-simulated",
            settings='{"simulate":{"library":"ompi"}}',
        )
        campaigns.put(db, simulated)
        findings.put_verdicts(db, simulated.id, "before", [build.verdict("before")])
    return path


@pytest.mark.parametrize("asked", [False, True])
def test_simulated_machines_are_told_where_asked_for(database: Path, asked: bool) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector(database, simulated=asked))
    text = generate_latest(registry).decode()
    assert 'plumbline_scrape_success{collector="guidelines"} 1.0' in text
    assert f'library="{build.LIBRARY.id}"' in text
    assert (SIMULATED in text) == asked
