"""Ranks bound as asked, by every mpirun that is at hand, and a launch that is not bound so."""

from __future__ import annotations

import os

import pytest

from plumbline import libraries
from plumbline.core.plan import Plan, PlanCase
from plumbline.launch import launcher_for
from plumbline.launch.starter import Programs, Starter
from plumbline.libraries import Family, Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.measure.launches import LaunchStore, Series
from plumbline.system import machine, paths
from plumbline.system.placement import Placement, here, units
from plumbline_db import runs, started
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Header
from plumbline_db.records import Suite
from tests.db import build
from tests.tuner.families.installations import ON_PATH, prefix_of

pytestmark = pytest.mark.mpi

PLAN = Plan("binding", 1, (PlanCase("MPI_Barrier", 0),), blocks=1, reps=1)


def starter(
    family: Family, found: Installation, *, bind: str = "", map_by: str = "", ppn: int = 2
) -> Starter:
    try:
        probe = paths.layout().probe(paths.build_id(found.library))
    except PlumblineError as error:
        pytest.skip(str(error))
    crowded = here(ppn, machine.processing_units()).oversubscribed
    return Starter(
        Programs(family, found, launcher_for(None), probe),
        placement=Placement(nodes=1, ppn=ppn, bind=bind, map_by=map_by, oversubscribed=crowded),
        timeout_seconds=60,
    )


def open_mpi() -> tuple[Family, Installation]:
    family, found = libraries.find()
    if family.name != "openmpi":
        pytest.skip("the mpirun on PATH is not Open MPI's")
    return family, found


def bindings(ranks: Starter, placement: Placement | None = None) -> list[frozenset[int]]:
    run, records = ranks.start("c", "s", 0, PLAN.text(), {}, placement)
    assert run.finished, run.reason + run.stderr
    (header,) = (one for one in records if isinstance(one, Header))
    return [units(text) for text in header.binding]


@pytest.mark.parametrize("name", [ON_PATH, "openmpi-5.0", "mpich-5.0", "impi-2021"])
def test_every_library_binds(name: str) -> None:
    if machine.processing_units() < 2:
        pytest.skip("one processing unit is all there is to be bound to")
    family, found = libraries.find(prefix_of(name))
    first, second = bindings(starter(family, found, bind="core", map_by="core"))
    assert first.isdisjoint(second)
    every = frozenset(os.sched_getaffinity(0))
    assert bindings(starter(family, found, bind="none")) == [every, every]
    for domain in ("socket", "numa"):
        sets = machine.domains()[domain]
        for bound in bindings(starter(family, found, bind=domain)):
            assert not sets or any(bound <= one for one in sets)


def test_more_ranks_than_cores_are_bound_all_the_same() -> None:
    family, found = open_mpi()
    ppn = machine.processing_units() + 1
    found_bound = bindings(starter(family, found, bind="core", map_by="core", ppn=ppn))
    assert len(set(found_bound)) == len(machine.domains()["core"])


@pytest.mark.parametrize("name", [ON_PATH, "openmpi-5.0", "mpich-5.0", "impi-2021"])
def test_more_ranks_than_cores_as_a_plain_mpirun_starts_them(name: str) -> None:
    """Open MPI leaves them to the system, and a campaign binds them; the others do of themselves
    what they do in a campaign."""
    family, found = libraries.find(prefix_of(name))
    units = machine.processing_units()
    ranks = starter(family, found, ppn=2 * units)
    assert ranks.placement.held
    assert (ranks.plain is None) == (family.name != "openmpi")
    if ranks.plain is not None:
        every = frozenset(os.sched_getaffinity(0))
        assert bindings(ranks, ranks.plain) == [every] * 2 * units
        assert {len(one) for one in bindings(ranks)} == {1}
    assert starter(family, found, ppn=units).plain is None
    assert starter(family, found, bind="core", ppn=2 * units).plain is None
    assert starter(family, found, bind="plain", ppn=2 * units).plain is None


def test_a_library_that_does_not_bind() -> None:
    class Loose(OpenMpi):
        def words(self, placement: Placement, reach: object = None) -> list[str]:
            del reach
            return ["-np", str(placement.nprocs), "--oversubscribe", "--bind-to", "none"]

    _, found = open_mpi()
    if len(machine.domains()["core"]) < 2:
        pytest.skip("needs two cores")
    with pytest.raises(PlumblineError, match=r"rank 0 may run on .*though bind = core"):
        bindings(starter(Loose(), found, bind="core"))


def test_bound_and_as_a_user_has_them_in_one_campaign(db: Database) -> None:
    """Under the real mpirun: two suites, each placed in its way; the stored words say which."""
    family, found = open_mpi()
    ranks = starter(family, found, ppn=2 * machine.processing_units())
    campaign = build.started(db)
    store = LaunchStore(db, campaign.id, ranks)
    store.launch(Suite("before"), 0, PLAN, {})
    Series(store, Suite("accept", 1), PLAN, {}, ranks.plain).advance(2)
    store.launch(Suite("before"), 1, PLAN, {})
    every = [launch.header.binding for launch in runs.surroundings(db, campaign.id)]
    assert every[0] == every[3] != every[1] == every[2]
    measured, accepted = started.lines(db, campaign.id)
    assert measured.endswith("--oversubscribe --bind-to core:overload-allowed")
    assert accepted.endswith("--oversubscribe")
    with pytest.raises(PlumblineError, match="binding"):
        store.launch(Suite("accept", 1), 2, PLAN, {})
