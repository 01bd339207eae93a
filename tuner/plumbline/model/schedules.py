"""The table of schedules: how the messages of an algorithm follow each other, by function and
name.

A schedule is a function of a Shape that gives a Cost; movements.py and reductions.py have them,
and enter them into the TABLE, which names.py reads. Its docstring is what it is, its `source`
where the formula comes from. Which schedule an algorithm of a library follows says its search
space, of a variant of ours names.toml."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import msgspec

from .costs import CriticalPath

THAKUR = (
    "R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in "
    "MPICH, Int. J. High Performance Computing Applications 19, 2005"
)
PJESIVAC = (
    "J. Pjesivac-Grbovic et al., Performance analysis of MPI collective operations, Cluster "
    "Computing 10, 2007"
)
CHAN = (
    "E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, Collective communication: theory, "
    "practice, and experience, Concurrency and Computation 19, 2007"
)
JEAUGEY = (
    "S. Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale, 2025"
)
RUEFENACHT = (
    "M. Ruefenacht, M. Bull, S. Booth, Generalisation of recursive doubling for AllReduce, "
    "Parallel Computing 69, 2017"
)
SANDERS = (
    "P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast, "
    "reduction and scan, Parallel Computing 35, 2009"
)
CIRCULANT = (
    "J. L. Träff, Fast(er) construction of round-optimal n-block broadcast schedules, CLUSTER 2022"
)
BRUCK = (
    "J. Bruck et al., Efficient algorithms for all-to-all communications in multiport "
    "message-passing systems, IEEE Trans. Parallel and Distributed Systems 8, 1997"
)


class Shape(msgspec.Struct, frozen=True):
    """The shape of what is computed: `bytes` is the volume (docs/plan-and-records.md), on `nprocs`
    ranks. `segment_bytes` 0: whole messages. `radix` of trees; `chains` below the root; `window`:
    messages that a rank has under way at a time (0: all); `blocks`: the most that a message has (0:
    all); `limit_bytes`: blocks, or volumes, of more bytes take another way (0: none do)."""

    nprocs: int
    bytes: float
    segment_bytes: int = 0
    radix: int = 2
    chains: int = 4
    window: int = 0
    blocks: int = 0
    limit_bytes: int = 0

    @property
    def block(self) -> float:
        """The bytes of a block, where the volume is made of blocks."""
        return self.bytes / self.nprocs

    @property
    def levels(self) -> int:
        """⌈log2 p⌉"""
        return levels(self.nprocs)

    @property
    def segments(self) -> int:
        if not 0 < self.segment_bytes < self.bytes:
            return 1
        return math.ceil(self.bytes / self.segment_bytes)

    @property
    def segment(self) -> float:
        return self.bytes / self.segments


class Schedule(msgspec.Struct, frozen=True):
    """`what`: in words, `source`: of the formula."""

    name: str
    what: str
    source: str
    cost: Callable[[Shape], CriticalPath]


TABLE: dict[tuple[str, str], Schedule] = {}  # by function and name

Rule = Callable[[Shape], CriticalPath]


def schedule(name: str, *functions: str, source: str) -> Callable[[Rule], Rule]:
    """Enters a rule into the table. A name that a function has twice is a bug: ValueError."""

    def enter(rule: Rule) -> Rule:
        for function in functions:
            if (function, name) in TABLE:
                raise ValueError(f"{function} has two schedules called {name}")
            summary = " ".join((rule.__doc__ or "").split())
            TABLE[function, name] = Schedule(name, summary, source, rule)
        return rule

    return enter


def levels(nprocs: int, radix: int = 2) -> int:
    """The least L with radix^L ≥ nprocs; a radix below 2 counts as 2."""
    radix = max(2, radix)
    count = 0
    while radix**count < nprocs:
        count += 1
    return count


def halves(nprocs: int) -> list[int]:
    """Return how many ranks stand behind each child of the root of a binomial tree, the first one
    first; together all but the root."""
    top = levels(nprocs) - 1
    return [min(2**power, nprocs - 2**power) for power in range(top, -1, -1)]


def folded(nprocs: int) -> bool:
    """Return whether ranks must be folded together first, where a power of two is needed."""
    return nprocs & (nprocs - 1) != 0


def binary_steps(shape: Shape) -> int:
    """Steps of segments through a binary tree: its depth, and those that follow the first."""
    return levels(shape.nprocs + 1) - 1 + shape.segments - 1


def chain_messages(shape: Shape) -> int:
    """Return what the root sends, each segment to all chains, and the way of the last one."""
    chains = max(1, min(shape.chains, shape.nprocs - 1))
    length = -(-(shape.nprocs - 1) // chains)
    return chains * shape.segments + length - 1


def groups(nprocs: int, radix: int) -> list[int]:
    """Return the sizes of the groups of each round of recursive multiplying: `radix`, and a smaller
    one at last. Their product is at most the number of ranks; the others are folded in."""
    radix, sizes = max(2, radix), []
    while nprocs >= radix:
        sizes.append(radix)
        nprocs //= radix
    return [*sizes, nprocs] if nprocs > 1 else sizes


def aggregated(nprocs: int, blocks: int) -> dict[int, int]:
    """Return how many messages of how many blocks parallel aggregated trees pass: by number of
    blocks. A message has at most `blocks` of them, rounded down to a power of two (0: all)."""
    half, trees, messages = 2 ** (levels(nprocs) - 1), 1, Counter[int]()
    while trees < half and (not blocks or 2 * trees <= blocks):
        trees *= 2
    stride = 2 * half // trees
    for offset in range(1, min(stride, nprocs)):
        messages[-(-(nprocs - offset) // stride)] += 1
    while stride <= half:
        messages[-(-(nprocs - stride) // (2 * stride))] += 1
        stride *= 2
    return messages
