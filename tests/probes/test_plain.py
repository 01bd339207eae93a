"""Measuring as the common benchmark programs do: order, counts, one mean a rank."""

from __future__ import annotations

import pytest

from plumbline_db.probe_records import Order, Samples
from tests.probes.launch import Probe

pytestmark = pytest.mark.mpi

CASES = "\n".join(f"case id={i} function=MPI_Barrier bytes=0 reps=50" for i in range(9, 0, -1))


@pytest.mark.parametrize("loop", ["each", "series"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_one_mean_a_rank_in_the_order_of_the_plan(probe: Probe, loop: str, ranks: int) -> None:
    launch = probe.good(f"set plain={loop} blocks=7 clock=wtime\n{CASES}", ranks)
    order = list(range(9, 0, -1))
    assert launch.orders == [order]
    assert [record.case for record in launch.samples] == order
    for record in launch.samples:
        assert (record.block, record.warmup_ns, len(record.ns)) == (0, [], ranks)
        assert min(record.ns) >= 0
    after_checks = [one for one in launch.records if isinstance(one, Order | Samples)]
    assert isinstance(after_checks[0], Order)
    # 60 repetitions a case are timed or run ahead: rank 0's share is no less than its means.
    assert launch.footer.timed_ns >= 0.9 * sum(50 * record.ns[0] for record in launch.samples)


@pytest.mark.parametrize("loop", ["each", "series"])
def test_a_mean_contains_every_repetition(probe: Probe, loop: str) -> None:
    """A planted delay is in each of them, so the mean cannot be below it."""
    plan = f"set plain={loop}\ncase id=0 function=MPI_Barrier bytes=0 reps=30 delay_ns=200000\n"
    launch = probe.good(plan, 2)
    (record,) = launch.samples
    assert min(record.ns) > 140_000


def test_wrong_cases_are_not_timed(probe: Probe) -> None:
    launch = probe.good(
        "set plain=each\ncase id=0 function=MPI_Bcast bytes=8 reps=10\n"
        "config id=c nonsense_knob=1\n"
        "case id=1 function=MPI_Bcast bytes=8 reps=10 config=c\n"
    )
    assert [record.case for record in launch.samples] == [0]
    assert launch.checks[1].outcome == "not_in_force"


def test_the_loops_are_listed(probe: Probe) -> None:
    assert probe.known()["plain"] == ["each", "series"]
