"""Sizes of winners: how far above the measured ones they are compared, and what they say of it."""

from __future__ import annotations

import pytest

from plumbline.search.ranges import FAR_BYTES, far_sizes, joined, with_measured
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Tried, Winner
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


def tried(cells: int, speedup: float, worst: float) -> Tried:
    return Tried("stream", "MPI_BYTE", "", "core", cells, speedup, speedup, worst)


def test_adjoining_ranges_of_one_configuration_are_one() -> None:
    sizes = {"MPI_Bcast": [8, 64, 512, 4096]}
    ours = {"function": "MPI_Bcast", "variant": "bcast_chain"}
    left = build.winner(
        **ours, bytes_from=8, bytes_to=181, speedup=2.0, removes=["GL1@8"], tried=[tried(2, 2, 1.5)]
    )
    right = build.winner(
        **ours,
        bytes_from=182,
        bytes_to=600,
        speedup=8.0,
        removes=["GL2@512"],
        tried=[tried(1, 8, 7)],
    )
    (one,) = joined([right, left], sizes)
    assert (one.bytes_from, one.bytes_to, one.removes) == (8, 600, ["GL1@8", "GL2@512"])
    assert one.speedup == pytest.approx(32 ** (1 / 3))  # 2 at two cells, 8 at one
    (pooled,) = one.tried
    assert (pooled.cells, pooled.worst_low) == (3, 1.5)
    assert pooled.speedup == pytest.approx(one.speedup)


def test_what_lies_apart_or_differs_stays_as_it_is() -> None:
    ours = {"function": "MPI_Bcast", "variant": "bcast_chain"}
    gap = [
        build.winner(**ours, bytes_from=8, bytes_to=181),
        build.winner(**ours, bytes_from=183, bytes_to=600),
    ]
    narrowed = [
        build.winner(**ours, bytes_from=8, bytes_to=181, restrictions=["type=floating"]),
        build.winner(**ours, bytes_from=182, bytes_to=600),
    ]
    other = [
        build.winner(**ours, bytes_from=8, bytes_to=181),
        build.winner(function="MPI_Bcast", variant="bcast_flat", bytes_from=182, bytes_to=600),
    ]
    reversed_ones = other[::-1]
    for winners in (gap, narrowed, other, reversed_ones):
        assert joined(winners, {"MPI_Bcast": [8, 512]}) == winners
