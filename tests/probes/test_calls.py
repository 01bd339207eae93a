"""Knobs that each call reads (knobs=call), on MPICH: what is written is what runs, there alone."""

from __future__ import annotations

import pytest

from plumbline_db.probe_records import Check, KnobReading
from tests.probes.launch import Launch
from tests.probes.mpich import MpichProbe

pytestmark = pytest.mark.mpi

ALLTOALL = "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM"
DEVICE = "MPIR_CVAR_ALLTOALL_DEVICE_COLLECTIVE"
STRICT = {"MPIR_CVAR_COLLECTIVE_FALLBACK": "error"}
IN_PLACE_ONLY = "pairwise_sendrecv_replace"


def run(mpich: MpichProbe, lines: str, environment: dict[str, str]) -> Launch:
    return mpich.good(
        "set blocks=2 warmup=1 knobs=call sync=dissemination\n" + lines, 2, environment
    )


def case(number: int, config: str, variant: str = "default") -> str:
    what = f"function=MPI_Alltoall variant={variant} config={config}"
    return f"case id={number} {what} bytes=64 reps=3\n"


def test_what_is_written_runs_and_there_alone(mpich: MpichProbe) -> None:
    """An algorithm that does not apply is an error, so it shows where it is in force."""
    names = ("pairwise", "bad", "default", "plain", "pairwise")
    launch = run(
        mpich,
        f"config id=bad {ALLTOALL}={IN_PLACE_ONLY} {DEVICE}=0\n"
        f"config id=pairwise {ALLTOALL}=pairwise {DEVICE}=0\nconfig id=plain\n"
        + "".join(case(number, name) for number, name in enumerate(names))
        + case(5, "bad", "library"),
        STRICT,
    )
    outcomes = [launch.checks[number].outcome for number in range(6)]
    assert outcomes == ["ok", "error", "ok", "ok", "ok", "error"]
    assert "Other MPI error" in launch.checks[1].detail
    assert launch.configs["pairwise"].knobs[ALLTOALL] == KnobReading("pairwise", "pairwise")
    assert launch.configs["pairwise"].knobs[DEVICE] == KnobReading("0", "0")
    assert all(len(one.ns) == 3 for one in launch.samples)
    assert {one.case for one in launch.samples} == {0, 2, 3, 4}


def test_the_library_names_what_it_was_asked_for(mpich: MpichProbe) -> None:
    """In warm-up and samples too: each of the calls is reported, of the default none."""
    launch = run(
        mpich,
        f"config id=bad {ALLTOALL}={IN_PLACE_ONLY} {DEVICE}=0\n"
        + case(0, "bad")
        + case(1, "default"),
        {"MPIR_CVAR_COLLECTIVE_FALLBACK": "print"},
    )
    checks = sum(one.case == 0 for one in launch.of(Check))
    calls = checks + (1 + 3) + (1 + 3)  # two blocks with warm-up
    assert launch.stderr.count("Alltoall pairwise_sendrecv_replace cannot be applied") == calls


def test_what_cannot_be_in_force(mpich: MpichProbe) -> None:
    for knob, value, words in (
        (ALLTOALL, "99", "no enumerator"),  # written, it would end the process
        (ALLTOALL, "-1", "no enumerator"),
        (ALLTOALL, "fastest", "no enumerator"),
        ("MPIR_CVAR_NO_SUCH_ALGORITHM", "1", "no such control variable"),
        ("MPIR_CVAR_BCAST_TREE_TYPE", "kary", "not read at every call"),
        ("MPIR_CVAR_CH4_CMA_ENABLE", "0", "not read at every call"),
    ):
        launch = run(mpich, f"config id=c {knob}={value}\n" + case(0, "c"), {})
        assert not launch.configs["c"].in_force
        assert words in launch.configs["c"].reason, launch.configs["c"].reason
        assert launch.checks[0].outcome == "not_in_force" and launch.samples == []


def test_on_communicators_it_is_not_for_this_library(mpich: MpichProbe) -> None:
    launch = mpich.run(f"config id=c {ALLTOALL}=pairwise\n" + case(0, "c"), 2)
    assert "keeps no variables on a communicator" in launch.configs["c"].reason


def test_device_collectives_stand_above_the_algorithms(mpich: MpichProbe) -> None:
    """Without the knob that the search space asks for beside it, the choice is not even looked at
    once a communicator has its shared memory."""
    allreduce = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=smp"
    device = "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE=0"
    lines = f"config id=alone {allreduce}\nconfig id=both {allreduce} {device}\n"
    what = "function=MPI_Allreduce bytes=64 reps=10\n"
    heard = []
    for config in ("alone", "both"):
        plan = f"{lines}case id=0 config=default {what}case id=1 config={config} {what}"
        launch = run(mpich, plan, {"MPIR_CVAR_COLLECTIVE_FALLBACK": "print"})
        heard.append(launch.stderr.count("Allreduce smp cannot be applied"))
    assert heard[0] < 10 <= heard[1]
