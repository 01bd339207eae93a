"""What stands beside a launcher's own way into ranks: srun, launchers that hand on everything, and
what rank 0 says at the end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from plumbline.campaign import proof
from plumbline.system import paths
from plumbline_exporters import plumbline_sh, run_script
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.registry import write
from tests.exporters import mpi
from tests.exporters.bundles import bundle, variant
from tests.slurm import Cluster

ALLREDUCE = variant("MPI_Allreduce", "allreduce_as_reduce_plus_bcast", 16384, 16384)
LISTED = "LD_PRELOAD=/opt/plumbline/libplumbline.so,PLUMBLINE_PROFILE=/out/plumbline.profile"


def listed(tmp_path: Path, before: str = "", times: int = 1) -> tuple[str, str]:
    """SLURM_EXPORT_ENV after sourcing, and standard error."""
    script = tmp_path / "lines.sh"
    script.write_text(plumbline_sh.script(bundle(ALLREDUCE), "/opt/plumbline/libplumbline.so"))
    text = f"set -eu\n{before}\n" + f". {script}\n" * times + 'printf %s "${SLURM_EXPORT_ENV-}"'
    done = mpi.shell(text, {"PATH": os.environ["PATH"]})
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_list_of_srun(tmp_path: Path, times: int) -> None:
    assert listed(tmp_path, times=times) == (f"ALL,{LISTED}", "")
    assert listed(tmp_path, "export SLURM_EXPORT_ENV=ALL,A=1", times) == (f"ALL,A=1,{LISTED}", "")


@pytest.mark.parametrize("theirs", ["NONE", "ALL,LD_PRELOAD=/their.so"])
def test_a_list_that_stands_against_it_is_left_with_a_word(tmp_path: Path, theirs: str) -> None:
    found, errors = listed(tmp_path, f"export SLURM_EXPORT_ENV={theirs}")
    assert found == theirs
    assert "under srun the variants are not in force" in errors and LISTED in errors


def test_a_comma_in_a_path_is_said_in_the_file() -> None:
    assert "export" not in plumbline_sh.script(bundle(ALLREDUCE), "/opt/a,b/libplumbline.so")


def test_another_campaign_does_not_take_it_for_a_setting(tmp_path: Path) -> None:
    """A proof without the preload library is one without it under srun too."""
    assert "SLURM_EXPORT_ENV" in proof.PRELOADING


# --- programs that hand on their whole environment ----------------------------------------------


def wrapped(tmp_path: Path, name: str, text: str) -> str:
    """What a program of this name says of its LD_PRELOAD, started by plumbline-run."""
    given = bundle(ALLREDUCE, directory=tmp_path / "out")
    write(given, [run_script.FILE_NAME], force=True)
    program = tmp_path / name
    program.write_text(f'#!/bin/sh\n# {text}\nprintf %s "${{LD_PRELOAD-}}"\n')
    program.chmod(0o755)
    done = subprocess.run(
        [tmp_path / "out" / "plumbline-run", program],
        env={"PATH": "/usr/bin:/bin", "PLUMBLINE_CHECKED": "1"},
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize(
    ("name", "text", "preloaded"),
    [
        ("aprun", "", True),
        ("jsrun", "", True),
        ("application", "NEEDED libmpi.so.40", True),
        ("job.sh", "", False),
        ("srun", "", False),
        ("mpirun", "libmpi", False),
    ],
)
def test_who_is_preloaded(tmp_path: Path, name: str, text: str, preloaded: bool) -> None:
    assert bool(wrapped(tmp_path, name, text)) == preloaded


# --- the real things ----------------------------------------------------------------------------


@pytest.fixture
def canaries(tmp_path: Path, open_mpi: str) -> Bundle:
    """Exported files whose variant refuses."""
    library = paths.layout().preload(f"openmpi-{open_mpi}")
    if not library.is_file():
        pytest.skip(f"{library} is not built")
    given = bundle(ALLREDUCE, version=open_mpi, directory=tmp_path / "out", preload_library=library)
    write(given, ["env", run_script.FILE_NAME])
    profile = tmp_path / "out" / "plumbline.profile"
    text = proof.profile_canary(profile.read_text())
    lines = [line for line in text.splitlines() if not line.startswith("library ")]
    profile.write_text("\n".join(lines) + "\n")
    return given


@pytest.mark.mpi
@pytest.mark.slow
def test_ranks_under_a_real_slurm_have_it(
    canaries: Bundle, canary_program: Path, slurm: Cluster, tmp_path: Path
) -> None:
    """By srun with the file sourced, by plumbline-run, in a batch script, and by mpirun there."""
    script = canaries.directory / plumbline_sh.FILE_NAME
    call = f"{canary_program} MPI_Allreduce:16384"
    srun = f"srun --mpi=pmix -n 4 -O {call}"
    job = tmp_path / "job.sh"
    job.write_text(f"#!/bin/sh\n{srun}\nmpirun -n 4 --oversubscribe {call}\n")
    out = tmp_path / "out.txt"
    environment = mpi.environment(**slurm.environment, PLUMBLINE_CHECKED="1")
    for start in (
        srun,
        f". {script}; {srun}",
        f"{canaries.directory}/plumbline-run {srun}",
        f". {script}; sbatch --wait -n 4 -N 1 -o {out} {job} >/dev/null; cat {out}",
    ):
        done = mpi.shell(f"unset PLUMBLINE_CHECKED; {start}", environment)
        answers = [line for line in done.stdout.splitlines() if line.startswith("MPI_Allreduce")]
        expected = ["MPI_Allreduce 16384 ok"] if start == srun else ["MPI_Allreduce 16384 error 52"]
        assert set(answers) == set(expected), f"{start}: {done.stdout}{done.stderr}"


@pytest.mark.mpi
def test_rank_0_says_at_the_end_what_was_replaced(canaries: Bundle, canary_program: Path) -> None:
    profile = canaries.directory / "plumbline.profile"
    name = "variant=allreduce_as_reduce_plus_bcast"
    profile.write_text(profile.read_text().replace("variant=canary", name))
    start = f"mpirun -n 4 --oversubscribe {canary_program} MPI_Allreduce:16384 MPI_Allreduce:8"
    script = canaries.directory / plumbline_sh.FILE_NAME
    done = mpi.shell(f". {script}; {start}", mpi.environment())
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("plumbline:")]
    assert line == "plumbline: replaced on rank 0: 1 of 2 calls of MPI_Allreduce"
    assert "replaced" not in done.stdout
    for silent in ("PLUMBLINE_SAY=nothing", "PLUMBLINE_SAY="):
        quiet = mpi.shell(f"{silent}; export PLUMBLINE_SAY; . {script}; {start}", mpi.environment())
        assert "plumbline:" not in quiet.stderr
