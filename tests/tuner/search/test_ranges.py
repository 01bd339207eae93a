"""Sizes of winners: how far above the measured ones they are compared, and what they say of it."""

from __future__ import annotations

import pytest

from plumbline.search.ranges import FAR_BYTES, far_sizes, with_measured
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner
from tests.db import build

SIZES = {"MPI_Bcast": [8, 1024], "MPI_Gather": [64, 102400], "MPI_Barrier": [0]}


def winner(function: str, first: int = 0, last: int = UNBOUNDED_BYTES, nprocs: int = 4) -> Winner:
    return build.winner(function=function, bytes_from=first, bytes_to=last, nprocs=nprocs)


@pytest.mark.parametrize(
    ("what", "sizes", "far"),
    [
        (winner("MPI_Gather"), SIZES["MPI_Gather"], [655360, FAR_BYTES]),
        (winner("MPI_Gather", 1024), SIZES["MPI_Gather"], [655360, FAR_BYTES]),
        (winner("MPI_Gather", 64, 102400), SIZES["MPI_Gather"], []),
        (winner("MPI_Barrier"), SIZES["MPI_Barrier"], []),
        (winner("MPI_Bcast"), [8, 8 << 20], []),
        # The buffers of all ranks are in one process of a simulated machine.
        (winner("MPI_Bcast", nprocs=1024), [1024], [1 << 15, 1 << 20]),
    ],
)
def test_far_sizes(what: Winner, sizes: list[int], far: list[int]) -> None:
    assert far_sizes(what, sizes) == far


@pytest.mark.parametrize(
    ("what", "measured"),
    [
        (winner("MPI_Gather"), (64, FAR_BYTES)),
        (winner("MPI_Gather", 100, 102400), (102400, 102400)),
        (winner(EVERY_FUNCTION), (0, FAR_BYTES)),
        (winner("MPI_Barrier"), (0, 0)),
    ],
)
def test_measured_sizes(what: Winner, measured: tuple[int, int]) -> None:
    known = with_measured(what, SIZES)
    assert (known.measured_from, known.measured_to) == measured
