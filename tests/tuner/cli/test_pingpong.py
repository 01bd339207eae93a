"""plumbline measure pingpong and plumbline measure --nrep, over the simulated library."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.measure.pingpong import SIZES
from plumbline_db import campaigns, hockney, runs
from plumbline_db.connection import Database
from tests.db import build
from tests.tuner import planted
from tests.tuner.cli.command import plumbline
from tests.tuner.cli.conftest import install
from tests.tuner.simulated import Interrupted, SimulatedStarter

# --- pingpong -----------------------------------------------------------------------------------


def test_pingpong(starter: SimulatedStarter, tmp_path: Path) -> None:
    """What was planted comes back, by class of pair, near ones first; it is stored once."""
    words = ["measure", "pingpong", "-n", "4", "--db", tmp_path / "plumbline.db"]
    found = plumbline(*words, "--json").json
    assert [one["pair"] for one in found["pairs"]] == ["same_core", "same_socket"]
    for one, more in zip(found["pairs"], (1e-6, 0), strict=True):
        assert [trips["bytes"] for trips in one["half_trips"]] == list(SIZES)
        assert {len(trips["seconds"]) for trips in one["half_trips"]} == {10}
        whole, eager, rendezvous = one["lines"]
        assert (whole["piece"], eager["piece"], rendezvous["piece"]) == (0, 1, 2)
        assert (whole["bytes_from"], whole["bytes_to"]) == (0, 2**22)
        assert (eager["bytes_to"], rendezvous["bytes_from"]) == (2048, 4096)
        assert eager["alpha_seconds"] == pytest.approx(4e-7 + more, rel=0.1)
        assert rendezvous["alpha_seconds"] == pytest.approx(2e-6 + more, rel=0.1)
        assert rendezvous["beta_seconds_per_byte"] == pytest.approx(5e-11, rel=0.1)
        low, high = rendezvous["beta_low"], rendezvous["beta_high"]
        assert low <= rendezvous["beta_seconds_per_byte"] <= high
    launched = len(starter.launches)
    assert launched == 10
    said = plumbline(*words)
    assert "same_core" in said.out and "4096–4194304" in said.out
    assert plumbline(*words, "--json").json == found and len(starter.launches) == launched
    again = plumbline(*words, "--new", "--json").json
    assert again["id"] != found["id"] and len(starter.launches) == 2 * launched
    with Database.open(tmp_path / "plumbline.db") as db:
        assert campaigns.all_campaigns(db) == []  # no campaign of the loop
        stored = hockney.latest(db, build.MACHINE.id, build.LIBRARY.fingerprint)
        assert stored == hockney.get(db, again["id"]) and len(stored) == 6
        assert hockney.latest(db, "elsewhere", build.LIBRARY.fingerprint) == []


def test_an_interrupted_pingpong_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = [
        "measure",
        "pingpong",
        "--sizes",
        "0,64,4096,65536",
        "--db",
        tmp_path / "plumbline.db",
        "--json",
    ]
    install(monkeypatch, SimulatedStarter(planted.costs(), stop_after=4))
    with pytest.raises(Interrupted):
        plumbline(*words)
    rest = SimulatedStarter(planted.costs())
    install(monkeypatch, rest)
    found = plumbline(*words).json
    assert len(rest.launches) == 6
    with Database.open(tmp_path / "plumbline.db") as db:
        assert len(runs.listing(db, found["id"])) == 10


# --- nrep ---------------------------------------------------------------------------------------


def test_nrep(starter: SimulatedStarter, tmp_path: Path) -> None:
    words = ["measure", "MPI_Bcast", "--nrep", "--sizes", "8,1024", "--launches", "5"]
    words += ["--set", "nrep=rse:0.02,cov_mean:0.01/30", "--output", tmp_path]
    said = plumbline(*words, "--json")
    assert said.status == 0
    assert [(one["function"], one["bytes"]) for one in said.json] == [
        ("MPI_Bcast", 8),
        ("MPI_Bcast", 1024),
    ]
    for one in said.json:
        counts = [launch["nrep"] for launch in one["launches"]]
        assert len(counts) == 5 and one["nrep"] == max(counts)
        assert set(counts) <= {20, 30, 40, 50}
        assert one["met"] and {launch["by"] for launch in one["launches"]} == {"criteria"}
        names = [criterion["name"] for criterion in one["launches"][0]["criteria"]]
        assert names == ["rse", "cov_mean"]
    assert len(list(tmp_path.glob("nrep-*.ndjson"))) == 5
    assert (tmp_path / "nrep.svg").read_text().startswith("<svg")
    assert "rse 0.01 < 0.02" in plumbline(*words).out


def test_nrep_says_where_the_rule_was_not_met(starter: SimulatedStarter) -> None:
    said = plumbline("measure", "MPI_Bcast", "--nrep", "--sizes", "8", "--set", "nrep_max=20")
    assert said.status == 1
    assert "maximum" in said.out and "rse 0.0375 ≥ 0.025" in said.out


def test_nrep_says_what_could_not_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, SimulatedStarter(planted.costs(), corrupt=lambda _: "wrong"))
    said = plumbline("measure", "MPI_Bcast", "--nrep", "--sizes", "8", "--json")
    assert said.status == 1
    assert (said.json[0]["outcome"], said.json[0]["nrep"]) == ("wrong: simulated", None)


def test_measure_under_a_rule(starter: SimulatedStarter) -> None:
    said = plumbline("measure", "MPI_Bcast", "--sizes", "8", "--set", "nrep=rse:0.02", "--json")
    assert said.status == 0
    assert len(said.json[0]["seconds"]) == 8
