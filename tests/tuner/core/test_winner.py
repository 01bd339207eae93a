"""Winners hold for sizes, reach cells, and are compared far above the measured sizes."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.core.cell import Side
from plumbline.core.winner import (
    FAR_BYTES,
    changed_between,
    far_sizes,
    functions_built_on,
    is_in_force,
    islands,
    joined_ranges,
    side_changes,
    with_measured_range,
)
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Tried, Winner
from tests.db import build
from tests.exporters.bundles import tuned, variant
from tests.tuner.simulated import GUIDELINES

BUILT_ON = functions_built_on(GUIDELINES)
RING = tuned("MPI_Allreduce", "ring", 0, 1024)
OURS = variant("MPI_Gather", "gather_linear", 64, 64)
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
    known = with_measured_range(what, SIZES)
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
    (one,) = joined_ranges([right, left], sizes)
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
        assert joined_ranges(winners, {"MPI_Bcast": [8, 512]}) == winners


@pytest.mark.parametrize(
    ("winner", "side", "reached"),
    [
        (RING, Side("MPI_Allreduce", "default", 64), True),
        (RING, Side("MPI_Allreduce", "default", 4096), True),  # a variable may turn off more
        (RING, Side("MPI_Gather", "default", 64), False),
        (RING, Side("MPI_Scatter", "scatter_as_bcast", 64), False),
        (RING, Side("MPI_Reduce", "reduce_as_allreduce", 4096), True),
        (RING, Side("MPI_Allreduce", "default", 2048, 2), True),
        (OURS, Side("MPI_Gather", "default", 64), True),
        (OURS, Side("MPI_Gather", "default", 4096), False),
        (OURS, Side("MPI_Allreduce", "default", 64), False),
        (OURS, Side("MPI_Gather", "gather_as_nobody_knows", 4096), True),
        # Calls inside a mock-up have its volume, but for whole elements in a block a rank.
        (OURS, Side("MPI_Allgather", "allgather_as_gather_plus_bcast", 64), True),
        (OURS, Side("MPI_Allgather", "allgather_as_gather_plus_bcast", 128), True),
        (OURS, Side("MPI_Allgather", "allgather_as_gather_plus_bcast", 129), False),
        (OURS, Side("MPI_Gather", "gather_as_split:pieces=2", 128), True),
        (OURS, Side("MPI_Gather", "gather_as_split:pieces=2", 512), False),
        (OURS, Side("MPI_Gather", "default", 4096, 2), True),
    ],
)
def test_what_a_winner_reaches(winner: Winner, side: Side, reached: bool) -> None:
    assert side_changes([winner], side, BUILT_ON, [winner]) is reached
    assert not side_changes([], side, BUILT_ON, [winner])


@pytest.mark.parametrize(
    ("mockup", "calls_on", "reached"),
    [
        ("scatter_as_bcast", "bcast_as_scatter_plus_allgather", True),  # by way of Allgather
        ("scatter_as_bcast", "bcast_chain", False),
        ("scatter_binomial", "bcast_as_scatter_plus_allgather", False),
        ("scatter_as_nobody_knows", "bcast_chain", True),
    ],
)
def test_a_winner_reaches_what_is_made_of_its_function(
    mockup: str, calls_on: str, reached: bool
) -> None:
    """A mock-up that stands in for a call, and the mock-up inside it."""
    new = variant("MPI_Allgather", "allgather_ring", 64, 4096)
    around = [variant("MPI_Scatter", mockup, 64, 64), variant("MPI_Bcast", calls_on, 1, 64), new]
    side = Side("MPI_Scatter", "default", 64)
    assert side_changes([new], side, {}, around) is reached
    assert not side_changes([new], side, {}, [new])
    assert not side_changes([new], Side("MPI_Scatter", "default", 4096), {}, around)
    if mockup == "scatter_as_bcast":
        by_name = Side("MPI_Scatter", mockup, 4096)
        assert side_changes([new], by_name, {}, around) is reached


def test_a_right_side_is_in_force_where_a_winner_is_that_variant() -> None:
    left, right = (Side(OURS.function, name, OURS.bytes_from) for name in ("default", OURS.variant))
    assert is_in_force([OURS], left, right)
    assert not is_in_force([], left, right)
    assert not is_in_force([OURS], right, right)
    assert not is_in_force([RING], left, Side(left.function, "default", left.bytes))
    for changes in ({"ranks": 2}, {"bytes": OURS.bytes_to + 1}):
        assert not is_in_force([OURS], msgspec.structs.replace(left, **changes), right)


def test_what_differs_between_two_turns() -> None:
    other = tuned("MPI_Bcast", "chain", 64, 4096)
    faster = msgspec.structs.replace(RING, speedup=9.0)
    assert changed_between([RING, other], [faster, other]) == []
    assert changed_between([RING, other], [RING]) == [other]
    assert changed_between([RING], [RING, OURS]) is None  # the preload library comes in
    assert changed_between([RING, OURS], [OURS]) == [RING]
    assert changed_between([RING], [msgspec.structs.replace(RING, function="*")]) is None


def test_single_sizes_that_remove_nothing_are_islands() -> None:
    sizes = {"MPI_Gather": [8, 16, 32, 64, 128, 256], "MPI_Bcast": [8, 1024]}

    def lonely(function: str, first: int, last: int = UNBOUNDED_BYTES) -> Winner:
        return msgspec.structs.replace(winner(function, first, last), removes=[])

    alone = lonely("MPI_Gather", 23, 45)
    assert [island for island, _ in islands([alone], sizes)] == [alone]
    cure = msgspec.structs.replace(alone, removes=["GL2@32"])
    beside = lonely("MPI_Gather", 46, 90)
    two_sizes, of_two = lonely("MPI_Gather", 16, 45), lonely("MPI_Bcast", 0, 90)
    for kept in ([cure], [alone, beside], [two_sizes], [of_two], [lonely(EVERY_FUNCTION, 0)]):
        assert islands(kept, sizes) == []
