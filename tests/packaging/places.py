"""Places where people type what the pages of the first hour say: each has the program on PATH, a
home, and an Open MPI that has had a bad rules file in force for years."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.exporters import mpi
from tests.packaging.debian import HOME, USER, Debian
from tests.slurm import Cluster

APPLICATION = Path(__file__).with_name("application.c")
RULES = "bad-rules.conf"
# MPI_Allreduce: segmented ring, segments of 64 bytes, at all sizes: whoever looks finds it slow.
BAD_RULES = "1\n2\n1\n0\n1\n0 5 0 64\n"
PARAMETERS = """\
coll_tuned_use_dynamic_rules = 1
coll_tuned_dynamic_rules_filename = {home}/bad-rules.conf
"""


@dataclass(frozen=True)
class Place:
    """`bash` runs a line of a shell in it; `home` is its path inside, `files` the same outside."""

    name: str
    home: str
    files: Path
    prefix: Path  # of its MPI library
    bash: Callable[[str], subprocess.CompletedProcess[str]]

    def furnish(self) -> Place:
        """The bad rules and the application. Returns itself."""
        (self.files / RULES).write_text(BAD_RULES)
        (self.files / "mine.conf").write_text("coll_tuned_priority = 30\n")
        (self.files / ".openmpi").mkdir()
        parameters = self.files / ".openmpi" / "mca-params.conf"
        parameters.write_text(PARAMETERS.format(home=self.home))
        (self.files / APPLICATION.name).write_text(APPLICATION.read_text())
        done = self.bash(f"mpicc {APPLICATION.name} -o app")
        assert done.returncode == 0, done.stderr
        return self


def _here(
    name: str, folder: Path, program: Path, path: str, variables: Mapping[str, str]
) -> tuple[Place, dict[str, str]]:
    home = folder / "home"
    home.mkdir()
    environment = {"PATH": f"{program.parent}:{path}", "HOME": str(home)} | variables
    environment = mpi.ROOT_IS_ALLOWED | environment

    def bash(line: str) -> subprocess.CompletedProcess[str]:
        words = ["bash", "-c", line]
        return subprocess.run(
            words, env=environment, cwd=home, capture_output=True, text=True, timeout=280
        )

    return Place(name, str(home), home, Path("/usr"), bash), environment


def on_this_machine(name: str, folder: Path, program: Path, path: str) -> Place:
    """As a user with an empty home, to whom all of PATH but `program` is `path`."""
    place, _ = _here(name, folder, program, path, {})
    return place.furnish()


def under_slurm(folder: Path, program: Path, cluster: Cluster) -> Place:
    """Each line is a batch script of its own."""
    place, environment = _here("slurm", folder, program, os.environ["PATH"], cluster.environment)
    said = [folder / name for name in ("job.out", "job.err")]
    batch = ["sbatch", "--wait", "--ntasks=4", "--nodes=1", "--quiet", f"--chdir={place.home}"]
    batch += [f"--nodelist={cluster.host}", f"--output={said[0]}", f"--error={said[1]}"]

    def bash(line: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            batch, input=f"#!/bin/bash\n{line}\n", env=environment,
            capture_output=True, text=True, timeout=280,
        )  # fmt: skip
        out, error = (path.read_text() if path.exists() else "" for path in said)
        return subprocess.CompletedProcess(line, done.returncode, out, done.stderr + error)

    return Place("slurm", place.home, place.files, place.prefix, bash).furnish()


def in_debian(name: str, debian: Debian) -> Place:
    """As its user, with the checkout's program."""

    def bash(line: str) -> subprocess.CompletedProcess[str]:
        start = f'cd; PATH="$HOME/plumbline/.venv/bin:$PATH"\n{line}'
        return debian.run("bash", "-c", start, user=USER)

    files = Path(f"{debian.root}{HOME}")
    place = Place(name, HOME, files, Path("/usr"), bash).furnish()
    debian.gives_to_user()
    return place
