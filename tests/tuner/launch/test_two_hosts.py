"""Two hosts in namespaces of their own (tests/hosts.py), under every mpirun that is at hand: ranks
are where they should be, bound as asked, and gone when their time is up; what is exported reaches
both hosts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.campaign import proof
from plumbline.core.plan import Plan, PlanCase
from plumbline.core.reach import Hosts as Table
from plumbline.launch import Job, launcher_for
from plumbline.launch.hosts import SeveralHosts
from plumbline.launch.starter import Programs, Starter
from plumbline.libraries import Family, Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system import paths
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Check, Header
from plumbline_exporters import plumbline_sh
from plumbline_exporters.registry import write
from tests.exporters.bundles import bundle, variant
from tests.hosts import Hosts
from tests.sampled import by_default
from tests.tuner import jobs
from tests.tuner.families.installations import ON_PATH, prefix_of

pytestmark = pytest.mark.mpi

FIXED = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "^openib", "MY_OWN": "a b"}
PLAN = Plan("hosts", 1, (PlanCase("MPI_Allreduce", 4096),), blocks=1, reps=1)


def several(hosts: Hosts, folder: Path, *, interface: str = "") -> SeveralHosts:
    """The agent has arguments, and what it starts is in a session of its own: no signal from here
    reaches the other host."""
    table = Table(
        names=list(hosts.addresses),
        agent=["setsid", "--wait", str(hosts.agent)],
        interface=interface or hosts.network,
        folder=str(folder / "jobs"),
    )
    made = launcher_for(table, folder)
    assert isinstance(made, SeveralHosts)
    return made


def on_the_first(hosts: Hosts, folder: Path, mpirun: Path) -> Path:
    """`mpirun`, started on the first host as if Plumbline ran there."""
    script = folder / "mpirun"
    script.write_text(f'#!/bin/sh\nexec {hosts.agent} {hosts.addresses[0]} {mpirun} "$@"\n')
    script.chmod(0o755)
    return script


def library(name: str, hosts: Hosts, folder: Path) -> tuple[Family, Installation, str]:
    """By its name under build/mpis, or that on PATH; and the interface as it wants it named."""
    family, found = libraries.find(prefix_of(name))
    here = msgspec.structs.replace(found, mpirun=on_the_first(hosts, folder, found.mpirun))
    return family, here, hosts.network if family.name == "openmpi" else "eth0"


LIBRARIES = (ON_PATH, "openmpi-5.0", "mpich-5.0", "impi-2021")


def job(
    family: Family, here: Installation, folder: Path, program: list[str], **changes: object
) -> Job:
    given = os.environ | family.environment(here) | FIXED
    one = jobs.job(folder, program, Placement(nodes=2, ppn=2), given, extra=FIXED)
    return msgspec.structs.replace(one, **changes)


@pytest.mark.parametrize("name", LIBRARIES)
def test_ranks_are_spread_over_the_hosts(two_hosts: Hosts, tmp_path: Path, name: str) -> None:
    family, here, interface = library(name, two_hosts, tmp_path)
    launcher = several(two_hosts, tmp_path, interface=interface)
    script = tmp_path / "where.sh"
    script.write_text('echo "$(uname -n) $(taskset -pc $$ | sed s/.*:.//) $MY_OWN"\n')
    program = ["sh", str(script)]
    layout = Placement(nodes=2, ppn=2, bind="core", map_by="core")
    done = launcher.run(family, here, job(family, here, tmp_path, program, placement=layout))
    said = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert sorted(name for name, *_ in said) == sorted(two_hosts.names * 2), done.stderr
    assert all(variable == "a b" for *_, variable in said)
    if len(os.sched_getaffinity(0)) > 1:
        cores = {host: {core for name, core, _ in said if name == host} for host in two_hosts.names}
        assert all(len(one) == 2 for one in cores.values()), said


@pytest.mark.parametrize("name", by_default(LIBRARIES[:1], LIBRARIES[1:]))
def test_nobody_is_left_when_time_is_up(two_hosts: Hosts, tmp_path: Path, name: str) -> None:
    family, here, interface = library(name, two_hosts, tmp_path)
    launcher = several(two_hosts, tmp_path, interface=interface)
    script = tmp_path / "ranks-that-sleep.sh"
    script.write_text(f"touch {tmp_path}/began-$$\nwhile :; do sleep 0.2; done\n")
    for seconds in (5.0, 40.0):  # until all ranks have come so far
        asked = job(family, here, tmp_path, ["sh", str(script)], timeout_seconds=seconds)
        for one in tmp_path.glob("began-*"):
            one.unlink()
        done = launcher.run(family, here, asked)
        assert done.timed_out
        if len(list(tmp_path.glob("began-*"))) == 4:
            break
    assert len(list(tmp_path.glob("began-*"))) == 4, done.stderr
    wait_for(lambda: not running(str(script)), lambda: running(str(script)))


def running(word: str) -> list[list[str]]:
    """Processes of all namespaces that have `word` in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word in one for one in words):
            found.append(words)
    return found


def wait_for(done: Callable[[], bool], what: Callable[[], object]) -> None:
    """Daemons on other hosts notice a little later that mpirun is gone."""
    for _ in range(600):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError(what())


# --- the probe ----------------------------------------------------------------------------------


def starter(hosts: Hosts, folder: Path, placement: Placement, name: str = ON_PATH) -> Starter:
    family, here, interface = library(name, hosts, folder)
    try:
        probe = paths.layout().probe(paths.build_id(here.library))
    except PlumblineError as error:
        pytest.skip(str(error))
    return Starter(
        Programs(family, here, several(hosts, folder, interface=interface), probe),
        placement=placement,
        timeout_seconds=60,
        fixed=FIXED,
    )


def outcomes(
    ranks: Starter, suite: str, number: int, plan: Plan, environment: Mapping[str, str]
) -> proof.Outcomes | proof.Failed:
    """Of a launch of a proof."""
    run, records = ranks.start("c", suite, number, plan.text(), dict(environment))
    if run.failure is not None:
        return proof.Failed(run.failure, run.stderr)
    return {
        (plan.cases[one.case].function, plan.cases[one.case].bytes): one.outcome
        for one in records
        if isinstance(one, Check)
    }


@pytest.mark.parametrize("name", [ON_PATH, "openmpi-5.0"])
def test_a_launch(two_hosts: Hosts, tmp_path: Path, name: str) -> None:
    layout = Placement(nodes=2, ppn=2, bind="core", map_by="node")
    run, records = starter(two_hosts, tmp_path, layout, name).start("c", "s", 0, PLAN.text(), {})
    assert run.finished, run.reason + run.stderr
    header = next(one for one in records if isinstance(one, Header))
    assert (header.nodes, header.ppn) == (2, 2)
    assert header.hosts == list(two_hosts.names)
    assert header.environment["OMPI_MCA_btl_tcp_if_include"] == two_hosts.network
    assert header.environment["OMPI_MCA_btl"] == "^openib"
    assert run.environment == FIXED
    assert not list((tmp_path / "jobs").glob("job-*"))


def test_ranks_that_are_elsewhere(two_hosts: Hosts, tmp_path: Path) -> None:
    """A library that does as it likes: all ranks on one host."""

    class Stubborn(OpenMpi):
        def words(self, placement: Placement, reach: object = None) -> list[str]:
            del reach
            return ["-np", str(placement.nprocs), "--oversubscribe"]

    ranks = starter(two_hosts, tmp_path, Placement(nodes=2, ppn=1))
    ranks.family = Stubborn()
    with pytest.raises(
        PlumblineError, match=r"2 nodes with 1 rank each were asked for.* on 1 node"
    ):
        ranks.start("c", "s", 0, PLAN.text(), {})


@pytest.mark.parametrize("name", [ON_PATH, "openmpi-5.0"])
def test_the_preload_library_is_in_force_on_both_hosts(
    two_hosts: Hosts, tmp_path: Path, name: str
) -> None:
    family, here, _ = library(name, two_hosts, tmp_path)
    ranks = starter(two_hosts, tmp_path, Placement(nodes=2, ppn=2), name)
    winner = variant("MPI_Allreduce", "allreduce_as_reduce_plus_bcast", 4096, 4096)
    winner = msgspec.structs.replace(winner, ppn=2)
    files = msgspec.structs.replace(
        bundle(winner, directory=str(tmp_path / "out")),
        library=here.library,
        preload_library=paths.layout().preload(paths.build_id(here.library)),
    )
    write(files, ["env"])
    clean = ranks.clean_environment()
    environment = proof.environment_of(tmp_path / "out" / plumbline_sh.FILE_NAME, clean)
    sizes = {"MPI_Allreduce": [4096]}
    with several(two_hosts, tmp_path).folder("proof") as folder:
        found_out = proof.prove(
            family, partial(outcomes, ranks), PLAN, environment, [winner], sizes, folder
        )
    assert found_out.problems == []
    assert found_out.statements[0].startswith("plumbline.profile decides")
    script = tmp_path / "loaded.sh"
    script.write_text('echo "$(uname -n) ${LD_PRELOAD##*/}"\n')
    asked = job(family, here, tmp_path, ["sh", str(script)], environment=clean | environment)
    loaded = several(two_hosts, tmp_path).run(family, here, asked).stdout.splitlines()
    assert sorted(loaded) == [f"{name} libplumbline.so" for name in sorted(two_hosts.names * 2)]
