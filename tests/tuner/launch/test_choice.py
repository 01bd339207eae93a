"""What a library chooses at each start is found out once."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.starter import MPI_T, Starter
from plumbline.libraries import ChoosesAtStart
from plumbline.libraries.openmpi import OpenMpi
from plumbline.settings import Settings, starting
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import ConfigRecord
from plumbline_db.records import Run

SAID = """[vm:1] select: initializing pml component ob1
[vm:1] select: init returned priority 20
[vm:1] selected ob1 best priority 20
[vm:1] select: component ob1 selected
"""


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        (SAID, {"OMPI_MCA_pml": "ob1"}),
        (SAID + SAID.replace("vm:1", "vm:2"), {"OMPI_MCA_pml": "ob1"}),
        (SAID + SAID.replace("vm:1", "vm:2").replace("ob1", "ucx"), {}),
        ("", {}),
    ],
    ids=["one rank", "two alike", "two that differ", "nothing"],
)
def test_open_mpi_says_how_it_sends(said: str, chosen: dict[str, str]) -> None:
    assert OpenMpi().choice(said) == chosen


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except PlumblineError as error:
        pytest.skip(str(error))
    if not isinstance(found.family, ChoosesAtStart):
        pytest.skip(f"{found.installation.library.id} says nothing of a choice")
    return found


def begun(toolchain: Toolchain, environment: dict[str, str]) -> Starter:
    settings = Settings()
    settings = msgspec.structs.replace(
        settings,
        ranks=msgspec.structs.replace(settings.ranks, nprocs=2),
        fixed=msgspec.structs.replace(settings.fixed, environment=environment),
    )
    return starting.starter(toolchain, settings)


def launch(starter: Starter, extra: dict[str, str]) -> Run:
    plan = Plan("choice", 1, (PlanCase("MPI_Bcast", 64),), blocks=1, reps=1, warmup=0)
    run, _ = starter.start("c", "s", 0, plan.text(), extra)
    assert run.failure is None
    return run


def test_launches_start_with_the_choice_that_they_would_make(toolchain: Toolchain) -> None:
    """Whoever asks again is told the same, and a launch says what it was started with."""
    family, starter = toolchain.family, begun(toolchain, {})
    assert isinstance(family, ChoosesAtStart)
    alone = family.choice(launch(starter, family.choice_talk).stderr)
    assert alone
    starter.start_by_choice()
    run = launch(starter, family.choice_talk)
    assert alone.items() <= run.environment.items()
    assert run.environment[MPI_T] == "none"
    assert family.choice(run.stderr) == alone


def test_a_plan_with_knobs_has_mpi_t(toolchain: Toolchain) -> None:
    starter = begun(toolchain, {})
    starter.start_by_choice()
    knobs = Configuration.of({"coll_tuned_bcast_algorithm": "binomial"})
    case = PlanCase("MPI_Bcast", 64, configuration=knobs)
    plan = Plan("choice", 1, (case,), blocks=1, reps=1, warmup=0, knobs="communicator")
    run, records = starter.start("c", "s", 0, plan.text(), toolchain.space.hot_environment)
    assert run.failure is None and MPI_T not in run.environment
    (config,) = (record for record in records if isinstance(record, ConfigRecord))
    assert config.in_force


def test_what_somebody_has_set_stays(toolchain: Toolchain) -> None:
    starter = begun(toolchain, {"OMPI_MCA_pml": "^cm"})
    starter.start_by_choice()
    assert launch(starter, {}).environment["OMPI_MCA_pml"] == "^cm"
