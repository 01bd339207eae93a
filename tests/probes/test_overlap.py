"""Overlap cells: what they record, and ratios of a library whose overlap is known."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import pytest

from plumbline.overlap.metric import latency, ratio
from plumbline_db.probe_records import Overlap, OverlapLatency
from tests import busy
from tests.memory import memory_can_be_read
from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi
BENCHES = ["sender", "receiver", "both", "vector", "structure", "overhead", "late"]


def cells(launch: Launch) -> dict[int, Overlap]:
    if launch.code != 0:
        pytest.fail(launch.stderr)  # whoever else has the processors
    return {one.cell: one for one in launch.of(Overlap)}


def test_every_benchmark_delivers_and_keeps_all_times(probe: Probe) -> None:
    lines = "".join(
        f"overlap id={number} bench={name} bytes=1000 work_ns=20000 triples=7\n"
        for number, name in enumerate(BENCHES)
    )
    launch = probe.run(f"set seed=5\n{lines}", 2)
    found = cells(launch)
    assert [found[number].bench for number in range(len(BENCHES))] == BENCHES
    for one in found.values():
        assert one.delivered
        assert one.sent == (1024 if one.bench in ("vector", "structure") else 1000)
        for times in (one.communication_ns, one.computation_ns, one.both_ns):
            assert len(times) == 7 and all(0 < ns < 10**9 for ns in times)
    latencies = launch.of(OverlapLatency)
    assert [one.when for one in latencies] == ["start", "end"]
    assert all(len(one.ns) == 200 and min(one.ns) > 0 for one in latencies)


@pytest.mark.alone
@pytest.mark.parametrize("kernel", ["registers", "memory"])
def test_work_takes_about_what_was_asked_for(probe: Probe, kernel: str) -> None:
    """As calibrated a moment before; a factor of 2, for machines that others use too."""
    line = f"overlap id=0 bench=overhead bytes=8 work_ns=400000 kernel={kernel} triples=31\n"

    def check() -> None:
        (one,) = cells(probe.run(line, 2)).values()
        assert 200_000 < statistics.median(one.computation_ns) < 800_000
        assert one.units > 1

    busy.patiently(check)


def test_ranks_between_the_two_sleep(probe: Probe) -> None:
    (one,) = cells(
        probe.run("overlap id=3 bench=both bytes=8 work_ns=1000 triples=3\n", 4)
    ).values()
    assert one.cell == 3 and len(one.both_ns) == 3


def test_asked_now_and_then(probe: Probe) -> None:
    """The work is cut in the same pieces with and without a message."""
    line = "overlap id=0 bench=sender bytes=8 work_ns=100000 test_ns=10000 triples=5\n"
    (one,) = cells(probe.run(line, 2)).values()
    assert one.test_ns == 10000 and one.delivered


@pytest.mark.alone
@pytest.mark.parametrize(("mode", "expected"), [("perfect", 0.0), ("serial", 1.0)])
def test_a_library_whose_overlap_is_known(
    probe: Probe, progress: Path, mode: str, expected: float
) -> None:
    """Messages of 300 us beside less and more work than that."""
    lines = "".join(
        f"overlap id={number} bench=overhead bytes=8 work_ns={ns} triples=50\n"
        for number, ns in enumerate((150_000, 600_000))
    )
    known = {"LD_PRELOAD": str(progress), "PROGRESS": mode, "PROGRESS_NS": "300000"}

    def check() -> None:
        launch = probe.run(lines, 2, environment=known)
        found = cells(launch)
        for one in found.values():
            told = ratio([(one, latency(launch.records))])
            assert told is not None and not told.noisy
            assert told.communication == pytest.approx(300e-6, rel=0.1)
            assert told.value == pytest.approx(expected, abs=0.1), one.work_ns

    busy.patiently(check)


LINE = "overlap id=0 bench=sender bytes=1"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("overlap id=0 bench=sideways bytes=1 work_ns=1", "no such benchmark"),
        (LINE, "work_ns"),
        (f"{LINE} work_ns=1 kernel=gpu", "registers"),
        (f"{LINE} work_ns=1\n{LINE} work_ns=2", "same id"),
    ],
)
def test_plans_that_make_no_sense(probe: Probe, lines: str, said: str) -> None:
    probe.refuses(f"{lines}\n", said)


def test_one_rank_is_too_few(probe: Probe) -> None:
    probe.refuses(f"{LINE} work_ns=1\n", "two ranks", ranks=1)


@pytest.mark.alone
def test_who_copies_pays(probe: Probe) -> None:
    """Open MPI 4.1 within a node, where one process may read another's memory: the receiver copies,
    so that the sender's message goes on beside its work, and the receiver's does not. Without that
    both copy."""
    if not memory_can_be_read():
        pytest.skip("processes may not read each other's memory here (no CMA)")
    lines = "".join(
        f"overlap id={number} bench={name} bytes={size} work_ns={size // 6} triples=60\n"
        for number, (name, size) in enumerate(
            (name, size) for name in ("sender", "receiver") for size in (1 << 19, 1 << 21)
        )
    )

    def check(mechanism: str) -> None:
        knob = {"OMPI_MCA_btl_vader_single_copy_mechanism": mechanism}
        launch = probe.run(lines, 2, environment=knob)
        found = cells(launch)
        if not launch.header.library.startswith("Open MPI v4"):
            pytest.skip("not Open MPI 4")
        for one in found.values():
            told = ratio([(one, latency(launch.records))])
            assert told is not None
            if one.bench == "sender" and mechanism == "cma":
                assert told.value < 0.2, (one.bytes, told)
            else:
                assert told.value > 0.8, (mechanism, one.bench, one.bytes, told)

    for mechanism in ("cma", "none"):
        busy.patiently(partial(check, mechanism))
