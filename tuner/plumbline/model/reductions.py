"""Schedules of what reduces: Reduce, Allreduce, Reduce_scatter, Reduce_scatter_block, Scan, Exscan.

Where a schedule needs a power of two, ranks above it are folded in by one more message of the whole
vector, and told by another (Thakur, Rabenseifner, Gropp 2005)."""

from __future__ import annotations

import math

from plumbline.model.schedules import CriticalPath, MessageGroup, cost

from .movements import binomial_bcast, binomial_gather, knomial_bcast, linear_bcast
from .schedules import (
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
    levels,
    schedule,
)

RABENSEIFNER = (
    "R. Rabenseifner, Optimization of collective reduction operations, ICCS 2004; " + THAKUR
)
PATARASUK = (
    "P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, "
    "J. Parallel and Distributed Computing 69, 2009"
)
TRAEFF = (
    "J. L. Träff, An improved algorithm for (non-commutative) reduce-scatter with an application, "
    "EuroPVM/MPI 2005"
)
GATHERED = "pull request 12200 of Open MPI; J. Bruck et al. 1997 for the allgather"
SCATTERED = ("MPI_Reduce_scatter", "MPI_Reduce_scatter_block")
PREFIX = ("MPI_Scan", "MPI_Exscan")


def _each(messages: MessageGroup) -> CriticalPath:
    """Add what comes with every message to what is there."""
    return CriticalPath((messages,), messages.rounds * messages.count * messages.bytes)


def _fold(shape: Shape, *, back: bool = True) -> CriticalPath:
    if not folded(shape.nprocs):
        return CriticalPath(())
    before = _each(MessageGroup(1, shape.bytes))
    return before + cost(MessageGroup(1, shape.bytes)) if back else before


def _rounds(shape: Shape) -> int:
    """⌊log2 p⌋: what is left when ranks above a power of two are folded in."""
    return shape.nprocs.bit_length() - 1


def _power(shape: Shape) -> Shape:
    """The same volume on the power of two."""
    return Shape(2 ** _rounds(shape), shape.bytes)


# --- Reduce ---------------------------------------------------------------------------------------


OPEN_BYTES = 65536  # of messages that a rank receives ahead (common/incoming.h)


@schedule("linear", "MPI_Reduce", source=PJESIVAC)
def linear_reduce(shape: Shape) -> CriticalPath:
    """the root receives from one rank after the other, and adds"""
    return _each(MessageGroup(shape.nprocs - 1, shape.bytes))


@schedule("flood", "MPI_Reduce", source=PJESIVAC)
def flood_reduce(shape: Shape) -> CriticalPath:
    """every rank sends to the root, which waits for all messages at once"""
    return _each(MessageGroup(shape.nprocs - 1, shape.bytes, "in", shape.window))


@schedule("binomial", "MPI_Reduce", source=f"{THAKUR}; {PJESIVAC}")
def binomial_reduce(shape: Shape) -> CriticalPath:
    """binomial tree, in segments where there are some"""
    return _each(MessageGroup(shape.levels * shape.segments, shape.segment))


@schedule("knomial", "MPI_Reduce", source="the binomial tree's, with k - 1 children a level")
def knomial_reduce(shape: Shape) -> CriticalPath:
    """k-nomial tree; a rank receives short vectors of its children at the same time"""
    rounds, children = levels(shape.nprocs, shape.radix) * shape.segments, shape.radix - 1
    if 2 * shape.segment <= OPEN_BYTES:
        return _each(MessageGroup(children, shape.segment, "in", rounds=rounds))
    return _each(MessageGroup(rounds * children, shape.segment))


@schedule("pipeline", "MPI_Reduce", source=PJESIVAC)
def pipeline_reduce(shape: Shape) -> CriticalPath:
    """segments along a chain of all ranks"""
    return _each(MessageGroup(shape.nprocs + shape.segments - 2, shape.segment))


@schedule("chain", "MPI_Reduce", source=PJESIVAC)
def chain_reduce(shape: Shape) -> CriticalPath:
    """segments along several chains that end at the root"""
    return _each(MessageGroup(chain_messages(shape), shape.segment))


@schedule("binary", "MPI_Reduce", source=PJESIVAC)
def binary_reduce(shape: Shape) -> CriticalPath:
    """segments up a binary tree: two messages a level"""
    return _each(MessageGroup(2 * binary_steps(shape), shape.segment))


@schedule("two_trees", "MPI_Reduce", source=SANDERS)
def two_trees_reduce(shape: Shape) -> CriticalPath:
    """segments of each half of the vector up a binary tree of its own"""
    segments, each = _of_halves(shape)
    return _each(MessageGroup(2, each, "in", rounds=shape.levels + segments - 1))


def _of_halves(shape: Shape) -> tuple[int, float]:
    """Return how many segments a half of the vector has, and their bytes."""
    half = Shape(shape.nprocs, shape.bytes / 2, segment_bytes=shape.segment_bytes)
    return half.segments, half.segment


@schedule("rabenseifner", "MPI_Reduce", source=RABENSEIFNER)
def rabenseifner_reduce(shape: Shape) -> CriticalPath:
    """reduce-scatter by recursive halving, then a binomial gather"""
    inner = _power(shape)
    return _fold(shape, back=False) + halving_reduce_scatter(inner) + binomial_gather(inner)


@schedule("ring", "MPI_Reduce", source="Hunold et al., Euro-Par 2016, 5.3, after " + PATARASUK)
def ring_reduce(shape: Shape) -> CriticalPath:
    """reduce-scatter on a ring, then p - 1 blocks to the root"""
    return ring_reduce_scatter(shape) + cost(MessageGroup(shape.nprocs - 1, shape.block, "in"))


# --- Allreduce ------------------------------------------------------------------------------------


@schedule("linear", "MPI_Allreduce", source=PJESIVAC)
def linear_allreduce(shape: Shape) -> CriticalPath:
    """linear reduce, then linear broadcast"""
    return linear_reduce(shape) + linear_bcast(shape)


@schedule("recursive_doubling", "MPI_Allreduce", source=THAKUR)
def doubling_allreduce(shape: Shape) -> CriticalPath:
    """exchanges of the whole vector with ranks 1, 2, 4 … apart"""
    return _fold(shape) + _each(MessageGroup(_rounds(shape), shape.bytes))


@schedule("rabenseifner", "MPI_Allreduce", source=RABENSEIFNER)
def rabenseifner_allreduce(shape: Shape) -> CriticalPath:
    """recursive halving, then recursive doubling of the blocks"""
    inner = _power(shape)
    return _fold(shape) + halving_reduce_scatter(inner) + binomial_gather(inner)


@schedule("ring", "MPI_Allreduce", source=PATARASUK)
def ring_allreduce(shape: Shape) -> CriticalPath:
    """reduce-scatter, then allgather, on a ring"""
    return ring_reduce_scatter(shape) + cost(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("segmented_ring", "MPI_Allreduce", source=f"{PATARASUK}; a message a segment")
def segmented_allreduce(shape: Shape) -> CriticalPath:
    """a ring whose reduced blocks travel in segments"""
    pieces = 1
    if 0 < shape.segment_bytes < shape.block:
        pieces = math.ceil(shape.block / shape.segment_bytes)
    first = MessageGroup((shape.nprocs - 1) * pieces, shape.block / pieces)
    return _each(first) + cost(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("tree", "MPI_Allreduce", source=THAKUR)
def tree_allreduce(shape: Shape) -> CriticalPath:
    """up and down one k-nomial tree"""
    if shape.radix == 2:
        return binomial_reduce(shape) + binomial_bcast(shape)
    return knomial_reduce(shape) + knomial_bcast(shape)


@schedule("two_trees", "MPI_Allreduce", source=SANDERS)
def two_trees_allreduce(shape: Shape) -> CriticalPath:
    """segments of each half of the vector up and down a binary tree of its own"""
    segments, each = _of_halves(shape)
    down = MessageGroup(2, each, "out", rounds=shape.levels + segments - 1)
    return two_trees_reduce(shape) + cost(down)


@schedule("recursive_multiplying", "MPI_Allreduce", source=RUEFENACHT)
def multiplying_allreduce(shape: Shape) -> CriticalPath:
    """exchanges of the whole vector in groups of as many ranks as the radix"""
    sizes = groups(shape.nprocs, shape.radix)
    rounds = [_each(MessageGroup(size - 1, shape.bytes, "both")) for size in sizes]
    if math.prod(sizes) < shape.nprocs:
        rounds += [_each(MessageGroup(1, shape.bytes)), cost(MessageGroup(1, shape.bytes))]
    return sum(rounds, CriticalPath(()))


def _gathered(shape: Shape) -> CriticalPath:
    steps = [2**level for level in range(shape.levels)]
    sizes = [min(step, shape.nprocs - step) * shape.bytes for step in steps]
    return cost(*(MessageGroup(1, size) for size in sizes))


def _too_long(shape: Shape) -> bool:
    """Return true where our variants that gather all vectors do something else."""
    return shape.nprocs * shape.bytes > 2**20


@schedule("allgather_reduce", "MPI_Allreduce", source=GATHERED)
def gathered_allreduce(shape: Shape) -> CriticalPath:
    """Bruck's allgather of all vectors, which each rank reduces; many bytes by doubling"""
    if _too_long(shape):
        return doubling_allreduce(shape)
    return _gathered(shape) + CriticalPath((), (shape.nprocs - 1) * shape.bytes)


# --- Reduce_scatter -------------------------------------------------------------------------------


@schedule("recursive_halving", *SCATTERED, source=THAKUR)
def halving_reduce_scatter(shape: Shape) -> CriticalPath:
    """exchanges of half of what is left, ranks p / 2, p / 4 … apart"""
    inner = _power(shape)
    halving = [_each(MessageGroup(1, shape.bytes / 2**k)) for k in range(1, _rounds(shape) + 1)]
    back = MessageGroup(1 if inner.nprocs != shape.nprocs else 0, shape.block)
    return sum(halving, _fold(shape, back=False)) + cost(back)


@schedule("butterfly", *SCATTERED, source=TRAEFF)
def butterfly_reduce_scatter(shape: Shape) -> CriticalPath:
    """recursive halving that keeps the order of operands"""
    return halving_reduce_scatter(shape)


@schedule("pairwise", *SCATTERED, source=THAKUR)
def pairwise_reduce_scatter(shape: Shape) -> CriticalPath:
    """p - 1 exchanges of a block, one partner at a time"""
    return _each(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("ring", *SCATTERED, source=PATARASUK)
def ring_reduce_scatter(shape: Shape) -> CriticalPath:
    """a ring of p - 1 rounds"""
    return _each(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("allgather_reduce", *SCATTERED, source=GATHERED)
def gathered_reduce_scatter(shape: Shape) -> CriticalPath:
    """Bruck's allgather of all vectors, of which each rank reduces its block; many by halving"""
    if _too_long(shape):
        return halving_reduce_scatter(shape)
    return _gathered(shape) + CriticalPath((), (shape.nprocs - 1) * shape.block)


@schedule("aggregated_trees", *SCATTERED, source=JEAUGEY)
def aggregated_reduce_scatter(shape: Shape) -> CriticalPath:
    """trees in parallel, the near ranks first, with a limit of blocks a message"""
    sizes = aggregated(shape.nprocs, shape.blocks).items()
    return sum(
        (_each(MessageGroup(many, each * shape.block)) for each, many in sizes), CriticalPath(())
    )


@schedule("chains", *SCATTERED, source="the ring of Patarasuk and Yuan, cut open")
def chains_reduce_scatter(shape: Shape) -> CriticalPath:
    """a chain up and one down, whose steps go together"""
    return _each(MessageGroup(shape.nprocs - 1, shape.block))


@schedule("recursive_doubling", *SCATTERED, source=THAKUR)
def doubling_reduce_scatter(shape: Shape) -> CriticalPath:
    """exchanges with ranks 1, 2, 4 … apart of all blocks but those that both have"""
    common = [2**power * shape.block for power in range(shape.levels)]
    return sum(
        (_each(MessageGroup(1, max(0.0, shape.bytes - own))) for own in common), CriticalPath(())
    )


# --- Scan, Exscan ---------------------------------------------------------------------------------


@schedule("linear", *PREFIX, source="a message from neighbour to neighbour")
def linear_prefix(shape: Shape) -> CriticalPath:
    """the prefix passes from rank to rank"""
    return _each(MessageGroup(shape.nprocs - 1, shape.bytes))


@schedule("flood", *PREFIX, source="a message from every rank to each one above")
def flood_prefix(shape: Shape) -> CriticalPath:
    """every rank sends to all above it, and adds what comes from those below; many by doubling"""
    if _too_long(shape):
        return doubling_prefix(shape)
    return _each(MessageGroup(shape.nprocs - 1, shape.bytes, "in"))


@schedule("allgather_reduce", *PREFIX, source=GATHERED)
def gathered_prefix(shape: Shape) -> CriticalPath:
    """Bruck's allgather of the vectors below, which each rank reduces; many by doubling"""
    if _too_long(shape):
        return doubling_prefix(shape)
    return _gathered(shape) + CriticalPath((), (shape.nprocs - 1) * shape.bytes)


@schedule("recursive_doubling", *PREFIX, source="as in MPICH: each round adds to sum and prefix")
def doubling_prefix(shape: Shape) -> CriticalPath:
    """⌈log2 p⌉ rounds of the whole vector"""
    rounds = MessageGroup(shape.levels, shape.bytes)
    return CriticalPath((rounds,), 2 * rounds.count * rounds.bytes)
