"""Schedules of what every rank gets from every other, and reduces nothing: Allgather, Alltoall,
their sisters with unequal blocks (taken as equal), and Barrier."""

from __future__ import annotations

import math

from .costs import Cost, Messages, cost
from .schedules import (
    BRUCK,
    CIRCULANT,
    JEAUGEY,
    PJESIVAC,
    RUEFENACHT,
    THAKUR,
    Shape,
    aggregated,
    folded,
    groups,
    halves,
    levels,
    schedule,
)

ALLGATHER = ("MPI_Allgather", "MPI_Allgatherv")
ALLTOALL = ("MPI_Alltoall", "MPI_Alltoallv")
CHEN = (
    "J. Chen et al., Performance evaluation of Allgather algorithms on terascale Linux cluster "
    "with Fast Ethernet, HPC Asia 2005"
)
TUNA = (
    "K. Fan, J. Domke, S. Ba, S. Kumar, Configurable non-uniform all-to-all algorithms, HPDC 2025"
)
MELLOR = (
    "J. M. Mellor-Crummey, M. L. Scott, Algorithms for scalable synchronization on shared-memory "
    "multiprocessors, ACM Trans. Computer Systems 9, 1991"
)
PIECE_BYTES = 32768  # of the ring of allgatherv_adaptive
HENSGEN = (
    "D. Hensgen, R. Finkel, U. Manber, Two algorithms for barrier synchronization, Int. J. "
    "Parallel Programming 17, 1988"
)

# --- Allgather: the volume is all blocks together ------------------------------------------------


@schedule("ring", *ALLGATHER, source=THAKUR)
def ring_allgather(shape: Shape) -> Cost:
    """a ring of p - 1 rounds"""
    return cost(Messages(shape.nprocs - 1, shape.block))


@schedule("recursive_doubling", *ALLGATHER, source=THAKUR)
def doubling_allgather(shape: Shape) -> Cost:
    """exchanges with ranks 1, 2, 4 … apart, twice as much each time"""
    sizes = reversed(halves(shape.nprocs))
    return cost(*(Messages(1, each * shape.block) for each in sizes))


@schedule("bruck", *ALLGATHER, source=f"{BRUCK}; {THAKUR}")
def bruck_allgather(shape: Shape) -> Cost:
    """⌈log p⌉ rounds for any p, with one rank less than the radix in each"""
    radix = max(2, shape.radix)
    steps = [radix**level for level in range(levels(shape.nprocs, radix))]
    far = [(step, digit * step) for step in steps for digit in range(1, radix)]
    sizes = [min(step, shape.nprocs - away) for step, away in far if away < shape.nprocs]
    return cost(*(Messages(1, size * shape.block) for size in sizes))


@schedule("neighbor_exchange", *ALLGATHER, source=CHEN)
def neighbour_allgather(shape: Shape) -> Cost:
    """two blocks a step between neighbours, p / 2 steps"""
    if shape.nprocs % 2:
        return ring_allgather(shape)
    more = Messages(shape.nprocs // 2 - 1, 2 * shape.block)
    return cost(Messages(1, shape.block), more)


@schedule("aggregated_trees", *ALLGATHER, source=JEAUGEY)
def aggregated_allgather(shape: Shape) -> Cost:
    """trees in parallel, the far ranks first, with a limit of blocks a message"""
    sizes = aggregated(shape.nprocs, shape.blocks).items()
    return cost(*(Messages(many, each * shape.block) for each, many in sizes))


@schedule("recursive_multiplying", *ALLGATHER, source=RUEFENACHT)
def multiplying_allgather(shape: Shape) -> Cost:
    """exchanges in groups of up to as many ranks as the radix, with all they have"""
    sizes = groups(shape.nprocs, shape.radix)
    places = math.prod(sizes)
    had, rounds = shape.bytes / places, []
    for size in sizes:
        rounds.append(Messages(size - 1, had, "both"))
        had *= size
    if places < shape.nprocs:
        rounds += [Messages(1, shape.block), Messages(1, shape.bytes)]
    return cost(*rounds)


@schedule("pipelined_ring", "MPI_Allgatherv", source="the ring of Thakur et al. in pieces")
def pieces_allgather(shape: Shape) -> Cost:
    """a ring of pieces of all parts"""
    pieces = 1
    if 0 < shape.segment_bytes < shape.block:
        pieces = math.ceil(shape.block / shape.segment_bytes)
    return cost(Messages((shape.nprocs - 1) * pieces, shape.block / pieces))


@schedule("circulant", "MPI_Allgatherv", source=CIRCULANT)
def circulant_allgather(shape: Shape) -> Cost:
    """pieces of all parts on a circulant graph, in the fewest rounds; one piece: Bruck's rounds"""
    if shape.segments == 1:
        return bruck_allgather(Shape(shape.nprocs, shape.bytes))
    return cost(Messages(shape.levels + shape.segments - 1, shape.segment))


@schedule("by_volume", "MPI_Allgatherv", source=f"{BRUCK}; {THAKUR}")
def chosen_allgather(shape: Shape) -> Cost:
    """Bruck's algorithm for few bytes, a ring of pieces for many"""
    if shape.bytes < shape.limit_bytes:
        return bruck_allgather(shape)
    return pieces_allgather(Shape(shape.nprocs, shape.bytes, segment_bytes=PIECE_BYTES))


@schedule("gather_send", "MPI_Allgather", source="a message to rank 0 and one back for each rank")
def manual_allgather(shape: Shape) -> Cost:
    """all blocks to rank 0, which sends all of them to one rank after the other"""
    others = shape.nprocs - 1
    return cost(Messages(others, shape.block), Messages(others, shape.bytes, "out"))


@schedule("flood", *ALLGATHER, *ALLTOALL, source=THAKUR)
def flood(shape: Shape) -> Cost:
    """every rank sends to every other, all at once"""
    return cost(Messages(shape.nprocs - 1, shape.block, "both", shape.window))


@schedule("pairwise", *ALLGATHER, *ALLTOALL, source=THAKUR)
def pairwise(shape: Shape) -> Cost:
    """p - 1 exchanges, one partner at a time"""
    return cost(Messages(shape.nprocs - 1, shape.block))


@schedule("two_ranks", *ALLGATHER, *ALLTOALL, "MPI_Barrier", source="one message each way")
def two_ranks(shape: Shape) -> Cost:
    """one exchange"""
    return cost(Messages(1, shape.block))


@schedule("bruck", "MPI_Alltoall", source=f"{BRUCK}; {THAKUR}")
def bruck_alltoall(shape: Shape) -> Cost:
    """blocks travel by the digits of their distance, ⌈log p⌉ rounds for each other digit"""
    messages, radix = [], max(2, shape.radix)
    for level in range(levels(shape.nprocs, radix)):
        step = radix**level
        for digit in range(1, radix):
            carried = sum(1 for number in range(shape.nprocs) if number // step % radix == digit)
            messages.append(Messages(1 if carried else 0, carried * shape.block))
    return cost(*messages)


@schedule("tuna", "MPI_Alltoallv", source=TUNA)
def tuna_alltoall(shape: Shape) -> Cost:
    """short blocks by the digits of their distance with their lengths, long ones directly"""
    if shape.limit_bytes and shape.block > shape.limit_bytes:
        empty = Shape(shape.nprocs, 4.0 * shape.nprocs, radix=shape.radix)
        return bruck_alltoall(empty) + flood(shape)
    more = shape.bytes + 4 * shape.nprocs
    return bruck_alltoall(Shape(shape.nprocs, more, radix=shape.radix))


# --- Barrier: messages without content -----------------------------------------------------------


@schedule("linear", "MPI_Barrier", source=PJESIVAC)
def linear_barrier(shape: Shape) -> Cost:
    """all to rank 0, and back"""
    others = shape.nprocs - 1
    return cost(Messages(others, 0.0, "in"), Messages(others, 0.0, "out"))


@schedule("tree", "MPI_Barrier", source=PJESIVAC)
def tree_barrier(shape: Shape) -> Cost:
    """binomial tree, up and down"""
    return cost(Messages(2 * shape.levels, 0.0))


@schedule("k_ary", "MPI_Barrier", source=MELLOR)
def k_ary_barrier(shape: Shape) -> Cost:
    """k-ary tree, up and down"""
    ranks, depth, children = 1, 0, max(1, shape.radix)
    while ranks < shape.nprocs:
        ranks, depth = children * ranks + 1, depth + 1
    children = min(children, shape.nprocs - 1)
    down = Messages(children, 0.0, "out", rounds=depth)
    return cost(Messages(children * depth, 0.0), down)


@schedule("double_ring", "MPI_Barrier", source=PJESIVAC)
def ring_barrier(shape: Shape) -> Cost:
    """a token twice round the ring"""
    return cost(Messages(2 * shape.nprocs, 0.0))


@schedule("dissemination", "MPI_Barrier", source=HENSGEN)
def dissemination_barrier(shape: Shape) -> Cost:
    """⌈log2 p⌉ rounds, in round k to the rank 2^k further on"""
    return cost(Messages(shape.levels, 0.0))


@schedule("recursive_doubling", "MPI_Barrier", source=PJESIVAC)
def doubling_barrier(shape: Shape) -> Cost:
    """pairwise exchanges; ranks above a power of two join before and are told after"""
    more = 1 if folded(shape.nprocs) else 0  # ⌊log2 p⌋ exchanges, and two messages
    return cost(Messages(shape.levels + more, 0.0))
