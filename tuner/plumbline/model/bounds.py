"""Lower bounds: what no algorithm can do better in Hockney's model. Pure.

Where a rank sends one message and gets one at a time, three things take their time whatever the
algorithm: the rounds until what every rank has can have reached who needs it, the bytes that some
rank must send or get, the bytes that must be reduced, shared out over all ranks. Each is a bound by
itself, and the largest is the bound here: no algorithm need reach several of them at once (E. Chan,
M. Heimlich, A. Purkayastha, R. van de Geijn, "Collective communication: theory, practice, and
experience", Concurrency and Computation 19, 2007, section 3 and table 1; Alltoall: J. Bruck et al.,
"Efficient algorithms for all-to-all communications in multiport message-passing systems", IEEE
Trans. Parallel and Distributed Systems 8, 1997)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from .costs import Network
from .schedules import Shape


class Bound(msgspec.Struct, frozen=True):
    """Seconds of each term; `seconds` is the largest."""

    rounds: int
    bytes: float
    reduced_bytes: float
    latency_seconds: float
    bandwidth_seconds: float
    computation_seconds: float

    @property
    def seconds(self) -> float:
        return max(self.latency_seconds, self.bandwidth_seconds, self.computation_seconds)

    @property
    def term(self) -> str:
        """Which of the three it is."""
        named = {
            "latency": self.latency_seconds,
            "bandwidth": self.bandwidth_seconds,
            "computation": self.computation_seconds,
        }
        return max(named, key=lambda name: named[name])


def bound(function: str, shape: Shape, network: Network) -> Bound | None:
    """None for a function that nothing is known of, and for one rank. The shortest latency and the
    widest bandwidth of all sizes count: a message of any size may be part of an algorithm."""
    rule = _BYTES.get(function)
    if rule is None or shape.nprocs < 2:
        return None
    volume, reduced = rule(shape)
    rounds = shape.levels
    alpha = min(one.alpha_seconds for one in network.pieces)
    beta = min(one.beta_seconds_per_byte for one in network.pieces)
    return Bound(
        rounds=rounds,
        bytes=volume,
        reduced_bytes=reduced,
        latency_seconds=rounds * min(alpha, network.message(0)),
        bandwidth_seconds=volume * beta,
        computation_seconds=reduced * (network.gamma_seconds_per_byte or 0.0),
    )


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
