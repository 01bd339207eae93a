"""knobs=start: what a launch was started with is read back, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline_db.probe_records import KnobReading
from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi

LIMIT, NAMED, TEXT = "btl_tcp_eager_limit", "coll_tuned_bcast_algorithm", "pml"


def run(probe: Probe, knobs: str, **environment: str) -> Launch:
    lines = f"set blocks=1 knobs=start\nconfig id=c {knobs}\n"
    lines += "case id=0 function=MPI_Bcast config=c bytes=64 reps=2\n"
    given = {f"OMPI_MCA_{name}": value for name, value in environment.items()}
    return probe.good(lines, 2, given)


def test_what_was_asked_for_at_start_is_in_force(probe: Probe) -> None:
    launch = run(
        probe,
        f"{LIMIT}=8192 {NAMED}=binomial {TEXT}=ob1 mpi_param_check=false",
        btl_tcp_eager_limit="8192",
        coll_tuned_bcast_algorithm="binomial",
        pml="ob1",
        mpi_param_check="false",
    )
    config = launch.configs["c"]
    assert config.in_force and config.reason == ""
    assert config.knobs[LIMIT] == KnobReading("8192", "8192")
    assert config.knobs[NAMED] == KnobReading("binomial", "6")
    assert config.knobs[TEXT] == KnobReading("ob1", "ob1")
    assert launch.checks[0].outcome == "ok"
    assert len(launch.samples) == 1


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        (f"{LIMIT}=8192", "started with '8192', '65536' reads back"),
        (f"{NAMED}=binomial", "started with 'binomial', '0' reads back"),
        (f"{TEXT}=ob2", "started with 'ob2', "),
        ("mpi_param_check=perhaps", "started with 'perhaps', '1' reads back"),
    ],
)
def test_what_was_not_is_said(probe: Probe, knob: str, words: str) -> None:
    launch = run(probe, knob)
    assert not launch.configs["c"].in_force
    assert words in launch.configs["c"].reason
    assert launch.checks[0].outcome == "not_in_force"
    assert launch.samples == []


def test_no_variable_of_mpi_t_stays_unproven(probe: Probe) -> None:
    config = run(probe, "no_such_variable=3").configs["c"]
    assert config.in_force
    assert config.knobs == {"no_such_variable": KnobReading("3", "")}


def test_nothing_forks_while_mpi_is_up(probe: Probe, unforkable: Path) -> None:
    """Neither for these nor for all variables."""
    lines = f"set blocks=1 knobs=start\nconfig id=c {LIMIT}=8192\n"
    lines += "case id=0 function=MPI_Bcast config=c bytes=64 reps=2\n"
    given = {"LD_PRELOAD": str(unforkable), f"OMPI_MCA_{LIMIT}": "8192"}
    launch = probe.run(lines, 2, given)
    assert (launch.code, launch.stderr) == (0, "")
    assert launch.configs["c"].knobs[LIMIT] == KnobReading("8192", "8192")
    system = probe.start([*probe.command(2, given), str(probe.binary), "system"])
    assert (system.code, system.stderr) == (0, "")
    values = {one["name"]: one["value"] for one in json.loads(system.stdout)["variables"]}
    assert values[LIMIT] == "8192"
