"""`db import` of several files, of folders and of the standard input; what other commands say of
imports; `profile --show`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tuner.cli.command import plumbline
from tests.tuner.foreign import printed
from tests.tuner.started import environment

CASES = Path(__file__).parents[2] / "cases" / "foreign"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "new.db"


def test_a_folder_and_a_file(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "deep"
    folder.mkdir(parents=True)
    (folder / "imb.txt").write_text(printed.IMB)
    (folder / "readme.txt").write_text("nothing")
    (tmp_path / "osu.txt").write_text(printed.OSU)
    words = ("db", "import", tmp_path / "logs", tmp_path / "osu.txt", "--nprocs", "4")
    taken = plumbline(*words, "--db", database)
    assert taken.status == 1 and "readme.txt is neither output of" in taken.err
    assert "Intel MPI Benchmarks" in taken.out and "OSU Micro-Benchmarks" in taken.out
    again = plumbline(*words, "--db", database, "--json").json
    assert [run["new"] for run in again["runs"]] == [False, False] and len(again["refused"]) == 1


def test_the_standard_input(database: Path) -> None:
    words = ["-m", "plumbline", "--db", str(database), "db", "import", "-"]
    done = subprocess.run(
        [sys.executable, *words],
        input=printed.IMB.encode(),
        capture_output=True,
        env=environment(),
        check=True,
    )
    assert b"imb-input-" in done.stdout


def test_a_number_of_ranks_for_each_table(database: Path, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(printed.OSU + printed.OSU)
    words = ("db", "import", tmp_path / "log.txt", "--db", database, "--json", "--nprocs")
    assert "several tables of" in plumbline(*words, "4").json["doubts"][0]
    assert plumbline(*words, "2,4").json["doubts"] == []


def test_what_is_left_out_is_a_list(database: Path) -> None:
    path = CASES / "i06_biband_and_allreduce.txt"
    found = plumbline("db", "import", path, "--db", database, "--json").json
    assert found["left_out"] == ["no times of calls: Biband"]


def test_results_list_imports_and_other_commands_say_why_they_show_none(database: Path) -> None:
    files = (CASES / "o01_barrier_full.txt", CASES / "i09_two_types.txt")
    assert plumbline("db", "import", *files, "--nprocs", "4", "--db", database).status == 0
    listed = plumbline("results", "--list", "--db", database).out.splitlines()
    a, b = (line.split()[0] for line in listed)
    assert listed[0] == f"{a}  imported  4 ranks"  # no start time: OSU prints none
    assert listed[1] == f"{b}  imported  4 ranks  started 2026-11-24T10:40:18"
    assert len(plumbline("results", "--list", "--json", "--db", database).json) == 2
    for words in ((), ("--all",), ("--json",), ("--explain",)):
        shown = plumbline("results", "--campaign", a, *words, "--db", database)
        assert shown.status == 2 and "it has no guidelines, searches or winners" in shown.err
    compared = plumbline("compare", a, b, "--db", database)
    assert compared.status == 2 and "without samples, so it cannot be compared" in compared.err


def test_profiles_are_shown(tmp_path: Path) -> None:
    shown = plumbline("profile", "--show", CASES / "p01_threshold.mpiP")
    assert shown.status == 0 and "mpiP 3.4.1, 4 ranks, ./app -n 100" in shown.out
    assert [line.split()[:2] for line in shown.out.splitlines() if line.startswith("MPI_")] == [
        ["MPI_Allreduce", "800"],
        ["MPI_Reduce", "400"],
    ]
    (tmp_path / "broken.mpiP").write_text(printed.MPIP.replace("0.20", "x"))
    broken = plumbline("profile", "--show", tmp_path / "broken.mpiP")
    assert broken.status == 0 and "rows that cannot be read: line 28" in broken.err
    none = plumbline("profile", "--show", CASES / "i06_biband_and_allreduce.txt")
    assert none.status == 2 and "is no profile of Plumbline, mpiP" in none.err
    both = plumbline("profile", "--show", CASES / "p01_threshold.mpiP", "--", "mpirun", "./a")
    assert both.status == 2 and "name either a command" in both.err
