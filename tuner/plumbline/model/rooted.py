"""Schedules of what has a root and reduces nothing: Bcast, Scatter, Gather and their sisters with
unequal blocks, which are taken as equal."""

from __future__ import annotations

from collections.abc import Iterator

from .costs import Cost, Flood, Messages, cost
from .schedules import (
    CHAN,
    CIRCULANT,
    PJESIVAC,
    SANDERS,
    THAKUR,
    Shape,
    binary_steps,
    chain_messages,
    halves,
    levels,
    schedule,
)

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
def linear_bcast(shape: Shape) -> Cost:
    """the root sends to each rank"""
    return cost(Messages(shape.nprocs - 1, shape.bytes, "out"))


@schedule("binomial", "MPI_Bcast", source=PJESIVAC)
def binomial_bcast(shape: Shape) -> Cost:
    """binomial tree, in segments where there are some"""
    return cost(Messages(shape.levels * shape.segments, shape.segment))


@schedule("knomial", "MPI_Bcast", source="the binomial tree's, with k - 1 children a level")
def knomial_bcast(shape: Shape) -> Cost:
    """k-nomial tree"""
    rounds = levels(shape.nprocs, shape.radix) * shape.segments
    return cost(Messages(shape.radix - 1, shape.segment, "out", rounds=rounds))


@schedule("pipeline", "MPI_Bcast", source=PJESIVAC)
def pipeline_bcast(shape: Shape) -> Cost:
    """segments along a chain of all ranks"""
    return cost(Messages(shape.nprocs + shape.segments - 2, shape.segment))


@schedule("chain", "MPI_Bcast", source=PJESIVAC)
def chain_bcast(shape: Shape) -> Cost:
    """segments along several chains below the root, which sends each segment to all of them"""
    return cost(Messages(chain_messages(shape), shape.segment))


@schedule("binary", "MPI_Bcast", source=PJESIVAC)
def binary_bcast(shape: Shape) -> Cost:
    """segments down a binary tree: two messages a level"""
    return cost(Messages(2, shape.segment, "out", rounds=binary_steps(shape)))


@schedule("two_trees", "MPI_Bcast", source=SANDERS)
def double_tree_bcast(shape: Shape) -> Cost:
    """segments down two binary trees in turn"""
    first = Messages(2, shape.segment, "out", rounds=shape.levels)
    return cost(first, Messages(shape.segments - 1, shape.segment, "both"))


@schedule("circulant", "MPI_Bcast", source=CIRCULANT)
def circulant_bcast(shape: Shape) -> Cost:
    """segments on a circulant graph, in the fewest rounds"""
    return cost(Messages(shape.levels + shape.segments - 1, shape.segment))


@schedule("split_binary", "MPI_Bcast", source=PJESIVAC)
def split_bcast(shape: Shape) -> Cost:
    """halves of the vector down two halves of a binary tree, then exchanged"""
    half = _halved(shape)
    down = Messages(2, half.segment, "out", rounds=binary_steps(half))
    return cost(down, Messages(1, half.bytes))


@schedule("scatter_recursive_doubling", "MPI_Bcast", source=THAKUR)
def scatter_doubling_bcast(shape: Shape) -> Cost:
    """binomial scatter, then allgather by recursive doubling"""
    doubling = [Messages(1, each * shape.block) for each in reversed(halves(shape.nprocs))]
    return binomial_scatter(shape) + cost(*doubling)


@schedule("scatter_ring", "MPI_Bcast", source=THAKUR)
def scatter_ring_bcast(shape: Shape) -> Cost:
    """binomial scatter, then allgather on a ring"""
    return binomial_scatter(shape) + cost(Messages(shape.nprocs - 1, shape.block))


def _halved(shape: Shape) -> Shape:
    return Shape(shape.nprocs, shape.bytes / 2, shape.segment_bytes, shape.radix, shape.chains)


# --- Scatter and Gather: a block for or from every rank ------------------------------------------


@schedule("linear", *SCATTER, source=PJESIVAC)
def linear_scatter(shape: Shape) -> Cost:
    """the root sends to one rank after the other"""
    return cost(Messages(shape.nprocs - 1, shape.block, "out", shape.window))


@schedule("linear", *GATHER, source="seed 000, section 5.2, after " + PJESIVAC)
def linear_gather(shape: Shape) -> Cost:
    """every rank sends to the root, which receives p - 1 messages"""
    return cost(Messages(shape.nprocs - 1, shape.block))


@schedule("flood", *GATHER, source=PJESIVAC)
def flood_gather(shape: Shape) -> Cost:
    """every rank sends to the root, which waits for all messages at once"""
    return cost(Messages(shape.nprocs - 1, shape.block, "in", shape.window))


@schedule("linear_sync", "MPI_Gather", source=PJESIVAC)
def synchronised_gather(shape: Shape) -> Cost:
    """the root asks one rank after the other, which answers in two parts"""
    first = min(shape.segment_bytes, shape.block) if shape.segment_bytes else shape.block
    asked = shape.nprocs - 1
    rest = shape.block - first
    parts = [Messages(asked, 0.0), Messages(asked, first)]
    return cost(*parts, Messages(asked if rest > 0 else 0, rest))


@schedule("binomial", *SCATTER, source=f"{THAKUR}; {CHAN}")
def binomial_scatter(shape: Shape) -> Cost:
    """binomial tree: half of what is left in each round"""
    return cost(*(Messages(1, each * shape.block) for each in halves(shape.nprocs)))


@schedule("binomial", *GATHER, source=f"{THAKUR}; {CHAN}")
def binomial_gather(shape: Shape) -> Cost:
    """binomial tree: twice as much in each round"""
    return cost(*(Messages(1, each * shape.block) for each in reversed(halves(shape.nprocs))))


@schedule("knomial", *SCATTER, source="the binomial tree's, with k - 1 children a level")
def knomial_scatter(shape: Shape) -> Cost:
    """k-nomial tree"""
    return cost(*(Messages(many, size, "out") for many, size in _children(shape)))


@schedule("knomial", *GATHER, source="the binomial tree's, with k - 1 children a level")
def knomial_gather(shape: Shape) -> Cost:
    """k-nomial tree"""
    return cost(*(Messages(many, size, "in") for many, size in _children(shape)))


@schedule("bundled_tree", *SCATTER, source=GRACEFUL)
def bundled_scatter(shape: Shape) -> Cost:
    """bundles of short blocks down k-nomial trees, long blocks directly"""
    return cost(_bundles(shape, "out")) + knomial_scatter(_bundle(shape))


@schedule("bundled_tree", *GATHER, source=GRACEFUL)
def bundled_gather(shape: Shape) -> Cost:
    """bundles of short blocks up k-nomial trees, one after the other; long blocks directly"""
    tree = (Messages(many, size) for many, size in _children(_bundle(shape)))
    return cost(_bundles(shape, "in"), *tree)


@schedule("weighted_tree", *SCATTER, source=WEIGHTED)
def weighted_scatter(shape: Shape) -> Cost:
    """a search for the tree that follows the volumes, then bundles down the tree"""
    search = cost(Messages(shape.levels, 8.0))
    return search + cost(_bundles(shape, "out")) + binomial_scatter(_bundle(shape))


@schedule("weighted_tree", *GATHER, source=WEIGHTED)
def weighted_gather(shape: Shape) -> Cost:
    """a search for the tree that follows the volumes, then bundles up the tree"""
    search = cost(Messages(shape.levels, 8.0))
    return search + cost(_bundles(shape, "in")) + binomial_gather(_bundle(shape))


def _bundle(shape: Shape) -> Shape:
    """The ranks, and bytes, of one bundle, or of all where they fit into one."""
    ranks = shape.nprocs
    if shape.limit_bytes and shape.bytes > shape.limit_bytes:
        ranks = max(1, min(ranks, int(shape.limit_bytes / shape.block)))
    return Shape(ranks, ranks * shape.block, radix=shape.radix)


def _bundles(shape: Shape, way: Flood) -> Messages:
    """The messages between the root and other bundles than its own."""
    ranks = _bundle(shape).nprocs
    return Messages(-(-shape.nprocs // ranks) - 1, ranks * shape.block, way)


def _children(shape: Shape) -> Iterator[tuple[int, float]]:
    """Return those of the root at each level, the highest first: how many, and what stands behind
    each."""
    remaining = shape.nprocs
    for level in range(levels(shape.nprocs, shape.radix) - 1, -1, -1):
        each = shape.radix**level
        yield min(shape.radix - 1, -(-remaining // each) - 1), each * shape.block
        remaining = min(remaining, each)
