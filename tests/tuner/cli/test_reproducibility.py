"""`plumbline reproducibility` over the simulated library, and once for real."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import SimulatedStarter

SMALL = (
    *("reproducibility", "--nprocs", "4", "--functions", "MPI_Bcast,MPI_Allreduce"),
    *("--sizes", "8,4096", "--trials", "3", "--launches", "3", "--set", "effect_launches=8"),
)


def test_its_help_says_first_that_it_measures() -> None:
    text = " ".join(plumbline("reproducibility", "--help").out.split())
    assert 0 < text.index("begins to measure at once") < text.index("Repeats whole")


def test_it_prints_spread_alarms_power_and_cost(tmp_path: Path, starter: SimulatedStarter) -> None:
    picture = tmp_path / "spread.svg"
    done = plumbline(*SMALL, "--db", tmp_path / "r.db", "--picture", picture)
    assert done.status == 0, done.err
    text = " ".join(done.out.split())
    for part in (
        "Spread over 3 trials",
        "plain, each %",
        "MPI_Allreduce 4 4096",
        "Ours is smaller than all of them in",
        "A/A: 4 cells compared with themselves in 8 launches",
        "Planted slow-downs: share of cells found (launch medians",
        "Planted slow-downs: share of cells found (all pairs",
        "found in 90 %",
        "One result takes 1.5 s of launches with ours, 0.50 s (each), 0.50 s (series), 0.50 s (sk",
        str(picture),
    ):
        assert part in text, part
    drawn = "".join(ElementTree.parse(picture).getroot().itertext())
    assert "run time / least of the trials" in drawn and "Allreduce" in drawn
    launched = len(starter.launches)
    again = plumbline(*SMALL, "--db", tmp_path / "r.db", "--picture", picture)
    assert (again.out, len(starter.launches)) == (done.out, launched)


def test_json_has_the_documented_fields(tmp_path: Path, starter: SimulatedStarter) -> None:
    done = plumbline(*SMALL, "--db", tmp_path / "r.db", "--json")
    assert done.status == 0, done.err
    found = done.json
    documented = (Path(__file__).parents[3] / "docs" / "design/reproducibility.md").read_text()
    assert set(found) == {
        *("machine", "library", "campaigns", "settings", "warnings", "spread", "effects"),
        *("missing", "seconds"),
    }
    table = found["effects"]["pairs"]
    for fields in (
        found,
        found["spread"],
        found["spread"]["rows"][0],
        found["spread"]["rows"][0]["ours"],
        found["seconds"],
        table,
        table["false_alarms"],
        table["power"][0],
        table["smallest"][0],
        table["lines"][0],
    ):
        for name in fields:
            assert f'"{name}"' in documented, name
    assert len(table["lines"]) == 4 * 5
    assert len(found["spread"]["rows"]) == 4
    # One number of ranks: one row, which is no campaign.
    assert len(found["campaigns"]) == 1
    listed = plumbline("results", "--list", "--db", tmp_path / "r.db")
    assert listed.out == ""


@pytest.mark.mpi
@pytest.mark.alone
def test_for_real(tmp_path: Path) -> None:
    """Everything is measured and adds up; how large the numbers are is up to the machine. A planted
    300 % stands out of whatever runs here beside it."""
    done = plumbline(
        *("reproducibility", "--nprocs", "2,4", "--functions", "MPI_Bcast,MPI_Allreduce"),
        *("--sizes", "4096,65536", "--trials", "2", "--launches", "2"),
        *(
            "--set",
            "effect_launches=9",
            "--set",
            "effects=300",
            "--db",
            tmp_path / "r.db",
            "--json",
        ),
    )
    assert done.status == 0, done.err
    found = done.json
    assert found["missing"] == []
    assert [(one["function"], one["nprocs"], one["bytes"]) for one in found["spread"]["rows"]] == [
        (name, nprocs, size)
        for nprocs in (2, 4)
        for name in ("MPI_Bcast", "MPI_Allreduce")
        for size in (4096, 65536)
    ]
    for row in found["spread"]["rows"]:
        times = [*row["ours"]["seconds"], *row["plain"]["each"]["seconds"]]
        times += row["plain"]["series"]["seconds"] + row["plain"]["skampi"]["seconds"]
        assert all(1e-8 < seconds < 0.1 for seconds in times)
    lines = found["effects"]["pairs"]["lines"]
    assert len(lines) == 2 * 8
    planted = [one for one in lines if one["effect"] == 300]
    assert all(one["ratio"] > 1.5 and one["p"] < 0.05 for one in planted), planted
