"""The examples of jobs that tune themselves: Slurm's run in a real Slurm, the others are read by a
shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.system import paths
from tests.exporters.hostile import LMOD
from tests.slurm import Cluster
from tests.tuner.results.test_tuning import AS_ROOT, program
from tests.tuner.simulated import ROOT
from tests.tuner.started import ENTRY, environment

EXAMPLES = ROOT / "docs" / "examples"
__all__ = ["program"]  # the fixture


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("tune-*.sh")), ids=lambda path: path.name)
def test_a_shell_reads_them(path: Path) -> None:
    shell = path.read_text().partition("\n")[0].removeprefix("#!/bin/")
    done = subprocess.run([shell, "-n", path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_module_file_makes_functions_of_a_shell() -> None:
    tool = shutil.which("modulecmd") or "/usr/lib/x86_64-linux-gnu/modulecmd.tcl"
    text = (EXAMPLES / "tune-module").read_text()
    assert 'set-function mpirun {plumbline run --tune 2m -- mpirun "$@"}' in text
    if not Path(tool).is_file():
        return
    own = os.environ | {"MODULEPATH": str(EXAMPLES)}
    done = subprocess.run(
        [tool, "sh", "load", "tune-module"], env=own, capture_output=True, text=True, timeout=60
    )
    assert 'mpirun () { plumbline run --tune 2m -- mpirun "$@"; }' in done.stdout, done.stderr


def test_lmod_makes_functions_of_a_shell(tmp_path: Path) -> None:
    text = (EXAMPLES / "tune-module.lua").read_text()
    assert """set_shell_function("mpirun", 'plumbline run --tune 2m -- mpirun "$@"'""" in text
    if LMOD is None:
        return
    plumbline = tmp_path / "plumbline"
    plumbline.write_text('#!/bin/sh\nprintf "%s|" "$PLUMBLINE_SPOOL" "$@"\n')
    plumbline.chmod(0o755)
    own = os.environ | {"MODULEPATH": str(EXAMPLES), "LMOD_SYSTEM_DEFAULT_MODULES": ""}
    own["PATH"] = f"{tmp_path}:{own['PATH']}"
    script = f'eval "$({LMOD} bash load tune-module)"; mpirun -np 2 "./an app"; srun -n 2 app'
    done = subprocess.run(
        ["bash", "-c", script], env=own, capture_output=True, text=True, timeout=60
    )
    words = "/shared/plumbline/spool|run|--tune|2m|--"
    assert done.stdout == f"{words}|mpirun|-np|2|./an app|{words}|srun|-n|2|app|", done.stderr


def plumbline_on_path(folder: Path) -> str:
    """Return a PATH with the command under its usual name."""
    script = folder / "bin" / "plumbline"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{ENTRY}' \"$@\"\n")
    script.chmod(0o755)
    return f"{script.parent}:{os.environ['PATH']}"


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.alone
def test_slurm_s_prolog_job_and_epilog(slurm: Cluster, program: Path, tmp_path: Path) -> None:
    """How many jobs it takes until all is known depends on who else has the processors."""
    _, installation = libraries.find()
    paths.layout().preload(paths.build_id(installation.library))
    site = tmp_path / "site"
    (site / "spool").mkdir(parents=True)
    own = environment() | slurm.environment | AS_ROOT
    own |= {"SITE": str(site), "APPLICATION": str(program)}
    own |= {"PATH": plumbline_on_path(tmp_path)}
    prolog = subprocess.run(
        ["sh", EXAMPLES / "tune-slurm-prolog.sh"], env=own, capture_output=True, text=True
    )
    for line in prolog.stdout.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        own[name] = value
    assert own["PLUMBLINE_DB"] == str(site / "plumbline.db")
    log = tmp_path / "log"
    words = ["sbatch", "--wait", "--constraint=real", "--ntasks=2", f"--output={log}"]
    for number in range(6):
        job = subprocess.run(
            [*words, str(EXAMPLES / "tune-slurm.sh")],
            env=own, cwd=tmp_path, capture_output=True, text=True, timeout=250,
        )  # fmt: skip
        said = log.read_text()
        assert job.returncode == 0 and "the application ran" in said, said + job.stderr
        assert ("no profile yet" in said) == (number == 0), said
        if "nothing is measured" in said:
            break
    assert "nothing is measured" in said, said
    by_srun = "plumbline run --tune 0s -- srun --mpi=pmix --overlap -n 2 $APPLICATION"
    job = subprocess.run(
        [*words, f"--wrap={by_srun}"],
        env=own, cwd=tmp_path, capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    said = log.read_text()
    assert job.returncode == 0 and "the application ran" in said, said + job.stderr
    assert "nothing is measured" in said and "not tuned" not in said, said
    assert list((site / "spool").iterdir())
    epilog = subprocess.run(["sh", EXAMPLES / "tune-slurm-epilog.sh"], env=own, timeout=60)
    assert epilog.returncode == 0
    assert "openmpi" in (site / "import.log").read_text()
