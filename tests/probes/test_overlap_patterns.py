"""Overlap cells of more ranks, several requests and collectives: who takes times, that data come,
and that it is seen where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db.probe_records import Overlap
from tests import busy
from tests.probes.launch import Launch, Probe
from tests.sampled import by_default

pytestmark = pytest.mark.mpi


def line(number: int, bench: str, more: str = "", size: int = 5000) -> str:
    return f"overlap id={number} bench={bench} bytes={size} work_ns=5000 triples=3 {more}\n"


def overlaps(launch: Launch) -> list[Overlap]:
    assert launch.code == 0, launch.stderr
    return launch.of(Overlap)


def all_times(one: Overlap) -> bool:
    lists = (one.communication_ns, one.computation_ns, one.both_ns)
    return all(len(times) == 3 and min(times) > 0 for times in lists)


@pytest.mark.parametrize("ranks", by_default([3], [2]))
def test_with_all_peers_at_once_rank_0_takes_the_time(probe: Probe, ranks: int) -> None:
    wanted = [(bench, count) for bench in ("fan_out", "fan_in") for count in (1, 4, 16)]
    plan = [line(n, bench, f"requests={count}") for n, (bench, count) in enumerate(wanted)]
    found = sorted(overlaps(probe.run("".join(plan), ranks)), key=lambda one: one.cell)
    assert [(one.bench, one.requests) for one in found] == wanted
    assert all(one.delivered and one.rank == 0 and all_times(one) for one in found)


def test_around_a_ring_every_rank_takes_its_time(probe: Probe) -> None:
    plan = line(0, "ring") + line(1, "ring", "requests=16 test_ns=1000", 100_000)
    found = overlaps(probe.run(plan, 3))
    assert sorted((one.cell, one.rank) for one in found) == [
        (c, r) for c in (0, 1) for r in (0, 1, 2)
    ]
    assert all(one.delivered and one.latencies == 1 and all_times(one) for one in found)


def test_many_requests_to_one_peer(probe: Probe) -> None:
    benches = ("sender", "receiver", "both", "vector", "structure", "overhead")
    plan = [line(n, bench, "requests=16") for n, bench in enumerate(benches)]
    plan.append(line(6, "sender", "requests=1024", 8))
    found = overlaps(probe.run("".join(plan), 2))
    assert all(one.delivered and all_times(one) for one in found) and len(found) == 7


@pytest.mark.parametrize("ranks", by_default([3], [2]))
def test_every_collective_beside_work(probe: Probe, ranks: int) -> None:
    """A size that no number of ranks divides: what blocks of equal length pad is sent too."""
    names = [one["name"] for one in probe.known()["functions"] if one["name"] != "MPI_Reduce_local"]
    assert len(names) == 16
    plan = "".join(
        line(n, "collective", f"function={name}", 0 if name == "MPI_Barrier" else 10_001)
        for n, name in enumerate(names)
    )
    found = overlaps(probe.run(plan, ranks))
    assert sorted((names.index(one.function), one.rank) for one in found) == [
        (n, rank) for n in range(16) for rank in range(ranks)
    ]
    for one in found:
        assert one.delivered and all_times(one), one.function
        blocks = one.function in ("MPI_Gather", "MPI_Alltoall", "MPI_Reduce_scatter_block")
        if one.function == "MPI_Bcast":
            assert one.sent == 10_001
        if blocks:
            assert one.sent == -(-10_001 // ranks) * ranks


@pytest.mark.alone
@pytest.mark.parametrize("mode", ["perfect", "serial"])
@pytest.mark.parametrize("bench", ["fan_out requests=2", "collective function=MPI_Allreduce"])
def test_a_library_whose_overlap_is_known(
    probe: Probe, progress: Path, bench: str, mode: str
) -> None:
    """Messages of 300 us beside 600 us of work: the shortest of 200 times, as others use the
    cores too."""
    known = {"LD_PRELOAD": str(progress), "PROGRESS": mode, "PROGRESS_NS": "300000"}
    line = f"overlap id=0 bench={bench} bytes=8 work_ns=600000 triples=200\n"

    def check() -> None:
        for one in overlaps(probe.run(line, 2, environment=known)):
            assert min(one.communication_ns) == pytest.approx(300_000, rel=0.1)
            beyond = min(one.both_ns) - min(one.computation_ns)
            assert beyond == pytest.approx(300_000 if mode == "serial" else 0, abs=40_000)

    busy.patiently(check)


@pytest.mark.parametrize(
    ("bench", "how", "where"),
    [
        ("sender", "flip", 2),
        ("receiver", "flip", 0),
        ("fan_out", "flip", 1),
        ("fan_in", "flip", 0),
        ("fan_in", "swap", 0),
        ("ring", "flip", 1),
        ("ring requests=2", "swap", 2),
        ("collective function=MPI_Allreduce", "flip", 2),
    ],
)
def test_wrong_data_on_one_rank_are_seen(
    probe: Probe, corrupt: Path, bench: str, how: str, where: int
) -> None:
    """A last byte that is another; messages of two peers in each other's place."""
    name, _, more = bench.partition(" ")
    known = {"LD_PRELOAD": str(corrupt), "CORRUPT": how}
    found = overlaps(probe.run(line(0, name, more), 3, known | {"CORRUPT_RANK": str(where)}))
    assert found and not any(one.delivered or one.both_ns for one in found)


def test_what_is_corrupted_on_a_rank_that_sleeps_is_not(probe: Probe, corrupt: Path) -> None:
    """The library that the test above preloads does no harm by itself."""
    known = {"LD_PRELOAD": str(corrupt), "CORRUPT": "flip", "CORRUPT_RANK": "1"}
    (one,) = overlaps(probe.run(line(0, "both"), 3, known))
    assert one.delivered


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (line(0, "collective"), "add function=MPI_Bcast"),
        (line(0, "ring", "function=MPI_Bcast"), "ring calls none"),
        (line(0, "collective", "function=MPI_Reduce_local"), "no non-blocking form"),
        (line(0, "collective", "function=MPI_Barrier"), "write bytes=0"),
        (line(0, "collective", "function=MPI_Bcast requests=2"), "one operation at a time"),
        (line(0, "collective", "function=MPI_Broadcast"), "no such function"),
        (line(0, "sender", "requests=1025"), "1024"),
        (line(0, "sender", "requests=0"), "from 1"),
        (line(0, "sender", "requests=16", 1 << 30), "needs 16384 MiB"),
        (line(0, "fan_in", "requests=3", 1 << 30), "needs 6144 MiB"),
        (line(0, "fan_in") + line(1, "ring"), "a plan of its own"),
    ],
)
def test_plans_that_make_no_sense(probe: Probe, lines: str, said: str) -> None:
    probe.refuses(lines, said)


def test_memory_is_counted_for_the_ranks_there_are(probe: Probe) -> None:
    probe.refuses(line(0, "fan_out", "requests=512", 4 << 20), "needs 6144 MiB", ranks=3)
