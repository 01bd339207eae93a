"""Which component of Open MPI answers on a communicator: ranks that are switched hot, on the real
libraries. `two_proc` refuses to work with four ranks, so its error shows where coll/tuned answers.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hosts import Hosts
from tests.probes.launch import ENVIRONMENT, ROOT, Launch, Probe, build_folder
from tests.tuner.families.installations import prefix_of

pytestmark = pytest.mark.mpi

TUNED = "coll_tuned_barrier_algorithm=two_proc"
SWITCH = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


def prefix(name: str) -> Path:
    found = prefix_of(name)
    assert found is not None
    return found


def probe_of(name: str, folder: Path) -> Probe:
    """The probe for one of the libraries of `make setup-mpis`."""
    mpicc = prefix(name) / "bin" / "mpicc"
    environment = os.environ | {"MPICC": str(mpicc)}
    words = ["make", "-s", "-C", str(ROOT / "probes")]
    subprocess.run(words, check=True, timeout=240, env=environment)
    return Probe(build_folder(mpicc) / "probe", folder, folder)


def run(probe: Probe, mpirun: list[str], *configs: str) -> list[str]:
    """Outcomes of MPI_Barrier under each configuration, all in one launch."""
    lines = "".join(f"config id=c{i} {one}\n" for i, one in enumerate(configs))
    for i in range(len(configs)):
        lines += f"case id={i} function=MPI_Barrier config=c{i} bytes=0 reps=1\n"
    plan, out = probe.write("set blocks=1 warmup=0\n" + lines), probe.folder / "records.ndjson"
    words = [*mpirun, str(probe.binary), "--plan", str(plan), "--out", str(out)]
    allowed = {f"PRTE{name[4:]}": "1" for name in ENVIRONMENT}
    launch: Launch = probe.start(words, out, SWITCH | allowed)
    assert launch.code == 0, launch.stderr
    return [launch.checks[i].outcome for i in range(len(configs))]


@pytest.mark.parametrize("name", ["openmpi-4.1", "openmpi-5.0"])
def test_a_communicator_keeps_who_answers(name: str, tmp_path: Path) -> None:
    mpirun = [str(prefix(name) / "bin" / "mpirun"), "--oversubscribe", "-np", "4"]
    kept = [f"{TUNED} coll_basic_priority=100", f"{TUNED} coll_tuned_priority=0"]
    others = ["coll_adapt_bcast_algorithm=4", "coll_sm_priority=100", "coll_libnbc_priority=100"]
    found = run(probe_of(name, tmp_path), mpirun, *kept, *others, "coll_adapt_priority=100", TUNED)
    assert found == ["ok", "ok", *["not_in_force"] * 3, "ok", "error"]


def test_on_two_hosts_han_answers_until_it_is_told_not_to(two_hosts: Hosts, tmp_path: Path) -> None:
    mpirun = two_hosts.command(2, [], None, prefix("openmpi-5.0"))
    probe = probe_of("openmpi-5.0", tmp_path)
    assert run(probe, mpirun, TUNED, f"{TUNED} coll_han_priority=0") == ["ok", "error"]
