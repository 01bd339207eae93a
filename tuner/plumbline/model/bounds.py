"""Lower bounds: what no algorithm can do better in the models. Pure.

Three things take their time whatever the algorithm: the rounds until what every rank has can have
reached who needs it, the bytes that some rank must send or get, and the bytes that must be reduced,
shared out over all ranks. Each is a bound by itself, and the largest is the bound here: no
algorithm need reach several of them at once. Terms: E. Chan, M. Heimlich, A. Purkayastha, R. van de
Geijn, "Collective communication: theory, practice, and experience", Concurrency and Computation 19,
2007; Alltoall: J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport
message-passing systems", IEEE Trans. Parallel and Distributed Systems 8, 1997.

Rounds take ⌈log2 p⌉ α where a rank has one message under way at a time, as these papers have it.
Where it can send the next one after a gap g < α, the bound is the best tree of the LogP model (R.
Karp, A. Sahay, E. Santos, K. E. Schauser, "Optimal broadcast and summation in the LogP model", SPAA
1993), which is the same for g = α."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import msgspec

from plumbline.core.plan import blocking

from .costs import Network
from .schedules import Shape


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
