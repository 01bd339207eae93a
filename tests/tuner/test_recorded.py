"""Files of ranks become one record. What the preload library writes into them is tested where it is
(tests/collectives_alt/test_calls.py)."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest

from plumbline.recorded import Rank, application, ranks
from plumbline_db.errors import PlumblineError

BCAST = ("MPI_Bcast", 4, 1, 4, 1024)


def rank(number: int, *calls: tuple[tuple[str, int, int, int, int], tuple[int, int, int]]) -> Rank:
    return Rank(7, number, 4, True, 10**9, 0, "Open MPI v4.1.4", dict(calls))


def merged(*found: Rank) -> dict[tuple[str, int | None], tuple[float, float, float]]:
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


def test_files_that_are_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "host-1-0.calls"
    names = b"".join(name.ljust(32, b"\0") for name in (b"MPI_Barrier", b"MPI_Bcast"))
    header = struct.pack(
        "=8s4I4i3q256s", b"PLCALLS1", 1, 320 + 64, 48, 2, 3, 4, 2, 1, 7, 9, 0, b"Open MPI"
    )
    entries = struct.pack("=4q4i", 1024, 10, 900, 80, 1, 4, 1, 4) + bytes(48)
    path.write_bytes(header + names + entries)
    (found,) = ranks(tmp_path)
    assert found == Rank(7, 3, 4, True, 9, 0, "Open MPI", {BCAST: (10, 900, 80)})
    for spoilt in (
        (header + names + entries)[:-1],
        header[:100],
        b"",
        header.replace(b"PLCALLS1", b"PLCALLS2") + names + entries,
        header + names + struct.pack("=4q4i", 1024, 10, 900, 80, 2, 4, 1, 4) + bytes(48),
    ):
        path.write_bytes(spoilt)
        with pytest.raises(PlumblineError, match=r"host-1-0\.calls: no record of calls"):
            ranks(tmp_path)
