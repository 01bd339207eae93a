"""Files of nodes become one record. What the preload library writes into them is tested where it is
(tests/collectives_alt/test_calls.py)."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest

from plumbline.results.profiling import ProfiledRank, UsedCalls, application, ranks
from plumbline_db.errors import PlumblineError

BCAST = ("MPI_Bcast", 4, 1, 4, 1024)


def rank(
    number: int, *calls: tuple[tuple[str, int, int, int, int], tuple[int, int, int]]
) -> ProfiledRank:
    return ProfiledRank(7, number, 4, True, 10**9, 0, "Open MPI v4.1.4", dict(calls))


def merged(*found: ProfiledRank) -> dict[tuple[str, int | None], tuple[float, float, float]]:
    whole = application(found, version="", command=[], started="", status=0)
    return {
        (one.function, one.bytes): (one.calls, one.seconds, one.fastest_seconds)
        for one in whole.calls
    }


def test_a_rank_on_the_average() -> None:
    """The fastest call is that of the rank that waits longest even then: a root is away at once."""
    found = merged(
        rank(0, (BCAST, (10, 4_000, 100))),
        *(rank(number, (BCAST, (10, 8_000, 500 + number))) for number in (1, 2, 3)),
    )
    assert found == {("MPI_Bcast", 1024): (10.0, pytest.approx(7e-6), pytest.approx(503e-9))}


def test_a_communicator_of_some_ranks() -> None:
    half = ("MPI_Bcast", 2, 1, 2, 8)
    found = merged(rank(0, (half, (100, 1_000, 9))), rank(1, (half, (100, 1_000, 9))))
    assert found["MPI_Bcast", 8][:2] == (50.0, pytest.approx(0.5e-6))


def test_an_unknown_volume() -> None:
    found = merged(rank(0, (("MPI_Bcast", 2, 0, 0, -1), (4, 1_000, 9))))
    assert list(found) == [("MPI_Bcast", None)]


def test_a_call_that_was_waited_for_is_not_slow() -> None:
    """One call of 256 bytes took 8 ms; one of 8 takes 100 ns, one of 1 KiB 2 µs."""
    small, middle, large = (("MPI_Reduce", 4, 1, 4, size) for size in (8, 256, 1024))
    single = ("MPI_Gather", 4, 1, 4, 256)
    calls = [(small, (50, 90_000, 100)), (middle, (1, 8_000_000, 8_000_000))]
    calls += [(large, (10, 70_000, 2_000)), (single, (1, 8_000_000, 8_000_000))]
    found = application(
        [rank(number, *calls) for number in range(4)], version="", command=[], started="", status=0
    )
    work = {(one.function, one.bytes): one.work_seconds for one in found.calls}
    assert work == {
        ("MPI_Reduce", 8): pytest.approx(5e-6),
        ("MPI_Reduce", 256): pytest.approx(2e-6),  # no more than 1 KiB takes
        ("MPI_Reduce", 1024): pytest.approx(20e-6),
        ("MPI_Gather", 256): pytest.approx(8e-3),  # nothing else says how long it takes
    }
    fewer = application([rank(0, *calls[:2])], version="", command=[], started="", status=0)
    assert fewer.calls[1].work_seconds == pytest.approx(32 * 100e-9 / 4)  # 32 pieces of 8 bytes


def test_many_volumes_become_few() -> None:
    calls = [(("MPI_Bcast", 4, 1, 4, size), (1, 10 * size, 10 * size)) for size in range(1, 2001)]
    found = merged(*(rank(number, *calls) for number in range(4)))
    assert len(found) <= 64
    assert sum(one[0] for one in found.values()) == pytest.approx(2000)
    sizes = sorted(size or 0 for _, size in found)
    assert sizes[:8] == [1, 2, 3, 4, 5, 6, 7, 9] and sizes[-1] == 2000
    assert all(larger / smaller <= 1.34 for smaller, larger in pairwise(sizes[6:]))
    at_end = found["MPI_Bcast", 2000]
    assert at_end[0] == 2000 - 1792 + 1  # 1792 = 7 x 256 begins the last quarter
    few = merged(rank(0, *calls[:64]))
    assert len(few) == 64


def test_what_is_sent_and_how_far_apart_ranks_enter() -> None:
    """The datatype and the count shape with most time; where no rank knows them, others may."""
    key = ("MPI_Gatherv", 3, 2, 2, 1024)

    def with_uses(number: int, node: str, *uses: UsedCalls) -> ProfiledRank:
        ns = sum(use.ns for use in uses)
        calls = {key: (10, ns, 10)}
        return ProfiledRank(7, number, 3, True, 10**9, 0, "", calls, {key: list(uses)}, node)

    root = [
        UsedCalls("MPI_INT", "linear", 100, 3, {1: 1000, 2: 5000}),
        UsedCalls("MPI_DOUBLE", "last", 500, 3, {1: 100, 5: 700}),
    ]
    leaf = [
        UsedCalls("MPI_INT", "linear", 100, 0, {1: 1010, 2: 5030}),
        UsedCalls("MPI_DOUBLE", "last", 100, 0, {1: 140, 6: 700}),
    ]
    distant = UsedCalls("MPI_INT", "", 550, 0, {1: 9_000_000})
    ranks = [
        with_uses(0, "a", *root),
        with_uses(1, "a", *leaf),
        with_uses(2, "b", distant),
    ]
    (found,) = application(ranks, version="", command=[], started="", status=0).calls
    assert (found.type, found.counts) == ("MPI_INT", "last")
    assert found.following == 2.0
    assert found.spread_seconds == pytest.approx(30e-9)  # of 10, 30 and 40: the second rank's call
    alone = application(ranks[2:], version="", command=[], started="", status=0).calls[0]
    assert (alone.counts, alone.spread_seconds) == ("", None)


def slot(rank: int, *entries: tuple[int, ...], present: int = 1, used: int | None = None) -> bytes:
    names = b"".join(name.ljust(32, b"\0") for name in (b"MPI_Barrier", b"MPI_Bcast"))
    numbers = (312 + 64, 192, len(entries) if used is None else used, present, rank, 4, 2, 1, 7, 9)
    header = struct.pack("=4I4i3q256s", *numbers, 0, b"Open MPI")
    return header + names + b"".join(struct.pack("=q6i4q16q", *entry) for entry in entries)


FLOATING_8, DERIVED = 1 << 17 | 8, 1 << 22 | 8


def used(
    function: int = 1, type: int = FLOATING_8, shape: int = 1, following: int = 5
) -> tuple[int, ...]:
    """Ten calls of MPI_Bcast; when two of them began is known."""
    samples = (1, 2, *[0] * 6, 100, 200, *[0] * 6)
    return (1024, function, 4, 1, 4, type, shape, 10, 900, 80, following, *samples)


def file_of(*slots: bytes, magic: bytes = b"PLCALLS3", slot_bytes: int = 1024) -> bytes:
    head = struct.pack("=8s3I", magic, 1, slot_bytes, len(slots)).ljust(65536, b"\0")
    return head + b"".join(one.ljust(1024, b"\0") for one in slots[:-1]) + slots[-1]


def test_a_file_of_a_node(tmp_path: Path) -> None:
    """The second rank has ended before it began; what the last one uses is all there is of it."""
    path = tmp_path / "host-1-0.calls"
    entry, another = used(type=FLOATING_8, shape=3), used(type=DERIVED, shape=0)
    path.write_bytes(file_of(slot(3, entry, another), slot(2, present=0), slot(1)))
    began_ns = {1: 100, 2: 200}
    uses = [
        UsedCalls("MPI_DOUBLE", "last", 900, 5, began_ns),
        UsedCalls("derived", "", 900, 5, began_ns),
    ]
    name = path.name
    assert ranks(tmp_path) == [
        ProfiledRank(7, 3, 4, True, 9, 0, "Open MPI", {BCAST: (20, 1800, 80)}, {BCAST: uses}, name),
        ProfiledRank(7, 1, 4, True, 9, 0, "Open MPI", {}, node=name),
    ]
    for corrupted in (
        file_of(slot(3, entry))[:-1],
        file_of(slot(3, entry)[:100]),
        b"",
        file_of(slot(3, entry), magic=b"PLCALLS1"),
        file_of(slot(3, entry), slot_bytes=8),
        file_of(slot(3, entry, used=100)),
        file_of(slot(4)),
        file_of(slot(3, used(function=2))),
        file_of(slot(3, used(shape=5))),
        file_of(slot(3, used(following=11))),
    ):
        path.write_bytes(corrupted)
        with pytest.raises(PlumblineError, match=r"host-1-0\.calls: no record of calls"):
            ranks(tmp_path)
