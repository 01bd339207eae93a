"""plumbline results --explain, over a finished campaign of the simulated library."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from tests.db import build
from tests.tuner import simulated
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.cli.test_errors import refused
from tests.tuner.simulated import SimulatedStarter

Finished = tuple[Path, Result]


@pytest.fixture
def database(finished: Finished, tmp_path: Path) -> Path:
    """The finished campaign, to be written to."""
    return Path(shutil.copy(finished[0], tmp_path / "plumbline.db"))


def test_without_ping_pongs_it_says_what_was_measured(finished: Finished) -> None:
    said = plumbline("results", "--explain", "--db", finished[0])
    assert said.status == 0
    for part in (
        "no models: α and β are not known here",
        "MPI_Allreduce of 16384 B on 4 ranks: the default takes",
        "violates GL12 Allreduce ⪯ Reduce+Bcast: ",
        "no algorithm that was tried takes the default's time",
        "winner: ",
        "no prediction can be compared with a measurement",
    ):
        assert part in said.out, part


def test_what_is_missing_is_measured_once(database: Path, starter: SimulatedStarter) -> None:
    """Planted: 0.4 µs and 0.1 ns a byte inside a socket, the farthest pair, and more from 4 KiB
    on; a reduction inside a rank takes 0.15 ns a byte. Asked what it sends, it says nothing."""
    words = ["results", "--explain", "--measure", "--json", "--db", database]
    before = plumbline("results", "--json", "--db", database).json["cost"]
    told = plumbline(*words).json
    found = told["explanation"]
    assert told["cost"] == before  # of the campaign, not of what is asked for afterwards
    assert starter.launches[:6] == [("explain", number) for number in range(6)]
    assert [suite.rpartition("-")[2] for suite, _ in starter.launches[6:]] == ["0"]
    assert found["basis"]["pair"] == "same_socket" and found["basis"]["missing"] == []
    network = found["basis"]["network"]
    small, large = network["pieces"]
    assert 2048 < small["bytes_to"] < 8192 and large["bytes_to"] is None
    assert small["alpha_seconds"] == pytest.approx(4e-7, rel=0.1)
    assert large["alpha_seconds"] == pytest.approx(2e-6, rel=0.1)
    assert network["gamma_seconds_per_byte"] == pytest.approx(1.5e-10, rel=0.3)
    assert network["receive_gap_seconds"] > 0 and network["send_gap_seconds"] > 0
    again = plumbline(*words).json["explanation"]
    assert again == found and len(starter.launches) == 7
    assert (
        plumbline("results", "--explain", "--json", "--db", database).json["explanation"] == found
    )
    with Database.open(database) as db:
        stored = runs.listing(db, campaigns.get(db, None).id, ["explain"])
        assert len(stored) == 6


def test_what_ran_over_rules_of_the_site_is_not_asked_what_it_sends(
    database: Path, starter: SimulatedStarter
) -> None:
    """A candidate would send what these rules say."""
    with Database.open(database, write=True) as db:
        db.rows("UPDATE campaign SET site_rules = '0'")
    plumbline("results", "--explain", "--measure", "--db", database)
    assert {suite for suite, _ in starter.launches} == {"explain"}


def test_predictions_stand_beside_what_was_measured(
    database: Path, starter: SimulatedStarter
) -> None:
    plumbline("results", "--explain", "--measure", "--db", database)
    found = plumbline("results", "--explain", "--json", "--db", database).json["explanation"]
    cell = next(
        one for one in found["cells"] if (one["function"], one["bytes"]) == ("MPI_Allreduce", 16384)
    )
    assert [one["guideline"] for one in cell["violated"]] == ["GL12"]
    (rabenseifner,) = [one for one in cell["candidates"] if "=rabenseifner" in one["configuration"]]
    assert rabenseifner["formula"] == "4 α + 24 KiB·β + 12 KiB·γ"
    network = found["basis"]["network"]
    messages = 2 * (_message(network, 8192) + _message(network, 4096))
    expected = messages + 12288 * network["gamma_seconds_per_byte"]
    assert rabenseifner["hockney_seconds"] == pytest.approx(expected)
    assert rabenseifner["off"] == pytest.approx(
        rabenseifner["loggp_seconds"] / rabenseifner["seconds"] - 1
    )
    assert cell["winner"]["configuration"] == rabenseifner["configuration"]
    assert cell["floor"]["rounds"] == 2
    assert cell["default_over_floor"] == pytest.approx(
        cell["default_seconds"] / cell["floor_seconds"]
    )
    assert cell["default_over_floor"] > cell["winner_over_floor"] > 1
    said = plumbline("results", "--explain", "--db", database).out
    assert "4 α + 24 KiB·β + 12 KiB·γ" in said and "how far to trust it: of" in said
    more = plumbline("results", "--explain", "--all", "--db", database).out
    assert set(said.splitlines()) <= set(more.splitlines())


def _message(network: dict[str, list[dict[str, float]]], size: int) -> float:
    small, large = network["pieces"]
    piece = small if size <= small["bytes_to"] else large
    return piece["alpha_seconds"] + size * piece["beta_seconds_per_byte"]


def test_the_picture(database: Path, starter: SimulatedStarter, tmp_path: Path) -> None:
    plumbline("results", "--explain", "--measure", "--db", database)
    target = tmp_path / "why.svg"
    said = plumbline("results", "--explain", "--picture", target, "--db", database)
    assert said.out.strip() == str(target)
    svg = target.read_text()
    for part in ("MPI_Allreduce", "lower bound", "winner, by the model", "other candidates"):
        assert part in svg, part


def test_not_with_another_library(
    database: Path, starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = msgspec.structs.replace(build.MACHINE, id="elsewhere")
    other = msgspec.structs.replace(simulated.toolchain(), machine=machine)
    monkeypatch.setattr("plumbline.settings.toolchain.find_toolchain", lambda *_, **__: other)
    said = plumbline("results", "--explain", "--measure", "--db", database)
    refused(said, 2, "was run on another machine or with another build")
    assert starter.launches == []
