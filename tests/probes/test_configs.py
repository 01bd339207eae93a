"""Configurations through MPI_T: in force on their own communicator only, or said not to be."""

from __future__ import annotations

import pytest

from plumbline_db.probe_records import KnobReading
from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi

KNOB = "coll_tuned_allgather_algorithm"
SWITCH = "OMPI_MCA_coll_tuned_use_dynamic_rules"


def case(number: int, config: str, variant: str = "default") -> str:
    what = f"function=MPI_Allgather variant={variant} config={config}"
    return f"case id={number} {what} bytes=64 reps=2\n"


def run(probe: Probe, lines: str, ranks: int = 3, dynamic: bool = True) -> Launch:
    return probe.good(lines, ranks, {SWITCH: "1"} if dynamic else {})


def test_by_number_and_by_name(probe: Probe) -> None:
    launch = run(
        probe, f"config id=n {KNOB}=4\nconfig id=t {KNOB}=ring\n" + case(0, "n") + case(1, "t")
    )
    assert [config.in_force for config in launch.configs.values()] == [True, True]
    assert launch.configs["n"].knobs == {KNOB: KnobReading("4", "4")}
    assert launch.configs["t"].knobs == {KNOB: KnobReading("ring", "ring")}
    assert {check.outcome for check in launch.checks.values()} == {"ok"}
    assert launch.header.environment[SWITCH] == "1"


def test_it_is_really_in_force_and_only_there(probe: Probe) -> None:
    """`two_proc` refuses to work with three ranks, so its error shows where it is in force."""
    launch = run(
        probe,
        f"config id=before\nconfig id=bad {KNOB}=two_proc\nconfig id=after\n"
        + "".join(case(i, name) for i, name in enumerate(["before", "bad", "after", "default"]))
        + case(4, "bad", "library"),
    )
    outcomes = [launch.checks[i].outcome for i in range(5)]
    assert outcomes == ["ok", "error", "ok", "ok", "error"]
    assert "MPI_ERR_UNSUPPORTED_OPERATION" in launch.checks[1].detail
    assert all(sorted(order) == [0, 2, 3] for order in launch.orders)


def test_not_without_the_switch(probe: Probe) -> None:
    launch = run(
        probe, f"config id=c {KNOB}=4\n" + case(0, "c") + case(1, "default"), dynamic=False
    )
    assert not launch.configs["c"].in_force
    assert f"{SWITCH}=1" in launch.configs["c"].reason
    assert launch.configs["c"].knobs == {KNOB: KnobReading("4", "0")}
    assert launch.checks[0].outcome == "not_in_force"
    assert launch.checks[0].detail == launch.configs["c"].reason
    assert {record.case for record in launch.samples} == {1}


def test_not_behind_a_rules_file(probe: Probe) -> None:
    """Open MPI 4.1 would follow the file: linear Allgather from size 0, for all communicators."""
    rules = probe.folder / "rules"
    rules.write_text("1\n0\n1\n0\n1\n0 1 0 0\n")
    launch = probe.run(
        f"config id=c {KNOB}=two_proc\n" + case(0, "c"),
        3,
        {SWITCH: "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(rules)},
    )
    assert not launch.configs["c"].in_force
    assert "a rules file comes first" in launch.configs["c"].reason


@pytest.mark.parametrize(
    ("knob", "value", "words"),
    [
        ("coll_tuned_no_such_knob", "1", "no such control variable"),
        ("coll_tuned_use_dynamic_rules", "0", "scope read-only"),
        (f"{KNOB}_count", "3", "scope constant"),
        ("coll_base_verbose", "0", "OMPI_MCA_coll_base_verbose"),
        ("coll_tuned_bcast_algorithm_knomial_radix", "3", "not kept on a communicator"),
        (KNOB, "fastest", "no enumerator"),
        (KNOB, "4.5", "no enumerator"),
        (KNOB, "99999999999", "no enumerator"),
        (KNOB, "99", "refuses the value '99'"),
    ],
)
def test_what_cannot_be_in_force(probe: Probe, knob: str, value: str, words: str) -> None:
    launch = run(probe, f"config id=c {KNOB}_segmentsize=1 {knob}={value}\n" + case(0, "c"), 2)
    config = launch.configs["c"]
    assert not config.in_force
    assert config.reason.startswith(f"{knob}: ") and words in config.reason
    assert config.knobs[knob].wanted == value
    assert launch.checks[0].outcome == "not_in_force"
    assert launch.samples == []


NO_TOOLS = {SWITCH: "1", "PLUMBLINE_MPI_T": "none"}


def test_a_plan_without_knobs_has_no_use_for_mpi_t(probe: Probe) -> None:
    launch = probe.run(case(0, "default"), 2, NO_TOOLS)
    assert launch.code == 0 and launch.samples, launch.stderr


def test_without_mpi_t_no_knob_is_set(probe: Probe) -> None:
    launch = probe.run(f"config id=n {KNOB}=4\n{case(0, 'n')}", 2, NO_TOOLS)
    assert launch.code == 2 and "PLUMBLINE_MPI_T=none" in launch.stderr
