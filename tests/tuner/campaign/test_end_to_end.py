"""The whole of it through the command line, under the real mpirun: a campaign that is killed and
goes on, its files, and what the other commands say about it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plumbline import libraries
from plumbline.system import paths, sessions
from plumbline.system.words import counted
from plumbline_db import campaigns, connection, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Run
from tests import busy
from tests.tuner.cli.test_commands import contract
from tests.tuner.started import plumbline, start

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

CAMPAIGN = ["--sizes", "4096,16384", "--guidelines", "GL12"]
CAMPAIGN += ["--set", "rounds=1", "--set", "settings=none"]
# Four ranks show a violation that is known; two show what the commands do with any campaign.
EFFORT = {2: ["--launches", "6", "--set", "launches_max=8", "--budget", "20"]}
EFFORT |= {4: ["--launches", "8", "--budget", "40"]}


def launches(database: Path) -> list[Run]:
    if not database.exists():
        return []
    try:
        with Database.open(database) as db:
            found = campaigns.all_campaigns(db)
            return runs.listing(db, found[0].id) if found else []
    except PlumblineError:  # the first moments of a database
        return []


def kill(campaign: subprocess.Popen[bytes]) -> None:
    """As a power cut would: the campaign, and the mpirun that it has in a session of its own."""
    children = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _parent(entry) == campaign.pid
    ]
    campaign.kill()
    campaign.communicate()
    for session in children:
        for pid in sessions.members(session):
            with contextlib.suppress(ProcessLookupError):  # ranks that wait end with the campaign
                os.kill(pid, signal.SIGKILL)


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@dataclass
class Done:
    nprocs: int
    database: Path
    before_kill: list[Run]
    said: subprocess.CompletedProcess[str]
    results: dict[str, Any]

    @property
    def command(self) -> list[object]:
        return campaign_of(self.nprocs, self.database)

    @property
    def exported(self) -> list[Path]:
        return [Path(one["path"]) for one in self.results["exports"]]


def campaign_of(nprocs: int, database: Path) -> list[object]:
    """Return the words of the campaign of so many ranks."""
    return ["campaign", *CAMPAIGN, *EFFORT[nprocs], "--nprocs", nprocs, "--db", database]


# Four ranks on two processors take many times as long beside other work.
@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.alone)])
def done(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, mpirun: None
) -> Iterator[Done]:
    nprocs = request.param
    _, installation = libraries.find()
    paths.layout().preload(installation.library.id)  # an error says how to build it
    database = tmp_path_factory.mktemp("end-to-end") / "plumbline.db"
    command = campaign_of(nprocs, database)
    first = start(*command)
    limit = time.monotonic() + 120
    while len(launches(database)) < 8 and first.poll() is None and time.monotonic() < limit:
        time.sleep(0.1)
    assert first.poll() is None, first.communicate()[1].decode()
    kill(first)
    before_kill = launches(database)
    said = plumbline(*command)
    assert said.returncode == 0, said.stderr
    results = plumbline("results", "--json", "--db", database)
    assert results.returncode == 0, results.stderr
    yield Done(nprocs, database, before_kill, said, json.loads(results.stdout))


def test_a_killed_campaign_goes_on_and_repeats_nothing(done: Done) -> None:
    assert len(done.before_kill) >= 8
    after = launches(done.database)
    assert after[: len(done.before_kill)] == done.before_kill
    keys = [(one.suite, one.sequence) for one in after]
    assert len(set(keys)) == len(keys) > len(done.before_kill)
    assert connection.check(done.database) == []
    with Database.open(done.database) as db:
        (campaign,) = campaigns.all_campaigns(db)
    assert campaign.state == "finished"


def test_results_have_the_fields_of_the_contract(done: Done) -> None:
    contract(done.results)
    assert done.results["nprocs"] == done.nprocs
    assert done.results["library"]["id"].startswith("openmpi-")
    cells = done.results["before"]["cells"]
    assert cells == 5  # one of monotony, two of split-robustness, two of the pattern
    assert done.results["cost"]["launches"] == len(launches(done.database))
    assert 0 < done.results["cost"]["timed_share"] < 1


def test_what_is_left_was_searched(done: Done) -> None:
    """What is still violated has been searched in vain, or the budget has ended the search."""
    for one in done.results["remaining"]:
        assert one["reason"]


def test_the_known_violation_is_found_and_removed(done: Done) -> None:
    """Four ranks on two processing units, Open MPI 4.1: Allreduce of 16 KiB takes longer than
    Reduce and Bcast in all ways of use, and something ends that."""
    known = done.results["library"]["version"].startswith("4.1.")
    if not known or done.nprocs != 4 or done.results["machine"]["processing_units"] > 2:
        pytest.skip("the violation is known for Open MPI 4.1 with four ranks on two units only")
    before = {(one["guideline"], one["bytes"]) for one in done.results["before"]["violations"]}
    after = {(one["guideline"], one["bytes"]) for one in done.results["after"]["violations"]}
    if ("GL12", 16384) not in before:
        busy.undecided("it takes hardly longer here: 1.03 times on an idle machine of another kind")
    if ("GL12", 16384) in after:
        busy.undecided("no winner was clear within the budget")
    sizes = [(one["bytes_from"], one["bytes_to"]) for one in done.results["winners"]]
    (winner,) = [
        one
        for one, (low, high) in zip(done.results["winners"], sizes, strict=True)
        if low <= 16384 and (high is None or high >= 16384)
    ]
    assert winner["function"] == "MPI_Allreduce" and winner["speedup_low"] > 1


def test_the_exported_files_exist_and_are_named(done: Done) -> None:
    tables = plumbline("results", "--all", "--db", done.database)
    names = {one.name for one in done.exported}
    assert names >= {"plumbline.sh", "mca-params.conf", "plumbline.json"}
    for path in done.exported:
        assert path.is_file()
        if done.results["winners"]:
            assert str(path) in tables.stdout
    by_rules = [one for one in done.results["winners"] if one["variant"] == "default"]
    by_profile = [one for one in done.results["winners"] if one["variant"] != "default"]
    assert ("ompi-rules.conf" in names) == bool(by_rules)
    assert ("plumbline.profile" in names) == bool(by_profile)


def test_every_winner_was_shown_to_be_in_force(done: Done) -> None:
    said = [one["text"] for one in done.results["events"] if one["kind"] == "in force"]
    for one in done.results["winners"]:
        assert any(one["function"] in text and "decides" in text for text in said)


def test_run_again_it_only_reports(done: Done) -> None:
    count = len(launches(done.database))
    again = plumbline(*done.command)
    assert (again.returncode, again.stdout) == (0, done.said.stdout)
    assert len(launches(done.database)) == count


def test_run_puts_the_files_in_force_and_proves_it(done: Done) -> None:
    said = plumbline("run", "--db", done.database, "--", "env")
    assert said.returncode == 0, said.stderr
    winners = counted(len(done.results["winners"]), "winner")
    assert f"{winners} of {done.results['campaign']}" in said.stderr
    seen = dict(line.split("=", 1) for line in said.stdout.splitlines() if "=" in line)
    if any(path.name == "ompi-rules.conf" for path in done.exported):
        assert seen["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
        assert Path(seen["OMPI_MCA_coll_tuned_dynamic_rules_filename"]) in done.exported
        assert "ompi-rules.conf decides (a canary in its place is refused)" in said.stderr
    if any(path.name == "plumbline.profile" for path in done.exported):
        assert "plumbline.profile decides (a canary in its place is refused)" in said.stderr


def test_verify_alone(done: Done, tmp_path: Path) -> None:
    words = ["verify", "--guidelines", "GL12", "--sizes", "4,16384", "--nprocs", done.nprocs]
    few = ("--launches", "6", "--set", "launches_max=8")
    said = plumbline(*words, *few, "--json", "--db", tmp_path / "verify.db")
    found = json.loads(said.stdout)
    assert said.returncode == (3 if found["before"]["violations"] else 0), said.stderr
    assert found["winners"] == []
    assert found["before"]["cells"] == len(found["before"]["cells_all"]) == 4


def test_measure_and_doctor(tmp_path: Path) -> None:
    knob = "coll_tuned_allreduce_algorithm=basic_linear"
    words = ["measure", "MPI_Allreduce", "--launches", "1", "--nprocs", "2", "--knob", knob]
    said = plumbline(*words, "--variants", "all", "--json")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert {one["outcome"] for one in found} == {"ok"}
    names = {one["variant"] for one in found}
    assert {"default", "allreduce_ring", "allreduce_as_reduce_plus_bcast"} <= names
    assert all(len(one["seconds"]) == 1 for one in found)
    words = ["measure", "MPI_Allreduce", "--launches", "1", "--nprocs", "2", "--sizes", "65536"]
    said = plumbline(
        *words, "--set", "sync=roundtime", "--set", "runtime=global", "--set", "clock=wtime"
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert "global clock: residual error at most" in said.stdout
    said = plumbline(*words, "--set", "sync=shout")
    assert said.returncode == 2 and "token 'sync=shout': no such start scheme" in said.stderr
    doctor = plumbline("doctor", "--db", tmp_path / "plumbline.db")
    assert doctor.returncode == 0, doctor.stdout
    assert "ok    library" in doctor.stdout and "switches knobs" in doctor.stdout
