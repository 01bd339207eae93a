"""Costs of schedules: against the numbers of papers, and against lower bounds that hold for all;
names.toml speaks of what there is."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.model import schedules
from plumbline.model.names import find
from plumbline.model.schedules import (
    MessageGroup,
    Network,
    Piece,
    Shape,
    aggregated,
    best_tree,
    bound,
    cost,
    formula,
    groups,
    halves,
    hockney,
    loggp,
    middle_deviation,
)

LATENCY_ALONE = Network((Piece(math.inf, 1.7e-6, 0.0),))
UNIT = Network((Piece(math.inf, 1.0, 0.0),))
BANDWIDTH_ALONE = Network((Piece(math.inf, 0.0, 1.0),))
REDUCTION_ALONE = Network((Piece(math.inf, 0.0, 0.0),), gamma_seconds_per_byte=1.0)


def seconds(network: Network, function: str, name: str, shape: Shape) -> float:
    return hockney(find(function, name).cost(shape), network)


def test_first_case_study_of_euro_par_2016() -> None:
    """Hunold et al., Euro-Par 2016, section 5.2: 32 ranks and a latency of 1.7 µs make 52.7 µs of
    the direct Gather, and 8.5 µs of the binomial tree."""
    shape = Shape(32, 128)
    assert seconds(LATENCY_ALONE, "MPI_Gather", "linear", shape) == pytest.approx(52.7e-6)
    assert seconds(LATENCY_ALONE, "MPI_Gather", "binomial", shape) == pytest.approx(8.5e-6)


# Rows of Thakur, Rabenseifner and Gropp 2005, for p = 16 and n = 1600: α, bytes, bytes reduced.
THAKUR: list[tuple[str, str, float, float, float]] = [
    ("MPI_Allgather", "ring", 15, 1500, 0),
    ("MPI_Allgather", "recursive_doubling", 4, 1500, 0),
    ("MPI_Allgather", "bruck", 4, 1500, 0),
    ("MPI_Bcast", "binomial", 4, 6400, 0),
    ("MPI_Bcast", "scatter_recursive_doubling", 8, 3000, 0),
    ("MPI_Bcast", "scatter_ring", 19, 3000, 0),
    ("MPI_Alltoall", "bruck", 4, 3200, 0),
    ("MPI_Alltoall", "pairwise", 15, 1500, 0),
    ("MPI_Reduce_scatter", "recursive_halving", 4, 1500, 1500),
    ("MPI_Reduce_scatter", "pairwise", 15, 1500, 1500),
    ("MPI_Reduce_scatter", "recursive_doubling", 4, 4900, 4900),
    ("MPI_Reduce", "binomial", 4, 6400, 6400),
    ("MPI_Reduce", "rabenseifner", 8, 3000, 1500),
    ("MPI_Allreduce", "recursive_doubling", 4, 6400, 6400),
    ("MPI_Allreduce", "rabenseifner", 8, 3000, 1500),
]


@pytest.mark.parametrize(("function", "name", "rounds", "sent", "reduced"), THAKUR)
def test_as_the_table_of_thakur_rabenseifner_gropp(
    function: str, name: str, rounds: float, sent: float, reduced: float
) -> None:
    shape = Shape(16, 1600)
    assert seconds(UNIT, function, name, shape) == pytest.approx(rounds)
    assert seconds(BANDWIDTH_ALONE, function, name, shape) == pytest.approx(sent)
    assert seconds(REDUCTION_ALONE, function, name, shape) == pytest.approx(reduced)


def test_segments_of_a_pipeline() -> None:
    """Pjesivac-Grbovic et al. 2007: (p + segments - 2) messages of a segment."""
    shape = Shape(8, 65536, segment_bytes=4096)
    assert formula(find("MPI_Bcast", "pipeline").cost(shape)) == "22 α + 88 KiB·β"
    whole = Shape(8, 65536)
    assert formula(find("MPI_Bcast", "pipeline").cost(whole)) == "7 α + 448 KiB·β"


@given(nprocs=st.integers(2, 200))
def test_the_children_of_a_binomial_tree_hold_all_other_ranks(nprocs: int) -> None:
    behind = halves(nprocs)
    assert sum(behind) == nprocs - 1 and min(behind) > 0
    assert len(behind) == math.ceil(math.log2(nprocs))


@given(nprocs=st.integers(2, 200), blocks=st.integers(0, 300))
def test_aggregated_trees_pass_each_block_once(nprocs: int, blocks: int) -> None:
    """Each rank gets the p - 1 other blocks, and no message has more than the limit."""
    messages = aggregated(nprocs, blocks)
    assert sum(each * many for each, many in messages.items()) == nprocs - 1
    assert not blocks or max(messages) <= blocks
    assert blocks or sum(messages.values()) == math.ceil(math.log2(nprocs))


def test_aggregated_trees_of_the_paper() -> None:
    """log2 A + P / A - 1 messages, with P the power of two from p on."""
    assert [sum(aggregated(32, most).values()) for most in (1, 2, 8, 16)] == [31, 16, 6, 5]
    assert sum(aggregated(21, 9).values()) == 6


@given(nprocs=st.integers(2, 200), radix=st.integers(2, 9))
def test_groups_of_recursive_multiplying(nprocs: int, radix: int) -> None:
    sizes = groups(nprocs, radix)
    assert all(2 <= size <= radix for size in sizes)
    assert math.prod(sizes) <= nprocs < 2 * math.prod(sizes)


NETWORKS = st.builds(
    lambda alpha, beta, gamma: Network(
        (Piece(math.inf, alpha, beta),), gamma_seconds_per_byte=gamma
    ),
    st.floats(0, 1e-3),
    st.floats(0, 1e-6),
    st.floats(0, 1e-6),
)


@settings(max_examples=60)
@given(
    nprocs=st.integers(2, 70),
    blocks=st.integers(0, 1000),
    segment=st.sampled_from([0, 64, 1000]),
    radix=st.integers(2, 5),
    network=NETWORKS,
)
def test_nothing_beats_the_lower_bound(
    nprocs: int, blocks: int, segment: int, radix: int, network: Network
) -> None:
    """The bounds hold for every algorithm, so that a formula that is below one is wrong."""
    for (function, name), one in schedules.TABLE.items():
        ranks = 2 if name == "two_ranks" else nprocs
        shape = Shape(ranks, ranks * blocks, segment_bytes=segment, radix=radix)
        least = bound(function, shape, network)
        assert least is not None
        assert hockney(one.cost(shape), network) >= least.seconds * (1 - 1e-9), (function, name)


@settings(max_examples=50)
@given(nprocs=st.integers(2, 70), size=st.integers(0, 10**6), gap=st.floats(0, 1e-3))
def test_loggp_is_never_above_hockney(nprocs: int, size: int, gap: float) -> None:
    network = Network((Piece(math.inf, 1e-5, 1e-9),), send_gap_seconds=gap, receive_gap_seconds=gap)
    for one in schedules.TABLE.values():
        path = one.cost(Shape(nprocs, size))
        assert loggp(path, network) <= hockney(path, network) * (1 + 1e-9)


def test_a_flood_follows_by_the_gap() -> None:
    network = Network((Piece(math.inf, 10.0, 1.0),), send_gap_seconds=2.0, receive_gap_seconds=3.0)
    into, out = cost(MessageGroup(5, 4, "in")), cost(MessageGroup(5, 4, "out"))
    assert hockney(into, network) == 5 * 14
    assert loggp(into, network) == 14 + 4 * (3 + 4)
    assert loggp(out, network) == 14 + 4 * (2 + 4)
    assert loggp(cost(MessageGroup(5, 4, "both")), network) == 14 + 4 * (2 + 3 + 4)
    assert loggp(cost(MessageGroup(5, 4, "out", rounds=3)), network) == 3 * (14 + 4 * (2 + 4))
    assert loggp(cost(MessageGroup(5, 4, "out", window=2)), network) == 14 + 4 * 7
    assert loggp(cost(MessageGroup(5, 4, "out", window=5)), network) == loggp(out, network)
    assert formula(cost(MessageGroup(5, 4, "out", rounds=3))) == "3 α + 12 g + 60 B·β"


def test_messages_take_what_was_measured() -> None:
    """Between two sizes on a straight line, beyond them as α + β m goes on."""
    network = Network((Piece(math.inf, 10.0, 1.0),), measured=((8, 20.0), (16, 60.0)))
    assert [network.message(size) for size in (0, 8, 10, 16, 20)] == [12, 20, 30, 60, 64]
    assert network.line(8) == 18
    path = cost(MessageGroup(2, 8))
    assert (hockney(path, network), loggp(path, network)) == (36, 40)


def test_protocols_change_with_the_size() -> None:
    network = Network((Piece(1000, 1.0, 0.001), Piece(math.inf, 5.0, 0.0001)))
    assert network.message(1000) == 2.0 and network.message(10000) == 6.0


def test_formulas_are_short() -> None:
    assert formula(cost()) == "0"
    assert formula(cost(MessageGroup(5, 0))) == "5 α" and formula(cost(MessageGroup(1, 0))) == "α"
    assert formula(cost(MessageGroup(2, 512), MessageGroup(0, 9), reduced=1536)) == (
        "2 α + 1 KiB·β + 1.5 KiB·γ"
    )


def test_too_long_and_too_short_are_equally_far_off() -> None:
    assert middle_deviation([1.0, -0.5]) == 2.0
    assert middle_deviation([]) is None


@pytest.mark.parametrize(
    ("function", "nprocs", "size", "expected"),
    [
        # Chan et al. 2007, table 1, p = 8 and n = 800.
        ("MPI_Bcast", 8, 800, (3, 800, 0)),
        ("MPI_Reduce", 8, 800, (3, 800, 700)),
        ("MPI_Scatter", 8, 800, (3, 700, 0)),
        ("MPI_Gather", 8, 800, (3, 700, 0)),
        ("MPI_Allgather", 8, 800, (3, 700, 0)),
        ("MPI_Reduce_scatter", 8, 800, (3, 700, 700)),
        ("MPI_Allreduce", 8, 800, (3, 1400, 700)),
    ],
)
def test_bounds(function: str, nprocs: int, size: int, expected: Any) -> None:
    found = bound(function, Shape(nprocs, size), UNIT)
    assert found is not None
    assert (found.rounds, found.bytes, found.reduced_bytes) == expected
    assert found.seconds == found.latency_seconds == 3.0 and found.term == "latency"


@pytest.mark.parametrize(
    ("nprocs", "gap", "expected"),
    [
        # Karp et al. 1993, figure 1: p = 8, L = 6, o = 2, g = 4 take 24; α is L + 2 o.
        (8, 4.0, 24.0),
        (8, 10.0, 30.0),
        (9, 10.0, 40.0),
        (8, 0.0, 10.0),
        (1, 1.0, 0.0),
    ],
)
def test_the_best_tree(nprocs: int, gap: float, expected: float) -> None:
    assert best_tree(nprocs, 10.0, gap) == expected


def test_messages_that_overlap_lower_the_bound() -> None:
    network = Network((Piece(math.inf, 10.0, 0.0),), send_gap_seconds=4.0)
    found = bound("MPI_Bcast", Shape(8, 0), network)
    assert found is not None
    assert (found.rounds_seconds, found.latency_seconds) == (30.0, 24.0)


def test_no_bound_is_known_of_other_functions() -> None:
    assert bound("MPI_Alltoallw", Shape(4, 8), UNIT) is None
    assert bound("MPI_Bcast", Shape(1, 8), UNIT) is None
