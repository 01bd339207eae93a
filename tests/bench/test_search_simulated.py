"""Recorded simulated sweeps: what is composed from single options is what SimGrid says of them."""

from __future__ import annotations

import pytest

from plumbline.core.plan import PlanCase
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.settings import starting
from tests import simgrid
from tests.bench.search import record
from tests.bench.search.around import AS_IT_IS, Around, chosen
from tests.bench.search.exact import LATER, Exact
from tests.bench.search.record import Item
from tests.bench.search.store import Store
from tests.bench.search.sweeps import Here, Sweep, here

pytestmark = [pytest.mark.mpi]

KEYS = {
    "simulate": {"library": "mvapich2"},
    "nprocs": 4,
    "guidelines": ["GL3"],
    "sizes": [64, 1024],
}
GATHER, ALLGATHER = PlanCase("MPI_Gather", 64), PlanCase("MPI_Allgather", 64)
MOCKUP = PlanCase("MPI_Gather", 64, "gather_as_allgather")
LINEAR = {"smpi/gather": "ompi_linear_sync"}
RING = {"smpi/allgather": "ring"}


@pytest.fixture(scope="module")
def at() -> Here:
    with simgrid.there():
        return here(Sweep("small", KEYS))


@pytest.fixture(scope="module")
def answers(at: Here, tmp_path_factory: pytest.TempPathFactory) -> Exact:
    store = Store("small", tmp_path_factory.mktemp("sweep"))
    starter = starting.starter(at.bench, at.settings)
    for name, options, cases in (
        ("MPI_Gather default", {}, (GATHER, MOCKUP)),
        ("MPI_Gather linear", LINEAR, (GATHER,)),
        (f"{record.TOGETHER} 0", LINEAR | RING, (GATHER,)),
    ):
        store.add(record.launch(at, starter, Item(name, options, cases)))
    return Exact(at, store, 0.4)


def test_an_option_of_another_function_asks_for_no_simulation(answers: Exact) -> None:
    before = answers.simulated
    (alone,) = answers.of([GATHER], Around(options=LINEAR))
    (beside,) = answers.of([GATHER], Around(options=LINEAR | RING))
    (plain,) = answers.of([GATHER], AS_IT_IS)
    assert answers.simulated == before
    assert alone.seconds() == beside.seconds() != plain.seconds()


def test_a_mock_up_depends_on_its_parts_and_is_simulated_once(at: Here, answers: Exact) -> None:
    before = answers.simulated
    (plain,) = answers.of([MOCKUP], Around(options=LINEAR))
    assert answers.simulated == before
    (tuned,) = answers.of([MOCKUP], Around(options=RING))
    (again,) = answers.of([MOCKUP], Around(options=LINEAR | RING))
    assert answers.simulated == before + 1
    assert tuned.seconds() == again.seconds() != plain.seconds()
    kept = Store("small", answers._store.path.parent)
    assert [one.name.startswith(LATER) for one in kept.launches] == [False] * 3 + [True]


def test_replacements_compose(at: Here, answers: Exact) -> None:
    """The Allgather inside a mock-up that answers Gather is that of the rules."""
    cells = dict.fromkeys(at.cells(), DEFAULT)
    cells["MPI_Gather", 64] = Candidate("gather_as_allgather")
    cells["MPI_Allgather", 64] = Candidate("allgather_ring")
    around = chosen(at, cells)
    (deployed,) = answers.of([GATHER], around)
    (by_name,) = answers.of([MOCKUP], around)
    (alone,) = answers.of([MOCKUP], AS_IT_IS)
    assert deployed.seconds() == by_name.seconds() != alone.seconds()
    environment = at.bench.family.in_environment({})
    profile = answers._store.path.with_suffix(".profile")
    profile.write_text("\n".join(["plumbline-profile 1", *around.lines]) + "\n")
    environment |= {"PLUMBLINE_PROFILE": str(profile)}
    starter = starting.starter(at.bench, at.settings)
    found = record.launch(at, starter, Item("as deployed", {}, (GATHER,)), environment)
    (case,) = found.cases
    assert case.outcome == "ok"
    assert case.ns[0][0] == pytest.approx(1e9 * deployed.seconds()[0], abs=2)
