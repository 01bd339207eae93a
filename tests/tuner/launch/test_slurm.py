"""A campaign in one job of a real Slurm: submitted, killed, submitted again; and ranks that its own
command starts. The library is Debian's Open MPI."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plumbline import libraries
from plumbline.system import paths
from plumbline_db.connection import Database
from plumbline_db.records import Run
from tests.slurm import Cluster
from tests.tuner.campaign.test_end_to_end import launches
from tests.tuner.started import plumbline

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

CAMPAIGN = """
nprocs = 2
sizes = [64, 16384]
guidelines = ["GL12"]
launches = 6
launches_max = 6
blocks = 2
reps = 2
rounds = 0
use = "synchronised"
precision = 0
"""
PATIENCE_SECONDS = 240


@pytest.fixture(autouse=True)
def reached(slurm: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def built() -> None:
    _, installation = libraries.find()
    paths.layout().preload(installation.library.id)  # an error says how to build it


def until(done: Callable[[], bool], what: str) -> None:
    for _ in range(10 * PATIENCE_SECONDS):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError(f"never {what}")


class Campaign:
    """A campaign file in a folder of its own, and the job that holds it."""

    def __init__(self, folder: Path, slurm: Cluster, table: str) -> None:
        folder.mkdir()
        self.database = folder / "plumbline.db"
        self._slurm = slurm
        self._file = folder / "campaign.toml"
        self._file.write_text(f"{CAMPAIGN}[job]\n{table}\n")

    def submit(self) -> str:
        words = ("campaign", self._file, "--db", self.database, "--submit", "slurm")
        said = plumbline(*words)
        assert said.returncode == 0, said.stdout + said.stderr
        return said.stdout.partition("\n")[0]

    def await_launches(self, least: int) -> None:
        until(lambda: len(self.launches()) >= least, f"{least} launches: {self.log()}")

    def await_end(self) -> None:
        until(lambda: not self._slurm.jobs("pending,running,completing"), "at its end")

    def log(self) -> str:
        logs = (self.database.parent / "jobs").glob("*.log")
        return "".join(log.read_text() for log in logs)

    def launches(self) -> list[Run]:
        return launches(self.database)

    def results(self) -> dict[str, Any]:
        said = plumbline("results", "--json", "--db", self.database)
        assert said.returncode in (0, 3), said.stderr + self.log()
        found: dict[str, Any] = json.loads(said.stdout)
        return found


@pytest.mark.alone
def test_a_killed_job_is_submitted_again_and_goes_on(tmp_path: Path, slurm: Cluster) -> None:
    """On another node. Its launches are those of a campaign that nothing
    came between, each made once."""
    nobody = Campaign(tmp_path / "whole", slurm, 'constraint = "twin"')
    slurm.close("third")
    assert "submitted job" in nobody.submit()
    nobody.await_end()
    killed = Campaign(tmp_path / "killed", slurm, 'constraint = "twin"')
    killed.submit()
    killed.await_launches(2)
    ((number, name, _),) = slurm.until("RUNNING")
    assert killed.submit() == (
        f"job {number} of Slurm runs this campaign already (RUNNING): no second job is submitted"
    )
    slurm.ask("scancel", number)
    killed.await_end()
    before = killed.launches()
    slurm.close("second")
    with Database.open(killed.database) as db:
        assert db.rows("SELECT state FROM campaign") == [("running",)]
    assert f"submitted job {int(number) + 1} of Slurm: 1 node with 2 ranks each" in killed.submit()
    killed.await_end()
    assert [one[1] for one in slurm.jobs()].count(name) == 2
    slurm.close("")
    assert killed.launches()[: len(before)] == before
    hosts = {run.argv[run.argv.index("--host") + 1] for run in killed.launches()}
    assert hosts == {"second:2", "third:2"}, killed.log()

    whole, found = nobody.results(), killed.results()
    for result in (whole, found):
        assert result["state"] == "finished", killed.log()
        assert result["machine"]["host"] == "plumb, partition main"
    assert found["before"]["cells"] == whole["before"]["cells"] > 0
    kept = [[(run.suite, run.sequence, run.plan) for run in one.launches() if run.finished]
            for one in (nobody, killed)]  # fmt: skip
    named = [[row for row in one if "repeated" not in row[0]] for one in kept]
    assert sorted(named[0]) == sorted(named[1]) and len(set(named[1])) == len(named[1])


@pytest.mark.alone
@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('constraint = "real"\nstart = "srun"\nmpi = "pmix"', "srun --mpi=pmix --overlap"),
        ('constraint = "twin"\nexclusive = false', "mpirun"),
    ],
)
def test_ranks_stay_alive_as_steps_of_the_job(
    tmp_path: Path, slurm: Cluster, table: str, words: str
) -> None:
    """Also on another node than that of mpirun, whose daemons srun starts."""
    campaign = Campaign(tmp_path / "own", slurm, table)
    campaign.submit()
    campaign.await_end()
    kept = [run for run in campaign.launches() if run.finished]
    assert kept, campaign.log()
    assert all(words in " ".join(run.argv) and run.member for run in kept)
    assert slurm.jobs("running,completing") == []


def test_in_an_allocation(tmp_path: Path, slurm: Cluster) -> None:
    """Without a campaign file ranks are started on its host, which this one is not called; srun
    asks it for its facts."""
    where = ["salloc", "--quiet", "--nodelist=second", "--ntasks=2", "--exclusive"]
    words = ["measure", "MPI_Bcast", "--launches", "1", "--sizes", "1024"]
    words += ["--output", tmp_path / "raw"]
    database = str(tmp_path / "plumbline.db")
    done = plumbline(*words, beneath=where, cwd=tmp_path, PLUMBLINE_DB=database)
    assert done.returncode == 0, done.stdout + done.stderr
    (raw,) = (tmp_path / "raw").iterdir()
    header = json.loads(raw.read_text().partition("\n")[0])
    assert header["nprocs"] == 2
    assert "second" in header["environment"]["OMPI_MCA_orte_node_regex"]
