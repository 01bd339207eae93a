"""What a library's default sends, by what the library counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.core.cell import Target
from plumbline.explain import basis
from plumbline.launch.starter import Programs, Starter
from plumbline.libraries.openmpi import OpenMpi
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings, identity
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.system import paths
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Trial

# As four ranks print it at the same time: the counts of sizes of one line end in another's.
MIXED = """# POINT TO POINT
# POINT TO POINT
E\t3\t0\t820 bytes\t4 msgs sent\t1,0,0,0,1,0,I\t0\t1\t1600 bytes\t16 msgs sent
1,0,0
I\t0\t2\t3200 bytes\t32 msgs sent\t0,32,0
E\t0\t1\t80 bytes\t2 msgs sent\t0,2,0
# OSC
# COLLECTIVES
C\t0\t1\t1600 bytes\t16 msgs sent
D\tMPI_COMM_WORLD\tprocs: 0,1
O2A\t0\t300 bytes\t1 msgs sent
"""
SENT = {(0, 1): (16, 1600), (0, 2): (32, 3200)}
LOST = MIXED.replace("I\t0\t2", "I\t0I\t2")


def test_messages_of_collectives_are_read() -> None:
    assert basis.parse(OpenMpi(), MIXED) == SENT
    assert basis.parse(OpenMpi(), LOST) == {(0, 1): (16, 1600)}
    assert basis.parse(OpenMpi(), MIXED + MIXED) is None  # a pair that was there already
    assert basis.parse(OpenMpi(), "") is None


def test_what_two_launches_say_alike_is_taken() -> None:
    assert basis.agreed(OpenMpi(), [MIXED]) is None
    assert basis.agreed(OpenMpi(), [MIXED, LOST]) is None
    assert basis.agreed(OpenMpi(), ["", MIXED, LOST, MIXED, LOST]) == SENT


def test_what_a_call_sends_makes_a_difference() -> None:
    a = {(0, 1): (100, 4000)}
    assert basis.same(a, {(0, 1): (102, 4003)})
    assert not basis.same(a, {(0, 1): (100 + basis.CALLS, 4000)})
    assert not basis.same(a, {(0, 1): (100, 4000 + basis.CALLS)})
    assert not basis.same(a, a | {(1, 0): (basis.CALLS, 0)})


KNOB = "coll_tuned_bcast_algorithm"
CELL = Target("MPI_Bcast", 4096)
TRIALS = [
    Trial("default", {KNOB: name}, "measured", ratio, None, None, 6, "")
    for name, ratio in (("binomial", 1.0), ("basic_linear", 0.8))
]


def of_open_mpi(settings: Settings) -> Toolchain:
    try:
        family, installation = libraries.find()
        paths.layout().probe(paths.build_id(installation.library))
    except PlumblineError as error:
        pytest.skip(str(error))
    if family.name != "openmpi":
        pytest.skip("the mpirun on PATH is not Open MPI's")
    return find_toolchain(settings=settings)


@pytest.mark.mpi
def test_open_mpi_tells_by_its_messages_what_it_takes(tmp_path: Path) -> None:
    """The library is told at start what its default is; times would say another."""
    settings = load(None, {"nprocs": 4})
    toolchain = of_open_mpi(settings)
    forced = {f"OMPI_MCA_{KNOB}": "basic_linear"} | toolchain.family.in_environment({})
    starter = Starter(
        Programs(toolchain.family, toolchain.installation, toolchain.launcher, toolchain.probe),
        placement=settings.ranks.placement(2),
        timeout_seconds=60,
        fixed=forced,
    )
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        campaign = identity.begin(db, toolchain, settings, new=True)
        store = LaunchStore(db, campaign.id, starter)
        basis.observe(OpenMpi(), store, settings, {CELL: TRIALS}, toolchain.space.hot_environment)
        found = basis.default_sends(OpenMpi(), db, campaign.id, CELL, TRIALS)
        assert found == (True, TRIALS[1])
        launched = len(runs.listing(db, campaign.id))
        basis.observe(OpenMpi(), store, settings, {CELL: TRIALS}, toolchain.space.hot_environment)
        assert len(runs.listing(db, campaign.id)) == launched
        assert basis.default_sends(OpenMpi(), db, campaign.id, Target("MPI_Bcast", 8), TRIALS) == (
            False,
            None,
        )
