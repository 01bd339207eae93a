"""An application's profile on the command line. Recording one is tested with real libraries
(tests/tuner/results/test_profiling.py)."""

from __future__ import annotations

from pathlib import Path

from tests.tuner.applications import calls, written
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import SimulatedStarter

FINE = calls("MPI_Allreduce", 64, 1000, 1e-5)


def test_a_campaign_and_its_results(starter: SimulatedStarter, tmp_path: Path) -> None:
    """Nothing is violated at this size, so nothing is saved."""
    path = written(tmp_path, FINE)
    words = (
        "campaign",
        "--nprocs",
        "4",
        "--profile",
        path,
        "--launches",
        "9",
        "--set",
        "all=false",
    )
    said = plumbline(*words, "--db", tmp_path / "p.db")
    assert said.status == 0, said.err
    text = " ".join(said.out.split())
    assert "expected saving a run of mpirun -np 4 ./application: 0 µs" in text
    tables = " ".join(plumbline("results", "--all", "--db", tmp_path / "p.db").out.split())
    assert "MPI_Allreduce 64 1000 20 ms 10 ms" in tables
    found = plumbline("results", "--db", tmp_path / "p.db", "--json").json["application"]
    assert (found["saving_seconds"], found["run_seconds"]) == (0.0, 100.0)
    assert [row["bytes"] for row in found["rows"]] == [64]
    launches = len(starter.launches)
    path.unlink()  # what it said is kept
    assert plumbline("results", "--db", tmp_path / "p.db", "--json").json["application"] == found
    written(tmp_path, FINE)
    assert plumbline(*words, "--db", tmp_path / "p.db").status == 0
    assert len(starter.launches) == launches
    written(tmp_path, FINE, calls("MPI_Allreduce", 128, 1000, 1e-5))
    assert plumbline(*words, "--db", tmp_path / "p.db").status == 0
    assert len(starter.launches) > launches


def test_what_is_wrong_with_it_is_said(starter: SimulatedStarter, tmp_path: Path) -> None:
    path = written(tmp_path, FINE)
    said = plumbline("campaign", "-n", "8", "--profile", path, "--db", tmp_path / "p.db")
    assert said.status == 2 and "100% on 4 ranks on 1 node" in said.err
    said = plumbline("campaign", "-n", "4", "--profile", "none", "--db", tmp_path / "p.db")
    assert said.status == 2 and "cannot read none: No such file" in said.err
    assert not starter.launches
