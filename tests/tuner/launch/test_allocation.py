"""Hosts of an allocation, as schedulers name them, and how ranks are started there. The real thing
is in test_slurm.py."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.launch import Launcher, allocation, launcher_for
from plumbline.launch.allocation import JobTable
from plumbline.launch.panel import KeepsRanks
from plumbline.launch.starter import Programs, Starter
from plumbline.libraries import Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.settings import campaign_file
from plumbline.system import machine
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError, UsageError
from tests.db import build
from tests.tuner.jobs import job

SLURM = {
    "SLURM_JOB_NODELIST": "n[1-2,07]",
    "SLURM_JOB_CPUS_PER_NODE": "8(x2),4",
    "SLURM_CLUSTER_NAME": "plumb",
    "SLURM_JOB_PARTITION": "main",
}
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
    of_slurm = "plumb, partition main"
    assert found(SLURM) == allocation.Allocation("Slurm", ["n1", "n2", "n07"], 4, of_slurm)
    tasks = {"SLURM_NTASKS": "6", "SLURM_TASKS_PER_NODE": "2(x3)"}
    assert found(SLURM | tasks) == allocation.Allocation("Slurm", ["n1", "n2", "n07"], 2, of_slurm)
    assert found(of_pbs(tmp_path)) == allocation.Allocation("PBS", ["a", "b"], 2, "PBS, queue ?")
    lsf = {"LSB_MCPU_HOSTS": "a 4 b 3", "LSB_QUEUE": "long"}
    assert found(lsf) == allocation.Allocation("LSF", ["a", "b"], 3, "LSF, queue long")
    launched = {"LSB_MCPU_HOSTS": "batch1 1 c01n01 42 c01n02 42 ", "LSB_QUEUE": "long"}
    on_two = allocation.Allocation("LSF", ["c01n01", "c01n02"], 42, "LSF, queue long")
    assert found(launched) == on_two
    assert found({"LSB_MCPU_HOSTS": "batch1 4 batch2 4"}).hosts == ["batch1", "batch2"]
    assert found({"LSB_MCPU_HOSTS": "a 1 b 4"}).hosts == ["a", "b"]
    assert found({"LSB_MCPU_HOSTS": "a 1 b 4", "CSM_ALLOCATION_ID": "7"}).hosts == ["b"]
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


def within(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_ranks_go_to_its_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    within(monkeypatch, SLURM)
    ranks = campaign_file.load(None, {}).ranks
    assert (ranks.nprocs, ranks.node_count) == (12, 3)
    assert ranks.job == JobTable()
    # As many on each host as there are.
    for nprocs, nodes in ((2, 2), (6, 3), (7, 1)):
        assert campaign_file.load(None, {"nprocs": nprocs}).ranks.node_count == nodes
    assert campaign_file.load(None, {"nodes": 2}).ranks.nprocs == 8
    # What says where ranks go is heard.
    simulated = campaign_file.load(None, {"simulate": "ompi"}).ranks
    assert simulated.job is None and simulated.simulate is not None
    file = tmp_path / "campaign.toml"
    file.write_text('nprocs = 4\n[hosts]\nnames = ["elsewhere"]\n')
    named = campaign_file.load(file, {}).ranks
    assert named.job is None and named.hosts is not None
    file.write_text('[job]\nqueue = "long"\n')
    ranks = campaign_file.load(file, {"job": {"account": "me"}}).ranks
    assert ranks.job == JobTable(queue="long", account="me") and ranks.nprocs == 12


def test_layouts_of_a_file_keep_to_their_nodes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also the smallest one, in an allocation for the largest."""
    within(monkeypatch, SLURM)
    file = tmp_path / "campaign.toml"
    file.write_text('layouts = ["1x4", "3x4"]\n')
    tasks = campaign_file.tasks(file, {}, None)
    assert [task.settings.ranks.node_count for task in tasks] == [1, 3]


FREE = Placement(nodes=2, ppn=4)
CROWDED = Placement(nodes=2, ppn=4, oversubscribed=True)
HELD = "--oversubscribe --bind-to core:overload-allowed"


def words_of(made: Launcher, placement: Placement, folder: Path, **extra: str) -> list[str]:
    assert isinstance(made, allocation.InAllocation)
    installation = Installation(build.LIBRARY, Path("mpirun"), None)
    asked = job(folder, ["probe"], placement, {}, extra=extra)
    return made.command(OpenMpi(), installation, asked)[0]


@pytest.mark.parametrize(
    ("keys", "crowded", "plain"),
    [
        ({}, HELD, "--oversubscribe"),
        ({"start": "srun", "mpi": "pmix"}, "--overcommit", "--overcommit"),
        ({"start": "flux"}, "", ""),
    ],
)
def test_words_of_a_place_are_those_that_were_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keys: dict[str, str], crowded: str, plain: str
) -> None:
    within(monkeypatch, SLURM)
    program(tmp_path / "srun", "echo pmix")
    made = launcher_for(msgspec.convert(keys, JobTable), tmp_path)
    bare = words_of(made, FREE, tmp_path)
    assert not any("bind" in word or "affinity" in word for word in bare)
    assert words_of(made, FREE.plain(), tmp_path) == bare
    for placement, more in ((CROWDED, crowded), (CROWDED.plain(), plain)):
        words = words_of(made, placement, tmp_path)
        assert [word for word in words if word not in bare] == more.split()
    bound = words_of(made, Placement(nodes=2, ppn=4, bind="core"), tmp_path)
    assert any("bind" in word or "affinity" in word for word in bound)
    # Jobs of Flux in a job share no processors.
    assert isinstance(made, KeepsRanks) == (keys != {"start": "flux"})


def test_what_mpirun_would_set_for_ranks_stands_before_the_probe(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    within(monkeypatch, SLURM)
    program(tmp_path / "srun", "echo pmix")
    extra = {"OMPI_MCA_mca_base_env_list": "LD_PRELOAD=/x.so;A=b"}
    made = launcher_for(JobTable(start="srun", mpi="pmix"), tmp_path)
    words = words_of(made, FREE, tmp_path, **extra)
    assert words[0] == "srun" and "--nodelist=n1,n2" in words
    assert words[words.index("env") :] == ["env", "A=b", "LD_PRELOAD=/x.so", "probe"]
    words = words_of(launcher_for(JobTable(start="flux"), tmp_path), FREE, tmp_path, **extra)
    assert words[-3:] == ["--env=A=b", "--env=LD_PRELOAD=/x.so", "probe"]


def test_an_mpi_type_that_srun_does_not_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    within(monkeypatch, SLURM)
    program(tmp_path / "srun", "echo MPI plugin types are: none pmi2")
    made = launcher_for(JobTable(start="srun", mpi="pmix"), tmp_path)
    with pytest.raises(PlumblineError, match=r"srun has no --mpi=pmix; it says: .*pmi2"):
        words_of(made, FREE, tmp_path)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"start": "srun"}, "mpi needs start"),
        ({"queue": "-x"}, "queue = '-x': it must be one word"),
        ({"options": ["x"]}, "options: 'x' is not an option"),
        ({"minutes": -1}, "minutes = -1"),
        ({"folder": "jobs"}, "must be the whole path"),
    ],
)
def test_values_that_are_refused(keys: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        campaign_file.load(None, {"nprocs": 2, "job": keys})


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_slurms_own_command_is_the_agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nodes that are alike are the same machine, whichever the job has got."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path / "srun", 'while [ "$1" != /bin/sh ]; do shift; done; exec "$@"')
    found = []
    for names in ("a,b", "c,d"):
        within(monkeypatch, SLURM | {"SLURM_JOB_NODELIST": names})
        found.append(launcher_for(JobTable(), tmp_path).machine(FREE))
    assert found[0] == found[1] and found[0].host == "plumb, partition main"
    within(monkeypatch, {"SLURM_JOB_PARTITION": "other"})
    assert launcher_for(JobTable(), tmp_path).machine(FREE).id != found[0].id


@pytest.mark.parametrize("keys", [{}, {"start": "srun", "mpi": "pmix"}])
def test_the_next_job_may_have_other_nodes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keys: dict[str, str]
) -> None:
    """And ranks of srun have no other way in which a user starts them."""
    within(monkeypatch, SLURM)
    made = launcher_for(msgspec.convert(keys, JobTable), tmp_path)
    installation = Installation(build.LIBRARY, Path("mpirun"), None)
    programs = Programs(OpenMpi(), installation, made, Path("probe"))
    starter = Starter(programs, placement=CROWDED, timeout_seconds=1)
    assert starter.may_differ == {"hosts"}
    assert (starter.plain is None) == bool(keys)


def test_outside_of_an_allocation_nothing_is_started(tmp_path: Path) -> None:
    made = launcher_for(JobTable(), tmp_path)
    assert made.machine(FREE) == machine.this_machine()
    with pytest.raises(UsageError, match=r"this process is in none: .*--submit"):
        made.processing_units()


@pytest.mark.parametrize("name", [HERE, f"{HERE}.example.org", "localhost"])
def test_an_allocation_of_this_host_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = campaign_file.load(None, {})
    monkeypatch.setenv("SLURM_JOB_NODELIST", name)
    assert campaign_file.load(None, {}) == before
