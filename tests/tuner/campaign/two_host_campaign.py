"""A campaign over two hosts with Open MPI over TCP, from the command line on the first of them: a
violation is found, removed by a setting, and stays removed with the exported files in force there
and on the other host; then an application.

The link between the hosts is slow (100 Mbit/s), so that times are the network's and not the load's
of this machine. At these sizes halves of a message are above the eager limit of TCP (64 KiB) and
quarters are below: an exchange of halves waits for an acknowledgement behind the other host's data,
blocks that go round do not. Both hosts are this machine, which is known by its boot: four ranks
share its cores.

Minutes, so it is not among the tests that pytest finds: `make test-hosts`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline_db.errors import PlumblineError
from tests.hosts import Hosts, NotAllowed, hosts
from tests.tuner.started import ENTRY, environment

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(1200)]

CAMPAIGN = """
nprocs = 4
bind = "core"
sizes = [131072, 139264]
guidelines = ["GL5"]
launches = 6
launches_max = 12
blocks = 1
reps = 3
variants = []

[hosts]
file = "hostfile"
agent = "{agent}"
interface = "{network}"

[environment]
OMPI_MCA_btl = "self,vader,tcp"
OMPI_MCA_mpi_yield_when_idle = "1"
"""


@pytest.fixture(scope="module")
def slowly_linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    try:
        family, _ = libraries.find()
    except PlumblineError as error:
        pytest.skip(str(error))
    if family.name != "openmpi":
        pytest.skip("the mpirun on PATH is not Open MPI's")
    try:
        with hosts(tmp_path_factory.mktemp("hosts"), rate="100mbit") as made:
            yield made
    except NotAllowed as error:
        pytest.skip(f"no hosts in namespaces: {error}")


def plumbline(where: Hosts, *words: str) -> subprocess.CompletedProcess[str]:
    """On the first host. The agent's shell takes words apart."""
    known = environment() | {"PLUMBLINE_ENTRY": ENTRY}
    start = [str(where.agent), where.addresses[0], sys.executable, "-c", '"$PLUMBLINE_ENTRY"']
    return subprocess.run(
        [*start, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | known,
        timeout=1100,
        check=False,
    )


def test_a_violation_is_found_and_removed(slowly_linked: Hosts, tmp_path: Path) -> None:
    where, database = slowly_linked, tmp_path / "plumbline.db"
    (tmp_path / "hostfile").write_text("".join(f"{one} slots=2\n" for one in where.addresses))
    file = tmp_path / "two.toml"
    file.write_text(CAMPAIGN.format(agent=where.agent, network=where.network))
    done = plumbline(where, "campaign", str(file), "--db", str(database), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["state"] == "finished" and found["machine"]["host"] == ", ".join(where.names)
    assert (found["nodes"], found["ppn"]) == (2, 2)
    assert found["layout"] == "2 x 2, bound to a core each"
    assert found["environment"]["OMPI_MCA_btl"] == "self,vader,tcp"
    before, after = (
        {f"{one['guideline']}@{one['bytes']}" for one in found[stage]["violations"]}
        for stage in ("before", "after")
    )
    assert any(name.startswith("GL5@") for name in before), done.stdout
    (winner,) = found["winners"]
    assert winner["function"] == "MPI_Allgather" and winner["speedup_low"] > 1
    assert winner["removes"] and set(winner["removes"]) <= before - after
    assert any(one["kind"] == "in force" for one in found["events"])
    heads = [Path(one["path"]).read_text() for one in found["exports"]]
    assert any("bound to a core each" in head and "measured under OMPI_" in head for head in heads)

    script = tmp_path / "application.sh"
    script.write_text(
        'echo "$(uname -n) $OMPI_MCA_coll_tuned_dynamic_rules_filename $OMPI_MCA_btl"'
    )
    mpirun = ["mpirun", "--host", ",".join(f"{one}:2" for one in where.addresses)]
    mpirun += ["--mca", "plm_rsh_agent", str(where.agent)]
    mpirun += ["--mca", "oob_tcp_if_include", where.network, "sh", str(script)]
    done = plumbline(where, "run", "--db", str(database), "--", *mpirun)
    assert done.returncode == 0, done.stderr
    assert "decides" in done.stderr and "in force" in done.stderr
    rules = database.parent / "exports" / found["campaign"] / "ompi-rules.conf"
    assert sorted(done.stdout.splitlines()) == sorted(
        f"{name} {rules} self,vader,tcp" for name in where.names * 2
    )


OVERLAP = """
nprocs = 2

[hosts]
file = "hostfile"
agent = "{agent}"
interface = "{network}"

[environment]
OMPI_MCA_btl = "self,tcp"
"""


def test_overlap_between_hosts(slowly_linked: Hosts, tmp_path: Path) -> None:
    """100 kB take 8 ms there, and the kernel sends them beside 100 ms of work, or does not: both
    together take no less than either."""
    where, database = slowly_linked, tmp_path / "plumbline.db"
    (tmp_path / "hostfile").write_text("".join(f"{one}\n" for one in where.addresses))
    file = tmp_path / "two.toml"
    file.write_text(OVERLAP.format(agent=where.agent, network=where.network))
    words = ["overlap", "--campaign-file", str(file), "--benches", "sender", "--sizes", "100000"]
    words += ["--work", "100000", "--triples", "5", "--launches", "2", "--db", str(database)]
    done = plumbline(where, *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (cell,) = found["cells"]
    assert found["nodes"] == 2 and cell["launches"] == 2
    ratio = cell["ratio"]
    assert ratio["communication"] > 0.004 and ratio["both"] > 0.9 * ratio["computation"]
