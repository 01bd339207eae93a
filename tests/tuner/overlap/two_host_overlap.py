"""Overlap as a guideline over two hosts with Open MPI over TCP, from the command line on the first
of them: what is expected of a sender is violated, a setting is found that makes message and work
take less time together, and it does so with the exported files in force on both hosts.

The link is slow (20 Mbit/s), so that times are the network's and not the load's of this machine.
The message of 128 KiB is above the eager limit of TCP (64 KiB): its second half leaves only when
the sender is in the library again.

Minutes, so it is not among the tests that pytest finds: `make test-hosts`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hosts import Hosts
from tests.tuner.two_host_campaign import plumbline, slowly_linked

__all__ = ["slowly_linked"]
pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(1200)]

CAMPAIGN = """
nprocs = 2
bind = "core"
launches = 8
launches_max = 8
settings = ["btl_tcp_eager_limit"]

[hosts]
file = "hostfile"
agent = "{agent}"
interface = "{network}"

[environment]
OMPI_MCA_btl = "self,vader,tcp"
"""


def test_a_sender_gets_its_overlap(slowly_linked: Hosts, tmp_path: Path) -> None:
    where = slowly_linked
    (tmp_path / "hostfile").write_text("".join(f"{one} slots=1\n" for one in where.addresses))
    file = tmp_path / "two.toml"
    file.write_text(CAMPAIGN.format(agent=where.agent, network=where.network))
    words = ["overlap", "tune", str(file), "--benches", "sender", "--sizes", "131072"]
    words += ["--limit", "0.25", "--triples", "3", "--db", str(tmp_path / "plumbline.db"), "--json"]
    done = plumbline(where, *words)
    assert done.returncode in (0, 3), done.stderr
    found = json.loads(done.stdout)
    cells = {(one["guideline"], one["bytes"]): one for one in found["cells"]}
    cell = cells["OV1", 131072]
    assert cell["before"]["verdict"] == "violated", done.stdout
    (winner,) = found["winners"]
    assert winner["function"] == "*" and winner["speedup_low"] > 1
    assert cell["after"]["verdict"] == "holds", done.stdout
    assert cell["after"]["measured"] < cell["before"]["measured"]
    knobs = winner["configuration"]
    assert knobs["btl_tcp_eager_limit"] == "131072"
    script = next(Path(one["path"]) for one in found["exports"] if one["format"] == "env")
    for name, value in knobs.items():
        assert f"export OMPI_MCA_{name}={value}\n" in script.read_text()
    assert any(one["kind"] == "in force" for one in found["events"])
