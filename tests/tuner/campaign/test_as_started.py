"""Winners in force for an application as its own command starts it: real mpirun and srun, with
winners that nobody has searched."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.campaign import in_force
from plumbline.campaign.in_force import PlacedRanks
from plumbline.core.profile_file import read
from plumbline.system import paths
from tests.db import build
from tests.exporters import mpi
from tests.slurm import Cluster
from tests.tuner import planted_site
from tests.tuner.results.test_profiling import PROGRAM
from tests.tuner.started import plumbline

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

RULES = planted_site.by_rules("MPI_Allreduce", "recursive_doubling", 2)
PROFILE = planted_site.by_profile("MPI_Bcast", "bcast_binomial", 2)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _, installation = libraries.find()
    if installation.library.family != "openmpi":
        pytest.skip(f"mpirun is that of {installation.library.id}")
    paths.layout().preload(installation.library.id)  # an error says how to build it
    return planted_site.site(tmp_path_factory.mktemp("site"), [RULES, PROFILE])


def run(database: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """The application is a shell that says which profile it was given."""
    application = ("sh", "-c", "echo profile=$PLUMBLINE_PROFILE")
    return plumbline("run", "--db", database, "--", *words, *application)


MPIRUN = ["mpirun", "--oversubscribe"]


@pytest.mark.parametrize(
    "words",
    [
        [*MPIRUN, "--host", "localhost:2"],  # nothing says how many
        ["env", "A=1", *MPIRUN, "-n", "2", "env", "B=2"],
    ],
)
def test_the_command_s_own_ranks_prove_it(database: Path, words: list[str]) -> None:
    done = run(database, *words)
    assert done.returncode == 0, done.stderr
    assert (
        "ompi-rules.conf decides (a canary in its place is refused): MPI_Allreduce" in done.stderr
    )
    assert "plumbline.profile decides (a canary in its place is refused): MPI_Bcast" in done.stderr
    assert "plumbline: 2 winners of " in done.stderr and done.stderr.endswith(" in force\n")
    assert done.stdout == f"profile={database.parent / 'exports' / 'plumbline.profile'}\n" * 2


def test_what_mpirun_says_first_is_told() -> None:
    """The end of its text is advice: what was wrong stood before it."""
    words = ["mpirun", "-np", "4096", "true"]
    environment = os.environ | mpi.ROOT_IS_ALLOWED
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert in_force._first_words(done.stderr).startswith("There are not enough slots")
    assert in_force._first_words("") == in_force._first_words("----\n\n----\n") == ""


def test_another_number_of_ranks_has_none(database: Path) -> None:
    done = run(database, *MPIRUN, "--host", "localhost:3")
    assert done.returncode == 0 and "decides" not in done.stderr
    assert "plumbline: 0 of 2 winners of " in done.stderr
    assert "apply to 3 ranks on 1 node: they are for communicators of 2 ranks" in done.stderr


def test_what_the_command_takes_away_is_said(database: Path) -> None:
    done = run(database, *MPIRUN, "-np", "2", "--mca", "coll", "^tuned")
    assert done.returncode == 0, done.stderr
    assert "plumbline.profile decides" in done.stderr and "rules.conf decides" not in done.stderr
    assert "not in force: MPI_Allreduce at 1024 B: ompi-rules.conf does not decide" in done.stderr
    assert "plumbline: 1 of 2 winners of " in done.stderr


def test_where_none_is_in_force_nothing_starts(tmp_path: Path, database: Path) -> None:
    alone = planted_site.site(tmp_path, [RULES])
    done = run(alone, *MPIRUN, "-np", "2", "--mca", "coll", "^tuned")
    assert done.returncode == 1 and done.stdout == ""
    assert "plumbline: not in force: MPI_Allreduce at 1024 B" in done.stderr


def test_a_launcher_that_starts_no_ranks_of_the_library(tmp_path: Path, database: Path) -> None:
    fake = tmp_path / "mpirun"
    fake.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')  # of another library: each rank alone
    fake.chmod(0o755)
    done = run(database, fake, "-np", "2")
    assert done.returncode == 1 and done.stdout == ""
    assert "starts 1 rank of openmpi" in done.stderr and "--no-proof" in done.stderr


def test_a_command_in_which_nobody_finds_the_program(database: Path, tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text('#!/bin/sh\nexec mpirun --oversubscribe -np 2 "$@"\n')
    script.chmod(0o755)
    done = run(database, script)
    assert done.returncode == 0, done.stderr
    assert "shown with 2 ranks, as the campaign started them: the command is no mpi" in done.stderr
    assert "2 winners of " in done.stderr and "for communicators of 2 ranks" in done.stderr


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (PlacedRanks(2, 1, 2), "2 winners of {} in force"),
        (PlacedRanks(2), "2 winners of {} in force"),
        (
            PlacedRanks(2, 2, 1),
            "1 of 2 winners of {} apply to 2 ranks on 2 nodes: the others are for 2 ranks, 2 a n",
        ),
        (
            PlacedRanks(3, 1, 3),
            "0 of 2 winners of {} apply to 3 ranks on 1 node: they are for communicators of 2 r",
        ),
    ],
)
def test_layouts(database: Path, layout: PlacedRanks, said: str) -> None:
    files = in_force.files(database, None, None)
    shown = in_force.Shown(layout)
    assert in_force.applying(files, {}, shown).startswith(said.format(files.campaign.id))


def test_rules_hold_where_they_were_not_measured(database: Path) -> None:
    files = in_force.files(database, None, None)
    files = msgspec.structs.replace(files, winners=[RULES])
    said = in_force.applying(files, {}, in_force.Shown(PlacedRanks(2, 2, 1)))
    assert said.endswith("in force, measured with 2 ranks a node: here there are 1")


def test_a_variable_holds_for_any_number_of_ranks(database: Path) -> None:
    """As of forms: a rules file has none of them, and a process one value."""
    files = in_force.files(database, None, None)
    knob = "coll_libnbc_ibcast_algorithm"
    form = build.winner(function="MPI_Ibcast", nprocs=2, ppn=2, configuration={knob: "knomial"})
    files = msgspec.structs.replace(files, winners=[form, RULES])
    variables = {f"OMPI_MCA_{knob}": "knomial"}
    said = in_force.applying(files, variables, in_force.Shown(PlacedRanks(3)))
    assert said.startswith("1 of 2 winners of ")
    said = in_force.applying(files, {}, in_force.Shown(PlacedRanks(3)))
    assert said.startswith("0 of 2 winners of ")


# --- what was saved -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM.replace("getchar()", "'x'"))
    _, installation = libraries.find()
    words = [str(installation.mpicc), str(folder / "program.c"), "-o", str(folder / "program")]
    subprocess.run(words, check=True, timeout=60)
    return folder / "program"


def test_calls_are_counted_with_the_winners_in_force(
    database: Path, program: Path, tmp_path: Path
) -> None:
    output = tmp_path / "calls.json"
    words = ["run", "--db", database, "--no-proof", "--json", "--output", output, "--"]
    done = plumbline(*words, *MPIRUN, "-np", "2", program, "5")
    assert done.returncode == 5, done.stderr
    assert {(call.function, call.bytes): call.calls for call in read(output).calls} == {
        ("MPI_Allreduce", 1000): 7.0,
        ("MPI_Bcast", 24): 3.0,
    }
    # Nobody has measured anything; 1000 B and 24 B are below the winners' sizes.
    assert "saved: nothing; no winner of " in done.stderr
    saved = json.loads(done.stdout[done.stdout.index("{") :])
    assert saved["saving_seconds"] == 0 and len(saved["rows"]) == 2


def test_a_size_that_nobody_measured_is_named(tmp_path: Path, program: Path) -> None:
    below = planted_site.by_profile("MPI_Allreduce", "allreduce_recursive_doubling", 2)
    below = msgspec.structs.replace(below, bytes_from=1)
    site = planted_site.site(tmp_path, [below])
    words = ["run", "--db", site, "--no-proof", "--output", tmp_path / "calls.json", "--"]
    done = plumbline(*words, *MPIRUN, "-np", "2", program)
    assert "plumbline: replaced on rank 0: 7 of 7 calls of MPI_Allreduce" in done.stderr
    assert "no measurement of this size: 7 of MPI_Allreduce at 1000 B" in done.stderr


# --- srun ---------------------------------------------------------------------------------------


SRUN = ["srun", "--mpi=pmix", f"--nodelist={os.uname().nodename.partition('.')[0]}"]


def test_srun_s_own_ranks_prove_it(database: Path, slurm: Cluster) -> None:
    script = ["sh", "-c", "echo profile=$PLUMBLINE_PROFILE"]
    done = plumbline("run", "--db", database, "--", *SRUN, "-n", "2", *script, **slurm.environment)
    assert done.returncode == 0, done.stderr
    assert "rules.conf decides" in done.stderr and "profile decides" in done.stderr
    assert "plumbline: 2 winners of " in done.stderr
    assert done.stdout.count("exports/plumbline.profile") == 2


def test_srun_that_hands_nothing_on_is_found_out(database: Path, slurm: Cluster) -> None:
    words = [*SRUN, "-n", "2", "--export=ALL", "true"]  # takes the place of what we have set
    done = plumbline("run", "--db", database, "--", *words, **slurm.environment)
    assert done.returncode == 0, done.stderr
    assert "plumbline.profile does not decide (its canary goes unnoticed)" in done.stderr
    assert "plumbline: 1 of 2 winners of " in done.stderr


@pytest.mark.parametrize("command", ["profile", "record"])
def test_recordings_enter_the_ranks_of_srun(
    slurm: Cluster, program: Path, tmp_path: Path, command: str, database: Path
) -> None:
    output = tmp_path / "out"
    done = plumbline(
        command, "--output", output, "--", *SRUN, "-n", "2", program, **slurm.environment
    )
    assert done.returncode == 0, done.stderr
    if command == "profile":
        assert "loaded 1, by its parent 0" in done.stdout  # not slurmstepd
        assert {call.function: call.calls for call in read(output).calls} == {
            "MPI_Allreduce": 7.0,
            "MPI_Bcast": 3.0,
        }
    else:
        assert "2 ranks" in done.stderr and "20 calls of collectives" in done.stderr
