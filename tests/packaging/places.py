"""Places where people type what the pages of the first hour say: each has the program on PATH, a
home, and an Open MPI for which the site has had a bad rules file in force for years."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.exporters import mpi
from tests.packaging.debian import HOME, USER, Debian
from tests.slurm import Cluster

APPLICATION = Path(__file__).with_name("application.c")
SITE = "/etc/openmpi/openmpi-mca-params.conf"
# MPI_Allreduce: a segmented ring, segments of 64 bytes, at all sizes: whoever looks finds it slow.
BAD_RULES = "1\n2\n1\n0\n1\n0 5 0 64\n"
PARAMETERS = """\
coll_tuned_use_dynamic_rules = 1
coll_tuned_dynamic_rules_filename = {rules}
"""
# Another file in the place of SITE, for a line and what it starts.
AS_SITE = f'mount --bind "$SITE_FILE" {SITE} && exec bash -c "$0"'


@dataclass(frozen=True)
class Place:
    """`bash` runs a line of a shell in it; `home` is its path inside, `files` the same outside."""

    name: str
    home: str
    files: Path
    prefix: Path  # of its MPI library
    bash: Callable[[str], subprocess.CompletedProcess[str]]

    def furnish(self) -> Place:
        """An application. Returns itself."""
        (self.files / "mine.conf").write_text("coll_tuned_priority = 30\n")
        (self.files / APPLICATION.name).write_text(APPLICATION.read_text())
        done = self.bash(f"mpicc {APPLICATION.name} -o app")
        assert done.returncode == 0, done.stderr
        return self


def bad_rules(folder: Path, inside: str) -> Path:
    """A parameter file in `folder` whose rules file lies beside it, there under the path `inside`.
    Returns the parameter file."""
    (folder / "bad-rules.conf").write_text(BAD_RULES)
    site = folder / Path(SITE).name
    site.write_text(PARAMETERS.format(rules=f"{inside}/bad-rules.conf"))
    return site


def alone() -> list[str]:
    """A namespace of mounts of its own, with or without root."""
    start = ["unshare", "--mount", "--propagation=private"]
    return start if os.geteuid() == 0 else [*start, "--map-root-user"]


def _here(
    name: str, folder: Path, program: Path, path: str, variables: Mapping[str, str]
) -> tuple[Place, dict[str, str]]:
    home = folder / "home"
    home.mkdir()
    for place in (
        folder,
        *folder.parents,
    ):  # pytest closes its folders; homes can be walked through
        if place.stat().st_uid == os.geteuid():
            place.chmod(place.stat().st_mode | 0o055)
    environment = {"PATH": f"{program.parent}:{path}", "HOME": str(home)} | variables
    site = bad_rules(folder, str(folder))
    environment = mpi.ROOT_IS_ALLOWED | environment | {"SITE_FILE": str(site)}

    def bash(line: str) -> subprocess.CompletedProcess[str]:
        words = [*alone(), "bash", "-c", AS_SITE, line]
        return subprocess.run(
            words, env=environment, cwd=home, capture_output=True, text=True, timeout=900
        )

    return Place(name, str(home), home, Path("/usr"), bash), environment


def on_this_machine(name: str, folder: Path, program: Path, path: str) -> Place:
    """As a user with an empty home, to whom all of PATH but `program` is `path`."""
    place, _ = _here(name, folder, program, path, {})
    return place.furnish()


def under_slurm(folder: Path, program: Path, cluster: Cluster) -> Place:
    """Each line is a batch script of its own."""
    own = cluster.environment | {"PLUMBLINE_DB": str(folder / "home" / "plumbline.db")}
    place, environment = _here("slurm", folder, program, os.environ["PATH"], own)
    said = [folder / name for name in ("job.out", "job.err")]
    batch = ["sbatch", "--wait", "--ntasks=4", "--nodes=1", "--quiet", f"--chdir={place.home}"]
    batch += [f"--nodelist={cluster.nodes[0]}", f"--output={said[0]}", f"--error={said[1]}"]

    def bash(line: str) -> subprocess.CompletedProcess[str]:
        script = f"#!/bin/bash\nexec {shlex.join([*alone(), 'bash', '-c', AS_SITE, line])}\n"
        done = subprocess.run(
            batch, input=script, env=environment, capture_output=True, text=True, timeout=900
        )
        out, error = (path.read_text() if path.exists() else "" for path in said)
        return subprocess.CompletedProcess(line, done.returncode, out, done.stderr + error)

    return Place("slurm", place.home, place.files, place.prefix, bash).furnish()


def in_debian(name: str, debian: Debian) -> Place:
    """As its user, with the checkout's program."""

    def bash(line: str) -> subprocess.CompletedProcess[str]:
        start = f'cd; PATH="$HOME/plumbline/.venv/bin:$PATH"\n{line}'
        return debian.run("bash", "-c", start, user=USER, timeout=900)

    site = Path(SITE).parent
    bad_rules(Path(f"{debian.root}{site}"), str(site))
    files = Path(f"{debian.root}{HOME}")
    place = Place(name, HOME, files, Path("/usr"), bash).furnish()
    debian.gives_to_user()
    return place
