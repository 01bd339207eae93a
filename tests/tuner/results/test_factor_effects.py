"""The effects of factors under the real mpirun: a planted one is found, an idle one is called
idle, and levels that need no start share the ranks of a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from tests.tuner import shim
from tests.tuner.cli.command import plumbline

SLOW, IDLE = "PLANTED_SLOW=1", "PLANTED_IDLE=1"


@pytest.mark.mpi
@pytest.mark.alone
@pytest.mark.usefixtures("mpirun")
def test_a_planted_factor_is_found_and_an_idle_one_is_called_idle(tmp_path: Path) -> None:
    """While a variable is set, one start in two takes 10 % longer. Calls are short, and start after
    a barrier, so that what runs beside them interrupts few of them."""
    tool = shim.build(
        tmp_path, "mpicc", {"MPI_Allreduce": (4096, 4096, 40_000)}, ("PLANTED_SLOW", 10)
    )
    done = plumbline(
        *(
            "reproducibility",
            "factors",
            "MPI_Allreduce",
            SLOW,
            IDLE,
            "-n",
            "2",
            "--sizes",
            "4096",
            "--json",
        ),
        *("--set", f"preload={tool}", "--set", "sync=barrier", "--db", tmp_path / "f.db"),
    )
    assert done.status == 0, done.err
    slow, idle = done.json["levels"]
    assert (slow["verdict"], idle["verdict"]) == ("matters", "idle"), (slow["text"], idle["text"])
    (cell,) = slow["cells"]
    assert 0 < cell["low"] <= cell["change"] <= cell["high"] < 0.2


@pytest.mark.mpi
@pytest.mark.usefixtures("mpirun")
def test_levels_that_need_no_start_share_ranks_that_are_started_once_a_turn(tmp_path: Path) -> None:
    turns = 2
    words = ("reproducibility", "factors", "MPI_Allreduce", "cache", "clock=wtime", IDLE)
    options = ("-n", "2", "--sizes", "64", "--launches", turns, "--json", "--db")
    done = plumbline(*words, *options, tmp_path / "f.db")
    assert done.status == 0, done.err
    assert [level["ranks"] for level in done.json["levels"]] == ["shared", "shared", "own"]
    with Database.open(tmp_path / "f.db") as db:
        launches = [run for row in campaigns.of_factors(db) for run in runs.listing(db, row.id)]
    alive = [run for run in launches if run.member]
    members = [{run.member for run in alive if run.sequence == turn} for turn in range(turns)]
    assert [len(of_turn) for of_turn in members] == [1, 1] and members[0] != members[1]
    assert sorted(run.visit for run in alive) == [1, 1, 2, 2, 3, 3]
    assert {run.suite for run in alive} == {
        *("factors-base-alive", "factors-level1", "factors-level2")
    }
    assert {run.suite for run in launches} - {run.suite for run in alive} == {
        *("factors-base", "factors-level3")
    }
    assert len(launches) == len(done.json["order"]) == 5 * turns
    of_turn = [IDLE, "base", "base", "cache=overwrite", "clock=wtime"]
    assert sorted(done.json["order"][:5]) == of_turn
