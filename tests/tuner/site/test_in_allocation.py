"""A whole site in an allocation of a real Slurm over two hosts in network namespaces: layouts of
one host and of both, over TCP, from the command line. The library is Debian's Open MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plumbline_db.connection import Database, check
from tests.slurm import Cluster
from tests.tuner import started
from tests.tuner.campaign.test_end_to_end import launches

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.alone]

SITE = """
sizes = [1024]
guidelines = ["GL12"]
variants = ["allreduce_as_reduce_plus_bcast"]
launches = 6
launches_max = 6
blocks = 1
reps = 2
budget_seconds = 5
rounds = 1
use = "synchronised"
precision = 0

[site]
samples = 4

[environment]
OMPI_MCA_btl = "self,vader,tcp"
OMPI_MCA_mpi_yield_when_idle = "1"
"""
ALLOCATION = ["salloc", "--quiet", "--nodes=2", "--ntasks-per-node=2", "--exclusive"]


def on_the_first_node(slurm: Cluster, *words: object) -> subprocess.CompletedProcess[str]:
    command = [*ALLOCATION, sys.executable, "-c", started.ENTRY, *map(str, words)]
    return subprocess.run(
        slurm.on(slurm.nodes[0], *command),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | started.environment() | slurm.environment,
        timeout=280,
        check=False,
    )


def test_layouts_of_one_node_and_of_two(slurm_apart: Cluster, tmp_path: Path) -> None:
    file, database = tmp_path / "site.toml", tmp_path / "site.db"
    file.write_text(SITE)
    words = ["campaign", "--site", file, "--db", database, "--json"]
    done = on_the_first_node(slurm_apart, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    site: dict[str, Any] = json.loads(done.stdout)
    assert list(site["members"]) == ["1x2", "2x1", "2x2"] and site["missing"] == {}
    assert check(database) == []
    with Database.open(database) as db:
        rows = db.rows("SELECT id, nprocs, ppn FROM campaign")
    layouts = {id: (nprocs, ppn) for id, nprocs, ppn in rows}
    expected = {"1x2": (2, 2), "2x1": (2, 1), "2x2": (4, 2)}
    assert {name: layouts[id] for name, id in site["members"].items()} == expected
    for run in launches(database):
        hosts = run.argv[run.argv.index("--host") + 1].split(",")
        nprocs, ppn = layouts[run.campaign]
        used = slurm_apart.nodes[: nprocs // ppn]
        assert hosts == [f"{name}:{ppn}" for name in used], run.argv
    for rule in site["winners"]:
        assert any(word.startswith("measured=") for word in rule["restrictions"]), rule
    (head,) = [Path(name) for name in site["files"] if name.endswith("plumbline.sh")]
    assert "measured with mpirun" in head.read_text()
    again = on_the_first_node(slurm_apart, *words)
    assert again.returncode == 0 and json.loads(again.stdout) == site, again.stderr
