"""Correct before fast: a preload library breaks a call, the probe says how and does not time it."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import pytest

from plumbline_db.probe_records import Check
from tests.probes.launch import Launch, Probe
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

ALLREDUCE = "function=MPI_Allreduce type=MPI_INT op=MPI_SUM bytes=400 reps=1"


def run(probe: Probe, fault: str, lines: str) -> Launch:
    return probe.good("set blocks=1 warmup=0\n" + lines, 3, probe.fault(fault))


@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        ("wrong", "wrong", "rank 2: element 99 of 100 is 0x"),
        ("past_end", "wrong", "rank 2: wrote past the end of the receive buffer"),
        ("before_start", "wrong", "rank 2: wrote before the receive buffer"),
        ("send_buffer", "wrong", "rank 2: changed the send buffer"),
        ("refused", "error", "rank 0: MPI_ERR_OP"),
    ],
)
def test_broken_allreduce(probe: Probe, fault: str, outcome: str, words: str) -> None:
    launch = run(probe, fault, f"case id=0 {ALLREDUCE}\ncase id=1 {ALLREDUCE} variant=library\n")
    assert launch.checks[0].outcome == outcome
    assert words in launch.checks[0].detail
    # `library` is past libplumbline alone: what somebody preloads is there.
    assert launch.checks[1].outcome == outcome
    assert launch.samples == []


def test_wrong_from_its_second_call(probe: Probe) -> None:
    """The first check is passed, samples are taken; what holds is the last check."""
    lines = f"case id=0 {ALLREDUCE}\ncase id=1 {ALLREDUCE} use=loop\ncase id=2 {ALLREDUCE}9\n"
    launch = run(probe, "second", lines)
    found = [(one.case, one.outcome) for one in launch.of(Check)]
    assert found[:3] == [(0, "ok"), (1, "ok"), (2, "ok")]
    assert {case: outcome for case, outcome in found[3:]} == dict.fromkeys(range(3), "wrong")
    assert "after 1 block: rank 2: element 99 of 100" in launch.checks[0].detail
    assert "as case 0, the same call" in launch.checks[1].detail


def test_between_blocks_what_is_wrong_is_left_out(probe: Probe) -> None:
    lines = "set blocks=20 warmup=0\ncase id=9 function=MPI_Bcast bytes=8 reps=1\n"
    for number in range(8):
        lines += f"case id={number} function=MPI_Allreduce bytes={400 + number} reps=1\n"
    launch = probe.good(lines, 3, probe.fault("second"))
    assert launch.checks[0].outcome == "wrong"
    taken = Counter(one.case for one in launch.samples)
    assert taken[9] == 20
    assert min(taken.values()) < 10 < max(taken[number] for number in range(8))


@pytest.mark.parametrize("fault", ["second", "hundredth", "one_count"])
def test_trials_find_what_a_check_does_not(probe: Probe, fault: str) -> None:
    """The 77 elements are 308 bytes; a check of 400 bytes sees nothing of any of these."""
    trial = "function=MPI_Allreduce type=MPI_INT op=MPI_SUM bytes=1000 least=20 calls=300"
    launch = run(probe, fault, f"case id=0 {trial}\n")
    assert launch.checks[0].outcome == "wrong"
    assert re.match(
        r"rank \d: call \d+ of 300, \d+ B, root 0(, [^:]+)?: element", launch.checks[0].detail
    )
    assert (launch.cases[0].calls, launch.cases[0].least, launch.cases[0].reps) == (300, 20, 0)
    assert launch.samples == []


CIRCUMSTANCES = {
    "odd_address": r"buffers at offsets \d+ and ([1-79]|1[0-5])\b",
    "in_place": "in place",
    "other_comm": "(duplicated|reversed) communicator|half of the ranks",
    "half": "half of the ranks",
    "derived": "sent .*, received (with gaps|packed|as one element)",
    "late": "",
}


FAULTS = [*CIRCUMSTANCES, "backwards", "last_root"]


@pytest.mark.parametrize(
    ("fault", "function", "ranks"),
    [
        pytest.param(fault, function, ranks, marks=[pytest.mark.alone] * (fault in other_faults))
        for function, ranks, other_faults in (
            ("MPI_Allreduce", 4, ()),
            ("MPI_Gather", 2, ()),
            ("MPI_Allreduce", 2, FAULTS),
            ("MPI_Gather", 4, FAULTS),
        )
        for fault in FAULTS
        if (fault, function) not in {("backwards", "MPI_Gather"), ("last_root", "MPI_Allreduce")}
    ],
)
def test_trials_are_made_where_a_rule_matches(
    probe: Probe, fault: str, function: str, ranks: int
) -> None:
    """The detail names the circumstance."""
    call = f"function={function} type=MPI_BYTE op=MPI_BXOR bytes=512"
    launch = probe.good(f"case id=0 {call} least=8 calls=1000\n", ranks, probe.fault(fault))
    words = {"backwards": "does not commute", "last_root": r"root \d"} | CIRCUMSTANCES
    assert launch.checks[0].outcome == "wrong"
    assert re.search(words[fault], launch.checks[0].detail), launch.checks[0].detail


@pytest.mark.parametrize("ranks", by_default([3], [2, 4]))
def test_counts_that_are_not_equal(probe: Probe, ranks: int) -> None:
    """A case has the counts of its shape, and a trial draws shapes and names them."""
    call = "function=MPI_Allgatherv bytes=512 type=MPI_INT"
    shapes = ("equal", "linear", "last", "half")
    lines = [f"case id={number} {call} counts={name}" for number, name in enumerate(shapes)]
    lines.append(f"case id=4 {call} least=64 calls=200")
    launch = probe.good("\n".join(lines) + "\n", ranks, probe.fault("uneven"))
    outcomes = [launch.checks[number].outcome for number in range(5)]
    assert outcomes == ["ok", "wrong", "wrong", "wrong", "wrong"]
    assert {one.case for one in launch.samples} == {0}
    words = "growing counts|all in the last rank|every other rank empty"
    assert re.search(words, launch.checks[4].detail), launch.checks[4].detail
    right = probe.good("\n".join(lines) + "\n", ranks)
    assert {one.outcome for one in right.checks.values()} == {"ok"}


def test_a_barrier_that_does_not_wait(probe: Probe) -> None:
    trial = "function=MPI_Barrier bytes=0 calls=300"
    launch = run(probe, "open", f"case id=0 function=MPI_Barrier bytes=0\ncase id=1 {trial}\n")
    seldom = run(
        probe, "seldom_open", f"case id=0 function=MPI_Barrier bytes=0\ncase id=1 {trial}\n"
    )
    assert [one.outcome for one in launch.checks.values()] == ["wrong", "wrong"]
    assert re.match(r"rank \d: rank \d had left before this one entered", launch.checks[0].detail)
    assert seldom.checks[1].outcome == "wrong" and launch.samples == []


@pytest.mark.parametrize("ranks", by_default([2], [4]))
def test_trials_over_a_wide_range_have_few_large_volumes(probe: Probe, ranks: int) -> None:
    """One call in a hundred is wrong, in a range whose ends are far apart."""
    call = ALLREDUCE.partition(" bytes")[0]
    line = f"case id=0 {call} bytes=4000000 least=64 mean=65536 calls=1000"
    launch = probe.good(f"{line}\n", ranks, probe.fault("hundredth"))
    assert launch.checks[0].outcome == "wrong"


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_trials_of_every_function_are_right(probe: Probe, ranks: int) -> None:
    """What a rank computes alone is what the library gives: all functions, types and roots."""
    functions = [one["name"] for one in probe.known()["functions"]]
    kinds = ["type=MPI_BYTE op=MPI_BXOR", "type=MPI_DOUBLE op=MPI_SUM", "type=MPI_INT op=MPI_PROD"]
    lines = [
        f"case id={number} function={function} bytes=3000 least=0 calls=25 {kind}"
        for number, (function, kind) in enumerate(itertools.product(functions, kinds))
    ]
    launch = probe.good("\n".join(lines), ranks)
    assert {one.outcome for one in launch.checks.values()} == {"ok"}, launch.checks
    assert len(launch.checks) == len(lines)


def test_trials_on_fewer_ranks_are_right_beside_those_on_all(probe: Probe) -> None:
    call = "function=MPI_Allreduce type=MPI_INT op=MPI_SUM bytes=400 least=4 calls=200"
    launch = probe.good(f"case id=0 {call}\ncase id=1 {call} ranks=3\n", 4)
    assert [one.outcome for one in launch.checks.values()] == ["ok", "ok"], launch.checks


def test_a_mockup_feels_what_it_is_made_of(probe: Probe) -> None:
    launch = run(
        probe,
        "wrong",
        "case id=0 function=MPI_Reduce_scatter variant=reduce_scatter_as_allreduce type=MPI_INT "
        "op=MPI_SUM bytes=400 reps=1",
    )
    assert launch.checks[0].outcome == "wrong"


def test_buffers_that_are_not_significant(probe: Probe) -> None:
    launch = run(
        probe,
        "not_significant",
        "case id=0 function=MPI_Gather bytes=300 root=0 reps=1\n"
        "case id=1 function=MPI_Gather bytes=300 root=2 reps=1\n",
    )
    assert launch.checks[0].outcome == "wrong"
    assert "not significant" in launch.checks[0].detail
    assert launch.checks[1].outcome == "ok"


def test_what_the_standard_leaves_undefined(probe: Probe) -> None:
    launch = run(probe, "undefined", "case id=0 function=MPI_Exscan bytes=300 reps=1\n")
    assert launch.checks[0].outcome == "ok"
