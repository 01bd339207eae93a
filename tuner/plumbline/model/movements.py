"""Schedules of what has a root and reduces nothing: Bcast, Scatter, Gather and their sisters with
unequal blocks, which are taken as equal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from plumbline.model.schedules import CriticalPath, Flood, MessageGroup, cost

from .schedules import (
    BRUCK,
    CHAN,
    CIRCULANT,
    JEAUGEY,
    PJESIVAC,
    RUEFENACHT,
    SANDERS,
    THAKUR,
    Shape,
    aggregated,
    binary_steps,
    chain_messages,
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
def ring_allgather(shape: Shape) -> CriticalPath:
    """a ring of p - 1 rounds"""
    return cost(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("recursive_doubling", *ALLGATHER, source=THAKUR)
def doubling_allgather(shape: Shape) -> CriticalPath:
    """exchanges with ranks 1, 2, 4 … apart, twice as much each time"""
    sizes = reversed(halves(shape.nprocs))
    return cost(*(MessageGroup(1, each * shape.block) for each in sizes))


@schedule("bruck", *ALLGATHER, source=f"{BRUCK}; {THAKUR}")
def bruck_allgather(shape: Shape) -> CriticalPath:
    """⌈log p⌉ rounds for any p, with one rank less than the radix in each"""
    radix = max(2, shape.radix)
    steps = [radix**level for level in range(levels(shape.nprocs, radix))]
    far = [(step, digit * step) for step in steps for digit in range(1, radix)]
    sizes = [min(step, shape.nprocs - away) for step, away in far if away < shape.nprocs]
    return cost(*(MessageGroup(1, size * shape.block) for size in sizes))


@schedule("neighbor_exchange", *ALLGATHER, source=CHEN)
def neighbour_allgather(shape: Shape) -> CriticalPath:
    """two blocks a step between neighbours, p / 2 steps"""
    if shape.nprocs % 2:
        return ring_allgather(shape)
    more = MessageGroup(shape.nprocs // 2 - 1, 2 * shape.block)
    return cost(MessageGroup(1, shape.block), more)


@schedule("aggregated_trees", *ALLGATHER, source=JEAUGEY)
def aggregated_allgather(shape: Shape) -> CriticalPath:
    """trees in parallel, the far ranks first, with a limit of blocks a message"""
    sizes = aggregated(shape.nprocs, shape.blocks).items()
    return cost(*(MessageGroup(many, each * shape.block) for each, many in sizes))


@schedule("recursive_multiplying", *ALLGATHER, source=RUEFENACHT)
def multiplying_allgather(shape: Shape) -> CriticalPath:
    """exchanges in groups of up to as many ranks as the radix, with all they have"""
    sizes = groups(shape.nprocs, shape.radix)
    places = math.prod(sizes)
    had, rounds = shape.bytes / places, []
    for size in sizes:
        rounds.append(MessageGroup(size - 1, had, "both"))
        had *= size
    if places < shape.nprocs:
        rounds += [MessageGroup(1, shape.block), MessageGroup(1, shape.bytes)]
    return cost(*rounds)


@schedule("pipelined_ring", "MPI_Allgatherv", source="the ring of Thakur et al. in pieces")
def pieces_allgather(shape: Shape) -> CriticalPath:
    """a ring of pieces of all parts"""
    pieces = 1
    if 0 < shape.segment_bytes < shape.block:
        pieces = math.ceil(shape.block / shape.segment_bytes)
    return cost(MessageGroup((shape.nprocs - 1) * pieces, shape.block / pieces))


@schedule("circulant", "MPI_Allgatherv", source=CIRCULANT)
def circulant_allgather(shape: Shape) -> CriticalPath:
    """pieces of all parts on a circulant graph, in the fewest rounds; one piece: Bruck's rounds"""
    if shape.segments == 1:
        return bruck_allgather(Shape(shape.nprocs, shape.bytes))
    return cost(MessageGroup(shape.levels + shape.segments - 1, shape.segment))


@schedule("by_volume", "MPI_Allgatherv", source=f"{BRUCK}; {THAKUR}")
def chosen_allgather(shape: Shape) -> CriticalPath:
    """Bruck's algorithm for few bytes, a ring of pieces for many"""
    if shape.bytes < shape.limit_bytes:
        return bruck_allgather(shape)
    return pieces_allgather(Shape(shape.nprocs, shape.bytes, segment_bytes=PIECE_BYTES))


@schedule("gather_send", "MPI_Allgather", source="a message to rank 0 and one back for each rank")
def manual_allgather(shape: Shape) -> CriticalPath:
    """all blocks to rank 0, which sends all of them to one rank after the other"""
    others = shape.nprocs - 1
    return cost(MessageGroup(others, shape.block), MessageGroup(others, shape.bytes, "out"))


@schedule("flood", *ALLGATHER, *ALLTOALL, source=THAKUR)
def flood(shape: Shape) -> CriticalPath:
    """every rank sends to every other, all at once"""
    return cost(MessageGroup(shape.nprocs - 1, shape.block, "both", shape.window))


@schedule("pairwise", *ALLGATHER, *ALLTOALL, source=THAKUR)
def pairwise(shape: Shape) -> CriticalPath:
    """p - 1 exchanges, one partner at a time"""
    return cost(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("two_ranks", *ALLGATHER, *ALLTOALL, "MPI_Barrier", source="one message each way")
def two_ranks(shape: Shape) -> CriticalPath:
    """one exchange"""
    return cost(MessageGroup(1, shape.block))


@schedule("bruck", "MPI_Alltoall", source=f"{BRUCK}; {THAKUR}")
def bruck_alltoall(shape: Shape) -> CriticalPath:
    """blocks travel by the digits of their distance, ⌈log p⌉ rounds for each other digit"""
    messages, radix = [], max(2, shape.radix)
    for level in range(levels(shape.nprocs, radix)):
        step = radix**level
        for digit in range(1, radix):
            carried = sum(1 for number in range(shape.nprocs) if number // step % radix == digit)
            messages.append(MessageGroup(1 if carried else 0, carried * shape.block))
    return cost(*messages)


@schedule("tuna", "MPI_Alltoallv", source=TUNA)
def tuna_alltoall(shape: Shape) -> CriticalPath:
    """short blocks by the digits of their distance with their lengths, long ones directly"""
    if shape.limit_bytes and shape.block > shape.limit_bytes:
        empty = Shape(shape.nprocs, 4.0 * shape.nprocs, radix=shape.radix)
        return bruck_alltoall(empty) + flood(shape)
    more = shape.bytes + 4 * shape.nprocs
    return bruck_alltoall(Shape(shape.nprocs, more, radix=shape.radix))


# --- Barrier: messages without content -----------------------------------------------------------


@schedule("linear", "MPI_Barrier", source=PJESIVAC)
def linear_barrier(shape: Shape) -> CriticalPath:
    """all to rank 0, and back"""
    others = shape.nprocs - 1
    return cost(MessageGroup(others, 0.0, "in"), MessageGroup(others, 0.0, "out"))


@schedule("tree", "MPI_Barrier", source=PJESIVAC)
def tree_barrier(shape: Shape) -> CriticalPath:
    """binomial tree, up and down"""
    return cost(MessageGroup(2 * shape.levels, 0.0))


@schedule("k_ary", "MPI_Barrier", source=MELLOR)
def k_ary_barrier(shape: Shape) -> CriticalPath:
    """k-ary tree, up and down"""
    ranks, depth, children = 1, 0, max(1, shape.radix)
    while ranks < shape.nprocs:
        ranks, depth = children * ranks + 1, depth + 1
    children = min(children, shape.nprocs - 1)
    down = MessageGroup(children, 0.0, "out", rounds=depth)
    return cost(MessageGroup(children * depth, 0.0), down)


@schedule("double_ring", "MPI_Barrier", source=PJESIVAC)
def ring_barrier(shape: Shape) -> CriticalPath:
    """a token twice round the ring"""
    return cost(MessageGroup(2 * shape.nprocs, 0.0))


@schedule("dissemination", "MPI_Barrier", source=HENSGEN)
def dissemination_barrier(shape: Shape) -> CriticalPath:
    """⌈log2 p⌉ rounds, in round k to the rank 2^k further on"""
    return cost(MessageGroup(shape.levels, 0.0))


@schedule("recursive_doubling", "MPI_Barrier", source=PJESIVAC)
def doubling_barrier(shape: Shape) -> CriticalPath:
    """pairwise exchanges; ranks above a power of two join before and are told after"""
    more = 1 if folded(shape.nprocs) else 0  # ⌊log2 p⌋ exchanges, and two messages
    return cost(MessageGroup(shape.levels + more, 0.0))


SCATTER = ("MPI_Scatter", "MPI_Scatterv")
GATHER = ("MPI_Gather", "MPI_Gatherv")

GRACEFUL = (
    "J. L. Träff, Hierarchical gather/scatter algorithms with graceful degradation, IPDPS 2004"
)
WEIGHTED = (
    "J. L. Träff, Practical, linear-time, fully distributed algorithms for irregular gather and "
    "scatter, EuroMPI 2017; " + GRACEFUL
)

# --- Bcast: the whole vector to every rank ------------------------------------------------------


@schedule("linear", "MPI_Bcast", source=PJESIVAC)
def linear_bcast(shape: Shape) -> CriticalPath:
    """the root sends to each rank"""
    return cost(MessageGroup(shape.nprocs - 1, shape.bytes, "out"))


@schedule("binomial", "MPI_Bcast", source=PJESIVAC)
def binomial_bcast(shape: Shape) -> CriticalPath:
    """binomial tree, in segments where there are some"""
    return cost(MessageGroup(shape.levels * shape.segments, shape.segment))


@schedule("knomial", "MPI_Bcast", source="the binomial tree's, with k - 1 children a level")
def knomial_bcast(shape: Shape) -> CriticalPath:
    """k-nomial tree"""
    rounds = levels(shape.nprocs, shape.radix) * shape.segments
    return cost(MessageGroup(shape.radix - 1, shape.segment, "out", rounds=rounds))


@schedule("pipeline", "MPI_Bcast", source=PJESIVAC)
def pipeline_bcast(shape: Shape) -> CriticalPath:
    """segments along a chain of all ranks"""
    return cost(MessageGroup(shape.nprocs + shape.segments - 2, shape.segment))


@schedule("chain", "MPI_Bcast", source=PJESIVAC)
def chain_bcast(shape: Shape) -> CriticalPath:
    """segments along several chains below the root, which sends each segment to all of them"""
    return cost(MessageGroup(chain_messages(shape), shape.segment))


@schedule("binary", "MPI_Bcast", source=PJESIVAC)
def binary_bcast(shape: Shape) -> CriticalPath:
    """segments down a binary tree: two messages a level"""
    return cost(MessageGroup(2, shape.segment, "out", rounds=binary_steps(shape)))


@schedule("two_trees", "MPI_Bcast", source=SANDERS)
def double_tree_bcast(shape: Shape) -> CriticalPath:
    """segments down two binary trees in turn"""
    first = MessageGroup(2, shape.segment, "out", rounds=shape.levels)
    return cost(first, MessageGroup(shape.segments - 1, shape.segment, "both"))


@schedule("circulant", "MPI_Bcast", source=CIRCULANT)
def circulant_bcast(shape: Shape) -> CriticalPath:
    """segments on a circulant graph, in the fewest rounds"""
    return cost(MessageGroup(shape.levels + shape.segments - 1, shape.segment))


@schedule("split_binary", "MPI_Bcast", source=PJESIVAC)
def split_bcast(shape: Shape) -> CriticalPath:
    """halves of the vector down two halves of a binary tree, then exchanged"""
    half = Shape(shape.nprocs, shape.bytes / 2, shape.segment_bytes, shape.radix, shape.chains)
    down = MessageGroup(2, half.segment, "out", rounds=binary_steps(half))
    return cost(down, MessageGroup(1, half.bytes))


@schedule("scatter_recursive_doubling", "MPI_Bcast", source=THAKUR)
def scatter_doubling_bcast(shape: Shape) -> CriticalPath:
    """binomial scatter, then allgather by recursive doubling"""
    doubling = [MessageGroup(1, each * shape.block) for each in reversed(halves(shape.nprocs))]
    return binomial_scatter(shape) + cost(*doubling)


@schedule("scatter_ring", "MPI_Bcast", source=THAKUR)
def scatter_ring_bcast(shape: Shape) -> CriticalPath:
    """binomial scatter, then allgather on a ring"""
    return binomial_scatter(shape) + cost(MessageGroup(shape.nprocs - 1, shape.block))


# --- Scatter and Gather: a block for or from every rank ------------------------------------------


@schedule("linear", *SCATTER, source=PJESIVAC)
def linear_scatter(shape: Shape) -> CriticalPath:
    """the root sends to one rank after the other"""
    return cost(MessageGroup(shape.nprocs - 1, shape.block, "out", shape.window))


@schedule("linear", *GATHER, source="Hunold et al., Euro-Par 2016, 5.2, after " + PJESIVAC)
def linear_gather(shape: Shape) -> CriticalPath:
    """every rank sends to the root, which receives p - 1 messages"""
    return cost(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("flood", *GATHER, source=PJESIVAC)
def flood_gather(shape: Shape) -> CriticalPath:
    """every rank sends to the root, which waits for all messages at once"""
    return cost(MessageGroup(shape.nprocs - 1, shape.block, "in", shape.window))


@schedule("linear_sync", "MPI_Gather", source=PJESIVAC)
def synchronised_gather(shape: Shape) -> CriticalPath:
    """the root asks one rank after the other, which answers in two parts"""
    first = min(shape.segment_bytes, shape.block) if shape.segment_bytes else shape.block
    asked = shape.nprocs - 1
    rest = shape.block - first
    parts = [MessageGroup(asked, 0.0), MessageGroup(asked, first)]
    return cost(*parts, MessageGroup(asked if rest > 0 else 0, rest))


@schedule("binomial", *SCATTER, source=f"{THAKUR}; {CHAN}")
def binomial_scatter(shape: Shape) -> CriticalPath:
    """binomial tree: half of what is left in each round"""
    return cost(*(MessageGroup(1, each * shape.block) for each in halves(shape.nprocs)))


@schedule("binomial", *GATHER, source=f"{THAKUR}; {CHAN}")
def binomial_gather(shape: Shape) -> CriticalPath:
    """binomial tree: twice as much in each round"""
    return cost(*(MessageGroup(1, each * shape.block) for each in reversed(halves(shape.nprocs))))


@schedule("knomial", *SCATTER, source="the binomial tree's, with k - 1 children a level")
def knomial_scatter(shape: Shape) -> CriticalPath:
    """k-nomial tree"""
    return cost(*(MessageGroup(many, size, "out") for many, size in _children(shape)))


@schedule("knomial", *GATHER, source="the binomial tree's, with k - 1 children a level")
def knomial_gather(shape: Shape) -> CriticalPath:
    """k-nomial tree"""
    return cost(*(MessageGroup(many, size, "in") for many, size in _children(shape)))


@schedule("bundled_tree", *SCATTER, source=GRACEFUL)
def bundled_scatter(shape: Shape) -> CriticalPath:
    """bundles of short blocks down k-nomial trees, long blocks directly"""
    return cost(_bundles(shape, "out")) + knomial_scatter(_bundle(shape))


@schedule("bundled_tree", *GATHER, source=GRACEFUL)
def bundled_gather(shape: Shape) -> CriticalPath:
    """bundles of short blocks up k-nomial trees, one after the other; long blocks directly"""
    tree = (MessageGroup(many, size) for many, size in _children(_bundle(shape)))
    return cost(_bundles(shape, "in"), *tree)


@schedule("weighted_tree", *SCATTER, source=WEIGHTED)
def weighted_scatter(shape: Shape) -> CriticalPath:
    """a search for the tree that follows the volumes, then bundles down the tree"""
    search = cost(MessageGroup(shape.levels, 8.0))
    return search + cost(_bundles(shape, "out")) + binomial_scatter(_bundle(shape))


@schedule("weighted_tree", *GATHER, source=WEIGHTED)
def weighted_gather(shape: Shape) -> CriticalPath:
    """a search for the tree that follows the volumes, then bundles up the tree"""
    search = cost(MessageGroup(shape.levels, 8.0))
    return search + cost(_bundles(shape, "in")) + binomial_gather(_bundle(shape))


def _bundle(shape: Shape) -> Shape:
    """The ranks, and bytes, of one bundle, or of all where they fit into one."""
    ranks = shape.nprocs
    if shape.limit_bytes and shape.bytes > shape.limit_bytes:
        ranks = max(1, min(ranks, int(shape.limit_bytes / shape.block)))
    return Shape(ranks, ranks * shape.block, radix=shape.radix)


def _bundles(shape: Shape, way: Flood) -> MessageGroup:
    """The messages between the root and other bundles than its own."""
    ranks = _bundle(shape).nprocs
    return MessageGroup(-(-shape.nprocs // ranks) - 1, ranks * shape.block, way)


def _children(shape: Shape) -> Iterator[tuple[int, float]]:
    """Return the children of the root at each level, the highest first: how many, and what stands
    behind each."""
    remaining = shape.nprocs
    for level in range(levels(shape.nprocs, shape.radix) - 1, -1, -1):
        each = shape.radix**level
        yield min(shape.radix - 1, -(-remaining // each) - 1), each * shape.block
        remaining = min(remaining, each)
