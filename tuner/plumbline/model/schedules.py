"""Costs of messages in a certain order, in two models; the table of schedules; lower bounds. Pure.

Hockney: a message of m bytes takes t(m) = α + β m, and messages on the critical path follow each
other (R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994). LogGP:
of messages that one rank sends, or gets, at the same time the first takes t(m), and each further
one a gap and its bytes, g + G m (A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, "LogGP:
incorporating long messages into the LogP model", SPAA 1995; G is the least β here); t(m) is read
off the measured sizes, by straight lines between them (as PLogP has it: T. Kielmann, H. E. Bal, K.
Verstoep, "Fast measurement of LogP parameters for message passing platforms", IPDPS workshops
2000). A byte that is reduced takes γ.

The TABLE of schedules says how the messages of an algorithm follow each other, by function and
name. A schedule is a function of a Shape that gives a Cost; movements.py and reductions.py have
them, and enter them into the TABLE, which names.py reads. Its docstring is what it is, its `source`
where the formula comes from. Which schedule an algorithm of a library follows says its search
space, of a variant of ours names.toml.

Lower bounds are what no algorithm can do better in the models. Three things take their time
whatever the algorithm: the rounds until what every rank has can have reached who needs it, the
bytes that some rank must send or get, and the bytes that must be reduced, shared out over all
ranks. Each is a bound by itself, and the largest is the bound here: no algorithm need reach several
of them at once. Terms: E. Chan, M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective
communication: theory, practice, and experience", Concurrency and Computation 19, 2007; Alltoall: J.
Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
systems", IEEE Trans. Parallel and Distributed Systems 8, 1997.

Rounds take ⌈log2 p⌉ α where a rank has one message under way at a time, as these papers have it.
Where it can send the next one after a gap g < α, the bound is the best tree of the LogP model (R.
Karp, A. Sahay, E. Santos, K. E. Schauser, "Optimal broadcast and summation in the LogP model", SPAA
1993), which is the same for g = α."""

from __future__ import annotations

import bisect
import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from plumbline.core.plan import blocking

Flood = Literal["", "in", "out", "both"]


class Piece(msgspec.Struct, frozen=True):
    """t(m) = α + β m up to `bytes_to`: libraries change protocol with the size."""

    bytes_to: float
    alpha_seconds: float
    beta_seconds_per_byte: float


class Network(msgspec.Struct, frozen=True):
    """The numbers that the models are fed with. `pieces` by size, the last without an end.
    `measured`: sizes of messages, ascending, and their seconds; none: the pieces say it. None: not
    measured, and left out of predictions (γ), or not told from a message of its own (gaps)."""

    pieces: tuple[Piece, ...]
    measured: tuple[tuple[float, float], ...] = ()
    gamma_seconds_per_byte: float | None = None
    send_gap_seconds: float | None = None
    receive_gap_seconds: float | None = None

    def piece(self, size: float) -> Piece:
        return next((piece for piece in self.pieces if size <= piece.bytes_to), self.pieces[-1])

    def line(self, size: float) -> float:
        """α + β m in seconds."""
        piece_of_size = self.piece(size)
        return piece_of_size.alpha_seconds + piece_of_size.beta_seconds_per_byte * size

    def message(self, size: float) -> float:
        """t(m) in seconds, as measured; beyond the measured sizes as α + β m goes on."""
        points = self.measured
        after = bisect.bisect_left(points, (size, 0.0))
        if after < len(points) and points[after][0] == size:
            return points[after][1]
        if not 0 < after < len(points):
            nearest = points[-1 if after else 0] if points else (size, self.line(size))
            return nearest[1] + self.piece(size).beta_seconds_per_byte * (size - nearest[0])
        (low, first), (high, last) = points[after - 1 : after + 1]
        return first + (last - first) * (size - low) / (high - low)

    def following(self, size: float, way: Flood, window: int = 0) -> float:
        """Return what a message of a flood after the first one takes, in seconds; never more than
        one by itself. With a `window` only so many are under way at a time."""
        alone = self.message(size)
        gap = self._gap(way)
        if gap is None:
            return alone
        wire = size * min(piece.beta_seconds_per_byte for piece in self.pieces)
        return min(max(gap + wire, alone / window if window else 0.0), alone)

    def _gap(self, way: Flood) -> float | None:
        into, out = self.receive_gap_seconds, self.send_gap_seconds
        if way == "both":
            return None if into is None or out is None else into + out
        return into if way == "in" else out


class MessageGroup(msgspec.Struct, frozen=True):
    """`count` messages of `bytes` on the critical path, one after the other; or a flood, all of
    them into one rank, out of one, or both, at the same time (`window`: so many of them; 0: all),
    and so in each of `rounds`."""

    count: int
    bytes: float
    flood: Flood = ""
    window: int = 0
    rounds: int = 1

    @property
    def whole_ways(self) -> int:
        """Return how many take their whole way before the next thing happens."""
        return self.rounds * (1 if self.flood else self.count)

    @property
    def followers(self) -> int:
        return self.rounds * self.count - self.whole_ways


class CriticalPath(msgspec.Struct, frozen=True):
    """The critical path of an algorithm: its messages, and the bytes that are reduced on it."""

    messages: tuple[MessageGroup, ...]
    reduced_bytes: float = 0.0

    def __add__(self, other: CriticalPath) -> CriticalPath:
        return CriticalPath(
            self.messages + other.messages, self.reduced_bytes + other.reduced_bytes
        )

    @property
    def count(self) -> int:
        return sum(message.rounds * message.count for message in self.messages)

    @property
    def bytes(self) -> float:
        return sum(message.rounds * message.count * message.bytes for message in self.messages)


def cost(*messages: MessageGroup, reduced: float = 0.0) -> CriticalPath:
    return CriticalPath(
        tuple(message for message in messages if message.count * message.rounds > 0), reduced
    )


def hockney(of: CriticalPath, network: Network) -> float:
    """Seconds: every message by itself, each α + β m."""
    sent = sum(
        message.rounds * message.count * network.line(message.bytes) for message in of.messages
    )
    return sent + _reduction(of, network)


def loggp(of: CriticalPath, network: Network) -> float:
    """Seconds: messages as measured, floods a gap apart. Of a Network of pieces alone the same as
    `hockney`."""
    sent = 0.0
    for message in of.messages:
        sent += message.whole_ways * network.message(message.bytes)
        if message.flood:
            window = message.window if message.window < message.count else 0
            sent += message.followers * network.following(message.bytes, message.flood, window)
    return sent + _reduction(of, network)


def _reduction(of: CriticalPath, network: Network) -> float:
    return of.reduced_bytes * (network.gamma_seconds_per_byte or 0.0)


def formula(of: CriticalPath) -> str:
    """`5 α + 26 g + 124 B·β + 62 B·γ`, with the terms that are there; Hockney has α for g."""
    counts = {
        "α": sum(message.whole_ways for message in of.messages),
        "g": sum(message.followers for message in of.messages),
    }
    terms = [
        letter if count == 1 else f"{count} {letter}" for letter, count in counts.items() if count
    ]
    terms += [
        f"{_size(size)}·{letter}"
        for size, letter in ((of.bytes, "β"), (of.reduced_bytes, "γ"))
        if size > 0
    ]
    return " + ".join(terms) or "0"


_UNITS = ("B", "KiB", "MiB", "GiB")


def _size(size: float) -> str:
    power = min(int(math.log(max(size, 1), 1024)), len(_UNITS) - 1)
    return f"{size / 1024**power:.4g} {_UNITS[power]}"


def deviation(predicted: float, measured: float) -> float:
    """Return by how much a prediction is off: 0.25 is a quarter too long, -0.5 half as long as it
    was."""
    return predicted / measured - 1


def middle_deviation(deviations: Iterable[float]) -> float | None:
    """The median of how far off predictions are, whichever way: one of 2 times too long is as far
    off as one of half the time. As a factor from 1 on; None of nothing."""
    factors = sorted(max(1 + deviation, 1 / (1 + deviation)) for deviation in deviations)
    if not factors:
        return None
    half = len(factors) // 2
    return factors[half] if len(factors) % 2 else (factors[half - 1] + factors[half]) / 2


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


class Bound(msgspec.Struct, frozen=True):
    """Seconds of each term; `seconds` is the largest. `rounds_seconds`: ⌈log2 p⌉ α;
    `latency_seconds`: of the best tree, with gaps where they are known."""

    rounds: int
    bytes: float
    reduced_bytes: float
    rounds_seconds: float
    latency_seconds: float
    bandwidth_seconds: float
    computation_seconds: float

    @property
    def seconds(self) -> float:
        return max(self.latency_seconds, self.bandwidth_seconds, self.computation_seconds)

    @property
    def term(self) -> str:
        """Return which of the three it is."""
        named = {
            "latency": self.latency_seconds,
            "bandwidth": self.bandwidth_seconds,
            "computation": self.computation_seconds,
        }
        return max(named, key=lambda name: named[name])


def bound(function: str, shape: Shape, network: Network) -> Bound | None:
    """None for a function that nothing is known of, and for one rank. The latency of the smallest
    message and the widest bandwidth count: a message of any size may be part of an algorithm."""
    rule = _BYTES.get(blocking(function))
    if rule is None or shape.nprocs < 2:
        return None
    volume, reduced = rule(shape)
    rounds = shape.levels
    alpha = min(network.pieces[0].alpha_seconds, network.message(0))
    beta = min(piece.beta_seconds_per_byte for piece in network.pieces)
    gaps = [network.send_gap_seconds, network.receive_gap_seconds]
    gap = min((gap for gap in gaps if gap is not None), default=alpha)
    return Bound(
        rounds=rounds,
        bytes=volume,
        reduced_bytes=reduced,
        rounds_seconds=rounds * alpha,
        latency_seconds=best_tree(shape.nprocs, alpha, min(gap, alpha)),
        bandwidth_seconds=volume * beta,
        computation_seconds=reduced * (network.gamma_seconds_per_byte or 0.0),
    )


def best_tree(nprocs: int, alpha: float, gap: float) -> float:
    """Seconds until all ranks know what one knew: whoever knows sends on, a message each gap, and a
    message is there after α."""
    ready = [(alpha, 0.0)]  # when the next message of a rank is there, and when it is sent
    last = 0.0
    for _ in range(nprocs - 1):
        last, sent = heapq.heappop(ready)
        heapq.heappush(ready, (sent + gap + alpha, sent + gap))
        heapq.heappush(ready, (last + alpha, last))
    return last


def _whole(shape: Shape) -> tuple[float, float]:
    return shape.bytes, 0.0


def _blocks(shape: Shape) -> tuple[float, float]:
    """All blocks but the own one."""
    return (shape.nprocs - 1) * shape.block, 0.0


def _reduced(shape: Shape) -> tuple[float, float]:
    return shape.bytes, (shape.nprocs - 1) * shape.block


def _reduced_twice(shape: Shape) -> tuple[float, float]:
    return 2 * (shape.nprocs - 1) * shape.block, (shape.nprocs - 1) * shape.block


def _reduced_blocks(shape: Shape) -> tuple[float, float]:
    return (shape.nprocs - 1) * shape.block, (shape.nprocs - 1) * shape.block


def _reduced_before(shape: Shape) -> tuple[float, float]:
    """Exscan: the last rank's prefix is of all but its own vector."""
    return shape.bytes, (shape.nprocs - 2) * shape.block


_BYTES: dict[str, Callable[[Shape], tuple[float, float]]] = {
    "MPI_Barrier": lambda _: (0.0, 0.0),
    "MPI_Bcast": _whole,
    "MPI_Scatter": _blocks,
    "MPI_Scatterv": _blocks,
    "MPI_Gather": _blocks,
    "MPI_Gatherv": _blocks,
    "MPI_Allgather": _blocks,
    "MPI_Allgatherv": _blocks,
    "MPI_Alltoall": _blocks,
    "MPI_Alltoallv": _blocks,
    "MPI_Reduce": _reduced,
    "MPI_Allreduce": _reduced_twice,
    "MPI_Reduce_scatter": _reduced_blocks,
    "MPI_Reduce_scatter_block": _reduced_blocks,
    "MPI_Scan": _reduced,
    "MPI_Exscan": _reduced_before,
}
