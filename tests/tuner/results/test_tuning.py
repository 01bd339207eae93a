"""Jobs of `plumbline run --tune` under a real mpirun: the first is recorded, later ones measure,
the last has nothing to measure. Whatever fails, the application runs and its status is returned."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.core.application import write
from plumbline.core.profile_file import read
from plumbline.settings.identity import settings_of
from plumbline.system import paths
from plumbline_db import campaigns, findings, lock, runs, spool
from plumbline_db.connection import Database, check
from plumbline_db.records import Campaign
from tests.busy import undecided
from tests.tuner.applications import application, calls
from tests.tuner.started import FOLDERS, plumbline, start

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char from[64] = "", to[64];
    int rank, size;
    MPI_Comm calls_on = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 2)
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &calls_on);
    for (int i = 0; i < 2000; i++)
        MPI_Bcast(from, 64, MPI_BYTE, 0, calls_on);
    MPI_Allreduce(from, to, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        puts("the application ran");
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""
PATIENCE_SECONDS = 60
# What an application's own mpirun needs in a container, without Plumbline around it.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass
class Site:
    """A folder with a database, and a program."""

    program: Path
    database: Path

    @property
    def profile(self) -> Path:
        return self.database.parent / "applications" / "program-1x2.json"

    def words(self, budget: str, *arguments: str) -> list[object]:
        mpirun = ["mpirun", "--oversubscribe", "-np", "2", self.program, *arguments]
        return ["run", "--tune", budget, "--db", self.database, "--", *mpirun]

    def job(self, budget: str, *arguments: str, **own: str) -> subprocess.CompletedProcess[str]:
        words = self.words(budget, *arguments)
        return plumbline(*words, cwd=self.database.parent, **own, **AS_ROOT)

    def has_profile(self, *functions: str) -> None:
        """Their calls, else those of Bcast, take half of the time."""
        heavy = [
            calls(function, size, 1e6, 1e-6, nprocs=2)
            for function in functions or ["MPI_Bcast"]
            for size in ([64, 1024, 16384, 262144] if functions else [64])
        ]
        self.profile.parent.mkdir()
        write(self.profile, application(*heavy, seconds=2.0 * len(heavy)))

    def launches(self) -> int:
        with Database.open(self.database) as db:
            return sum(len(runs.listing(db, each.id)) for each in campaigns.all_campaigns(db))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _, installation = libraries.find()
    paths.layout().preload(paths.build_id(installation.library))  # an error says how to build it
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    words = [str(installation.mpicc), str(folder / "program.c"), "-o", str(folder / "program")]
    subprocess.run(words, check=True, timeout=60)
    return folder / "program"


@pytest.fixture
def site(program: Path, tmp_path: Path) -> Site:
    return Site(program, tmp_path / "plumbline.db")


def until(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < end, f"never {what}"
        time.sleep(0.05)


def test_jobs_learn_until_nothing_is_unknown(site: Site, tmp_path: Path) -> None:
    """How many jobs that takes depends on who else has the processors."""
    folder = tmp_path / "spool"
    folder.mkdir()
    first = site.job("60s", "3")
    assert first.returncode == 3 and "the application ran" in first.stdout, first.stderr
    assert "no profile yet" in first.stderr and not site.database.exists()
    recorded = read(site.profile)
    assert {(each.function, each.bytes): each.calls for each in recorded.calls} == {
        ("MPI_Allreduce", 32): 1.0,
        ("MPI_Bcast", 64): 2000.0,
    }
    job = first
    before = 0
    for _ in range(4):
        before = site.launches() if site.database.exists() else 0
        job = site.job("60s", "3", **{spool.VARIABLE: str(folder)})
        assert job.returncode == 3 and "the application ran" in job.stdout, job.stderr
        if "nothing is measured" in job.stderr:
            break
    if "nothing is measured" not in job.stderr:
        undecided(f"four jobs have not measured everything: {job.stderr}")
    assert site.launches() == before > 0
    assert len(list(folder.glob(f"*{spool.SUFFIX}"))) >= 1
    there = tmp_path / "site.db"
    taken = plumbline("db", "import", folder, "--db", there)
    assert taken.returncode == 0, taken.stderr
    other = Site(site.program, tmp_path / "other" / "plumbline.db")
    other.profile.parent.mkdir(parents=True)
    write(other.profile, recorded)
    there.rename(other.database)
    elsewhere = other.job("60s", "3")  # the winners of the site's database, imported
    assert elsewhere.returncode == 3 and "nothing is measured" in elsewhere.stderr
    again = other.job("60s", "3")  # the test of the winners is remembered
    assert again.returncode == 3
    assert ("(shown by a job at " in again.stderr) == ("decides" in elsewhere.stderr)


def test_a_job_that_is_killed_while_it_measures_starts_nothing(site: Site) -> None:
    site.has_profile()
    job = start(*site.words("60s"))
    until(lambda: site.database.exists() and site.launches() > 0, "a launch")
    job.send_signal(signal.SIGTERM)
    _, said = job.communicate(timeout=PATIENCE_SECONDS)
    assert job.returncode == 128 + signal.SIGTERM, said
    assert b"in force" not in said and b"replaced" not in said
    until(lambda: lock.writer(site.database) is None, "without a writer")
    assert check(site.database) == [] and site.launches() > 0


def test_another_job_measures_already(site: Site) -> None:
    site.has_profile()
    held = lock.to_write(site.database)
    try:
        job = site.job("20s")
    finally:
        held.release()
    assert job.returncode == 0 and "the application ran" in job.stdout, job.stderr
    assert "is being written by process" in job.stderr


def test_a_budget_that_is_used_up(site: Site) -> None:
    """On a busy machine the time may be up before the campaign starts."""
    site.has_profile("MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall", "MPI_Reduce", "MPI_Scan")
    for budget, words in (("1s", ["the time is up"]), ("9s", ["stopped after", "the time is up"])):
        job = site.job(budget, "5")
        assert job.returncode == 5 and "the application ran" in job.stdout, job.stderr
        assert any(text in job.stderr for text in words), job.stderr


@pytest.mark.alone  # four ranks on two cores measure for a minute
def test_communicators_of_fewer_ranks(site: Site, tmp_path: Path) -> None:
    """They are measured where the job has a core for each rank, or is told so."""
    mpirun = ["mpirun", "--oversubscribe", "-np", "4", site.program]
    words = ["run", "--tune", "60s", "--db", site.database, "--", *mpirun]
    cores = tmp_path / "four_cores"
    cores.mkdir()
    (cores / "sitecustomize.py").write_text(
        "import os\nos.sched_getaffinity = lambda _: {0, 1, 2, 3}\n"
    )
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi" / "mca-params.conf").write_text("rmaps_base_oversubscribe = 1\n")
    own = {"PYTHONPATH": f"{cores}:{FOLDERS}", "HOME": str(tmp_path), **AS_ROOT}

    def job(**own: str) -> str:
        done = plumbline(*words, cwd=tmp_path, beneath=(), **own)
        assert done.returncode == 0 and "the application ran" in done.stdout, done.stderr
        return done.stderr

    def of_two_ranks() -> list[Campaign]:
        with Database.open(site.database) as db:
            return [each for each in campaigns.all_campaigns(db) if each.nprocs == 2]

    assert "no profile yet" in job(**AS_ROOT)
    if len(os.sched_getaffinity(0)) < 4:
        assert "communicators of 2 ranks" not in job(**AS_ROOT)
    said = job(**own)
    assert "on communicators of 2 ranks" in said, said
    (campaign,) = of_two_ranks()
    settings = settings_of(campaign.settings)
    assert settings.ranks.within == "1x4" and settings.search.limited_to == "ranks"
    for _ in range(4):
        if campaign.state == "finished":
            break
        job(**own)
        (campaign,) = of_two_ranks()
    else:
        undecided("five jobs have not finished the campaign of two ranks")
    with Database.open(site.database) as db:
        chosen = findings.get_winners(db, campaign.id)
    last = job(**own)
    if chosen:
        assert "for communicators of 2 ranks" in last or "for 2 ranks" in last, last


@pytest.mark.alone  # eight jobs; one that finds nothing to measure is part of the test of all jobs
def test_calls_that_budgets_do_not_decide_are_left_to_the_library(site: Site) -> None:
    site.has_profile()
    for _ in range(8):
        job = site.job("9s", "5")
        assert job.returncode == 5 and "the application ran" in job.stdout, job.stderr
        if "nothing is measured" in job.stderr:
            break
    if "nothing is measured" not in job.stderr:
        undecided(f"eight jobs have not decided: {job.stderr}")
    before = site.launches()
    site.job("9s")
    assert site.launches() == before


def test_a_command_that_is_not_understood(site: Site, tmp_path: Path) -> None:
    script = tmp_path / "launch"
    script.write_text("#!/bin/sh\necho the application ran\nexit 9\n")
    script.chmod(0o755)
    hosts = ("mpirun", "--oversubscribe", "--host", "localhost", "-np", "2", site.program, "9")
    for words in ((script,), hosts):
        job = plumbline("run", "--tune", "20s", "--db", site.database, "--", *words, **AS_ROOT)
        assert job.returncode == 9 and "the application ran" in job.stdout, job.stderr
        (line,) = [line for line in job.stderr.splitlines() if "not tuned" in line]
        assert line.endswith("the application runs as it is")


@pytest.mark.parametrize("broken", ["database", "profile", "programs"])
def test_the_application_runs_whatever_is_broken(site: Site, broken: str, tmp_path: Path) -> None:
    own: dict[str, str] = {}
    if broken == "database":
        site.has_profile()
        site.database.write_bytes(os.urandom(100_000))
    elif broken == "profile":
        site.profile.parent.mkdir()
        site.profile.write_text("{")
    else:
        own = {"PLUMBLINE_PREFIX": str(tmp_path / "nowhere")}
    job = site.job("20s", "4", **own)
    assert job.returncode == 4 and "the application ran" in job.stdout, job.stderr
    lines = {
        "database": "nothing is known from it",
        "profile": "no profile yet",
        "programs": "not tuned",
    }
    assert lines[broken] in job.stderr


def test_what_excludes_each_other_and_what_is_no_duration(site: Site) -> None:
    words = site.words("20s")
    both = plumbline("run", "--output", site.program.with_suffix(".json"), *words[1:])
    assert both.returncode == 2 and "--tune takes neither" in both.stderr
    wrong = site.job("soon")
    assert wrong.returncode == 2 and "is not a duration" in wrong.stderr
