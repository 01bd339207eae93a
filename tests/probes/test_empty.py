"""variant=empty: what timer and start scheme leave in a sample."""

from __future__ import annotations

import statistics

import pytest

from tests import busy
from tests.probes.launch import Probe
from tests.probes.test_contract import FUNCTIONS

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("ranks", [1, 3])
def test_nothing_is_called(probe: Probe, ranks: int) -> None:
    """Every function, in a library whose calls fail: fine, moves nothing, takes next to no time."""
    lines = [
        f"case id={i} function=MPI_{name} variant=empty bytes=4096 root={ranks - 1} reps=30"
        for i, name in enumerate(FUNCTIONS)
    ]
    launch = probe.good(
        "set blocks=2\n" + "\n".join(lines), ranks, probe.fault("refused") | probe.slow(0)
    )
    assert [check.outcome for check in launch.checks.values()] == ["ok"] * len(FUNCTIONS)
    assert {case.bytes_moved for case in launch.cases.values()} == {0}
    assert {case.variant for case in launch.cases.values()} == {"empty"}
    every = [ns for record in launch.samples for ns in record.ns]
    assert len(every) == 60 * len(FUNCTIONS)
    # The slow rank would add 3 ms to a Reduce_local that is called.
    if statistics.median(every) >= 50 * launch.header.clock.cost_ns + 1000:
        busy.undecided(f"{statistics.median(every)} ns for nothing")


def test_its_config_must_be_in_force(probe: Probe) -> None:
    launch = probe.good(
        "config id=c coll_tuned_no_such_knob=1\n"
        "case id=0 function=MPI_Bcast variant=empty config=c bytes=8\n"
        "case id=1 function=MPI_Bcast variant=empty bytes=8\n"
    )
    assert [launch.checks[i].outcome for i in (0, 1)] == ["not_in_force", "ok"]
