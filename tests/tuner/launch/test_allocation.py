"""Hosts of an allocation, as schedulers say them, and where ranks go then. In a real allocation of
Slurm: test_in_an_allocation of test_slurm.py."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.launch import allocation
from plumbline.settings import campaign_file
from plumbline_db.errors import UsageError

SLURM = {"SLURM_JOB_NODELIST": "n[1-2,07]", "SLURM_JOB_CPUS_PER_NODE": "8(x2),4"}
HERE = socket.gethostname()


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No agent of a scheduler is here."""
    for name in (*SLURM, "SLURM_NTASKS", "PBS_NODEFILE", "LSB_MCPU_HOSTS", "FLUX_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,3],login", ["n08", "n09", "n10", "n3", "login"]),
        ("r[1-2]n[1-2]-ib", ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]),
        ("a,a,b", ["a", "b"]),
    ],
)
def test_lists_of_hosts(text: str, hosts: list[str]) -> None:
    assert allocation.expanded(text) == hosts


@given(st.text("n[]-,019x", max_size=20))
def test_any_list_is_hosts_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert all(allocation.expanded(text))


@pytest.mark.parametrize("text", ["n[", "n]1", "n[1-", "n[2-1]", "n[1-99999999]", "n[[1]]"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(UsageError, match="hosts"):
        allocation.expanded(text)


def of_pbs(folder: Path) -> dict[str, str]:
    (folder / "nodes").write_text("a\na\nb\nb\nb\n")
    return {"PBS_NODEFILE": str(folder / "nodes")}


def test_schedulers(tmp_path: Path) -> None:
    found = allocation.found
    assert found({}) is None
    assert found(SLURM) == allocation.Allocation("Slurm", ["n1", "n2", "n07"], 4)
    tasks = {"SLURM_NTASKS": "6", "SLURM_TASKS_PER_NODE": "2(x3)"}
    assert found(SLURM | tasks) == allocation.Allocation("Slurm", ["n1", "n2", "n07"], 2)
    assert found(of_pbs(tmp_path)) == allocation.Allocation("PBS", ["a", "b"], 2)
    lsf = {"LSB_MCPU_HOSTS": "a 4 b 3"}
    assert found(lsf) == allocation.Allocation("LSF", ["a", "b"], 3)
    assert found(SLURM | {"PLUMBLINE_ALLOCATION": "ignore"}) is None


def test_flux_is_asked_in_a_job_of_its_own(tmp_path: Path) -> None:
    flux = tmp_path / "flux"
    flux.write_text('#!/bin/sh\necho "2|16|tux[1-2]"\n')
    flux.chmod(0o755)
    inside = {"FLUX_URI": "local:///run/flux/local", "FLUX_ENCLOSING_ID": "f1"}
    expected = allocation.Allocation("Flux", ["tux1", "tux2"], 8)
    assert allocation.found(inside | {"PATH": str(tmp_path)}) == expected
    assert allocation.found({"FLUX_URI": "local:///run/flux/local"}) is None
    flux.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UsageError, match="shows no nodes"):
        allocation.found(inside | {"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    "said",
    [
        {"LSB_MCPU_HOSTS": "a 4 b"},
        {"LSB_MCPU_HOSTS": "a 0"},
        {"PBS_NODEFILE": "/nowhere"},
        SLURM | {"SLURM_JOB_CPUS_PER_NODE": "x"},
    ],
)
def test_what_is_not_understood_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        allocation.found(said)


def test_ranks_go_to_its_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    ranks = campaign_file.load(None, {}).ranks
    assert (ranks.nprocs, ranks.node_count) == (12, 3)
    assert ranks.hosts is not None and ranks.hosts.names == ["n1", "n2", "n07"]
    assert ranks.hosts.agent == "ssh"
    # As many on each host as there are.
    for nprocs, nodes in ((2, 2), (6, 3), (7, 1)):
        assert campaign_file.load(None, {"nprocs": nprocs}).ranks.node_count == nodes
    assert campaign_file.load(None, {"nodes": 2}).ranks.nprocs == 8
    # What says where ranks go is heard.
    simulated = campaign_file.load(None, {"simulate": "ompi"}).ranks
    assert simulated.hosts is None and simulated.simulate is not None
    file = tmp_path / "campaign.toml"
    file.write_text('nprocs = 4\n[hosts]\nnames = ["elsewhere"]\n')
    named = campaign_file.load(file, {}).ranks.hosts
    assert named is not None and named.names == ["elsewhere"]


def test_slurms_own_command_is_the_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "srun").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "srun").chmod(0o755)
    hosts = campaign_file.load(None, {}).ranks.hosts
    assert hosts is not None and isinstance(hosts.agent, list)
    assert "srun --overlap" in hosts.agent[2]


@pytest.mark.parametrize("name", [HERE, f"{HERE}.example.org", "localhost"])
def test_an_allocation_of_this_host_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = campaign_file.load(None, {})
    monkeypatch.setenv("SLURM_JOB_NODELIST", name)
    assert campaign_file.load(None, {}) == before
