"""plumbline compare --measure and --history, on a simulated library: B is slower in planted cells,
and nowhere where nothing is planted."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline.results import compared_now
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.probe_records import CaseRecord
from tests.tuner import simulated
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import Costs, SimulatedStarter

WORDS = (
    *("compare", "--measure", "/opt/a", "/opt/b", "-n", "4", "--sizes", "1024,65536"),
    *("--functions", "MPI_Allreduce,MPI_Bcast", "--launches", "30"),
)

Plant = Callable[..., None]


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plant:
    """Puts two libraries there, by the factors of what is slower in the second one."""
    monkeypatch.setenv("PLUMBLINE_DB", str(tmp_path / "plumbline.db"))

    def plant(
        slower: dict[tuple[str, int], float], lost: Callable[[CaseRecord], bool] = lambda _: False
    ) -> None:
        starters = iter(
            [
                SimulatedStarter(Costs(), launch_noise=0.03, case_noise=0.03),
                SimulatedStarter(
                    Costs(everything=slower),
                    launch_noise=0.03,
                    case_noise=0.03,
                    corrupt=lambda case: "wrong" if lost(case) else "ok",
                ),
            ]
        )

        def start(toolchain: Toolchain, settings: Settings) -> SimulatedStarter:
            del toolchain, settings
            return next(starters)

        monkeypatch.setattr(compared_now.starting, "starter", start)
        monkeypatch.setattr(compared_now, "find_toolchain", lambda *_, **__: simulated.toolchain())

    return plant


def verdicts(document: dict[str, list[dict[str, object]]]) -> dict[tuple[object, object], object]:
    return {(line["function"], line["bytes"]): line["verdict"] for line in document["cells"]}


def test_parameters_may_be_called_as_variables_are() -> None:
    """Who knows Open MPI writes OMPI_MCA_….; both are the same setting, with what it needs."""
    here, name = simulated.toolchain(), "coll_tuned_allreduce_algorithm"
    found = [
        compared_now._in_force(here, compared_now.parse(f"{prefix}{name}=3"))
        for prefix in ("", "OMPI_MCA_")
    ]
    assert found[0] == found[1] != {}
    with pytest.raises(UsageError, match="reports no parameter OMPI_MCA_coll_tunde"):
        compared_now._in_force(here, compared_now.parse("OMPI_MCA_coll_tunde=3"))


def test_one_size_is_enough(sides: Plant) -> None:
    sides({("MPI_Allreduce", 65536): 1.2})
    said = plumbline(*WORDS, "--sizes", "64k", "--json")
    assert said.status == 3
    found = verdicts(said.json)
    assert found.keys() == {("MPI_Allreduce", 65536), ("MPI_Bcast", 65536)}
    assert plumbline(*WORDS, "--sizes", "0,8").status == 2


def test_what_is_planted_is_found_and_nothing_else(sides: Plant, tmp_path: Path) -> None:
    sides({("MPI_Allreduce", 65536): 1.1})
    said = plumbline(*WORDS, "--json", "--output", tmp_path / "x.xml")
    assert said.status == 3
    found = verdicts(said.json)
    assert found.pop(("MPI_Allreduce", 65536)) == "slower"
    assert set(found.values()) <= {"equal", "not shown"} and len(found) == 3
    (slow,) = [line for line in said.json["cells"] if line["verdict"] == "slower"]
    assert 0 < slow["low"] < 0.1 < slow["high"] and slow["words"].startswith("slower by ")
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert failed.get("classname") == "MPI_Allreduce" and failed.get("name", "").startswith("65536")


def test_equal_libraries_and_their_history(sides: Plant, tmp_path: Path) -> None:
    sides({})
    said = plumbline(*WORDS, "--output", tmp_path / "x.md")
    assert said.status == 0 and "B is slower in 0, faster in 0" in said.out
    assert "| MPI_Bcast | 1024 |" in (tmp_path / "x.md").read_text()
    sides({("MPI_Bcast", 1024): 1.5})
    assert plumbline(*WORDS).status == 3
    listed = plumbline("compare", "--history")
    assert listed.status == 3
    lines = listed.out.splitlines()
    assert len(lines) == 3 and "MPI_Bcast 1024 B: slower by" in lines[2]
    first, second = plumbline("compare", "--history", "--json").json
    assert first["summary"]["slower"] == 0 and second["summary"]["slower"] == 1


def test_launches_take_turns_and_what_is_decided_is_not_measured_again(
    sides: Plant, tmp_path: Path
) -> None:
    sides({("MPI_Bcast", 1024): 2.0})
    found = plumbline(*WORDS, "--json").json
    by_cell = {(line["function"], line["bytes"]): line for line in found["cells"]}
    assert by_cell["MPI_Bcast", 1024]["pairs"] < max(line["pairs"] for line in found["cells"])
    with Database.open(tmp_path / "plumbline.db") as db:
        order = sorted(
            (launch.number, letter)
            for letter in ("a", "b")
            for launch in runs.surroundings(db, found[letter]["campaign"])
        )
    assert "".join(letter for _, letter in order[:8]) == "abbaabba"


def test_what_b_has_no_result_of_is_lost(sides: Plant) -> None:
    sides({}, lost=lambda case: case.function == "MPI_Bcast" and case.bytes == 1024)
    said = plumbline(*WORDS, "--json")
    assert said.status == 3 and said.json["cells"][0]["verdict"] == "lost"
    assert said.json["summary"]["lost"] == 1


@pytest.mark.parametrize(
    ("text", "prefix", "values"),
    [
        ("/opt/a", "/opt/a", {}),
        ("module:openmpi/5", "module:openmpi/5", {}),
        ("default", None, {}),
        ("default,btl=self,vader,X=1", None, {"btl": "self,vader", "X": "1"}),
        ("coll_tuned_priority=0", None, {"coll_tuned_priority": "0"}),
    ],
)
def test_a_side_is_read(text: str, prefix: str | None, values: dict[str, str]) -> None:
    found = compared_now.parse(text)
    assert (found.prefix and str(found.prefix), found.values) == (prefix, values)


@pytest.mark.parametrize("text", ["", ",X=1", "/opt/a,", "/opt/a,X", "X="])
def test_what_names_no_side_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a side is PREFIX"):
        compared_now.parse(text)


def test_nothing_was_compared_yet(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.db"
    Database.open(path, write=True).close()
    said = plumbline("compare", "--history", "--db", path)
    assert said.status == 1 and "compare --measure A B" in said.err
    assert json.loads(plumbline("compare", "--history", "--db", path, "--json").out) == []
