"""Events that PAPI counts in a real launch are in the table of counters, on the page of the cell
and in the explanation: of the processor, or of the kernel where no PMU can be used."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from tests.db import build as records
from tests.probes.launch import Launch, Probe
from tests.tuner.cli.command import plumbline
from tests.tuner.pages import site

pytestmark = pytest.mark.mpi
CELL = ("MPI_Allreduce", 64)


@pytest.fixture
def stored(probe: Probe, tmp_path: Path) -> tuple[Path, list[str]]:
    """A violated cell whose sides were measured in one real launch; and what PAPI counted there."""
    lines = [
        f"case id={number} function={CELL[0]} variant={variant} bytes={CELL[1]} reps=50"
        for number, variant in enumerate(("default", records.REDUCE_PLUS_BCAST))
    ]
    run = records.run()
    launch = probe.good("\n".join([f"set run={run.id} seed={run.sequence} blocks=2", *lines]))
    names = _counted_by_papi(launch)
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        campaign = records.started(db)
        runs.put(db, run, launch.records)
        findings.put_verdicts(db, campaign.id, "before", [records.verdict("before", bytes=CELL[1])])
        campaigns.put(db, campaign)
    return path, names


def _counted_by_papi(launch: Launch) -> list[str]:
    (factor,) = [each for each in launch.header.factors if each.name == "hardware_counters"]
    if not factor.values:
        pytest.skip(f"PAPI counts nothing here: {factor.missing}")
    return factor.values[0].split(", ")


def test_counters_are_shown_wherever_the_cell_is(stored: tuple[Path, list[str]]) -> None:
    path, names = stored
    assert names[0].startswith(("PAPI_", "perf::"))
    rows = list(csv.DictReader(io.StringIO(plumbline("db", "table", "counters", "--db", path).out)))
    assert [row["variant"] for row in rows] == ["default", records.REDUCE_PLUS_BCAST]
    assert all(float(row[names[0]]) > 0 for row in rows)
    with site.client(path) as client:
        page = client.get(f"/cell/{CELL[0]}/{CELL[1]}/{records.CAMPAIGN.id}").text
    assert names[0] in page[page.index("<h2>Counters</h2>") :]
    told = plumbline("results", "--explain", "--db", path).out
    for variant in ("default", records.REDUCE_PLUS_BCAST):
        assert f"counted for a call of {variant}, over all ranks: " in told
    assert names[0] in told
    document = plumbline("results", "--explain", "--json", "--db", path).json
    assert {names[0] in each["counts"] for each in document["counters"]} == {True}
