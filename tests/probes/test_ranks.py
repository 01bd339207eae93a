"""`ranks=K`: a case runs on the first K ranks, with what follows from that; the others keep out of
its way."""

from __future__ import annotations

import pytest

from plumbline_db.probe_records import Nrep
from tests.probes.launch import Probe

pytestmark = pytest.mark.mpi

# Bytes are the volume on the ranks of the case: two blocks of 8, and three.
PLAN = """set blocks=3 warmup=1 rewarm=1 {settings}
config id=c1 coll_tuned_allreduce_algorithm=1
case id=0 function=MPI_Gather bytes=32 reps=4
case id=1 function=MPI_Gather bytes=16 reps=4 ranks=2 root=1
case id=2 function=MPI_Allgatherv bytes=25 reps=4 ranks=3
case id=3 function=MPI_Allreduce bytes=64 reps=4 ranks=2 config=c1
case id=4 function=MPI_Allreduce variant=allreduce_as_reduce_plus_bcast bytes=9 reps=4 ranks=3
case id=5 function=MPI_Alltoall bytes=64 reps=4 ranks=4
case id=6 function=MPI_Scan bytes=7 reps=4 ranks=1
case id=7 function=MPI_Bcast bytes=7 reps=4
"""
RANKS = [0, 2, 3, 2, 3, 4, 1, 0]


@pytest.mark.parametrize(
    "settings",
    ["", "sync=dissemination", "sync=window window_us=500", "sync=roundtime", "cache=cycle"],
)
def test_cases_of_all_numbers_of_ranks_in_one_launch(probe: Probe, settings: str) -> None:
    hot = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    launch = probe.good(PLAN.format(settings=settings), 4, hot)
    assert [launch.cases[i].ranks for i in range(8)] == RANKS
    moved = [launch.cases[i].bytes_moved for i in range(8)]
    assert moved == [32, 16, 25, 64, 9, 64, 7, 7]
    assert {check.outcome for check in launch.checks.values()} == {"ok"}, launch.checks
    assert [len(order) for order in launch.orders] == [8, 8, 8]
    assert len(launch.samples) == 24
    # With these a start may come too late.
    if not settings.startswith(("sync=window", "sync=roundtime")):
        assert all(len(one.ns) == 4 and min(one.ns) >= 0 for one in launch.samples)


def test_a_stopping_rule_knows_them(probe: Probe) -> None:
    plan = "set nrep=rse:0.5 nrep_min=4 nrep_step=4 nrep_max=12\n"
    plan += "".join(
        f"case id={k} function=MPI_Bcast bytes=8{f' ranks={k}' if k else ''}\n" for k in range(4)
    )
    launch = probe.good(plan, 3)
    found = launch.of(Nrep)
    assert sorted(one.case for one in found) == [0, 1, 2, 3]
    assert all(4 <= one.nrep <= 12 for one in found)


def test_ranks_outside_do_not_call(probe: Probe) -> None:
    """Rank 2 takes 3 ms in each call: only a case with this rank is that slow."""
    launch = probe.good(
        "set blocks=1 warmup=0\n"
        "case id=0 function=MPI_Reduce_local bytes=8 reps=5\n"
        "case id=1 function=MPI_Reduce_local bytes=8 reps=5 ranks=2\n",
        3,
        probe.slow(2),
    )
    least = {one.case: min(one.ns) for one in launch.samples}
    assert least[0] >= 2_999_000 > least[1]


@pytest.mark.parametrize("fault", ["wrong", "past_end", "refused"])
def test_the_check_is_on_these_ranks(probe: Probe, fault: str) -> None:
    """Each communicator's last rank breaks its result: it is found on two ranks as on three."""
    launch = probe.good(
        "set blocks=1 warmup=0\n"
        "case id=0 function=MPI_Allreduce bytes=8 reps=1\n"
        "case id=1 function=MPI_Allreduce bytes=8 reps=1 ranks=2\n"
        "case id=2 function=MPI_Bcast bytes=8 reps=1 ranks=2\n",
        3,
        probe.fault(fault),
    )
    bad = "error" if fault == "refused" else "wrong"
    assert [launch.checks[i].outcome for i in range(3)] == [bad, bad, "ok"]
    if fault != "refused":
        assert launch.checks[1].detail.startswith("rank 1:")
    assert {one.case for one in launch.samples} == {2}


@pytest.mark.parametrize(
    ("line", "token", "why"),
    [
        ("ranks=0", "ranks=0", "1"),
        ("ranks=4", "ranks=4", "there are 3 ranks"),
        ("ranks=2 root=2", "root=2", "ranks=2 leaves out this rank"),
    ],
)
def test_what_cannot_be_is_refused(probe: Probe, line: str, token: str, why: str) -> None:
    lines = f"case id=0 function=MPI_Bcast bytes=8 {line}\n"
    probe.refuses(lines, f"token '{token}'", why, ranks=3)


def test_plain_loops_run_on_all_ranks(probe: Probe) -> None:
    lines = "set plain=each\ncase id=0 function=MPI_Bcast bytes=8 ranks=2\n"
    probe.refuses(lines, "token 'ranks=2'")
