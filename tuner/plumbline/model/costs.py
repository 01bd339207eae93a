"""Costs of messages in a certain order, in two models. Pure.

Hockney: a message of m bytes takes t(m) = α + β m, and messages on the critical path follow each
other (R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994). LogGP:
of messages that one rank sends, or gets, at the same time the first takes t(m), and each further
one a gap and its bytes, g + G m (A. Alexandrov, M. F. Ionescu, K. E. Schauser, C. Scheiman, "LogGP:
incorporating long messages into the LogP model", SPAA 1995; G is the least β here); t(m) is read
off the measured sizes, by straight lines between them (as PLogP has it: T. Kielmann, H. E. Bal, K.
Verstoep, "Fast measurement of LogP parameters for message passing platforms", IPDPS workshops
2000). A byte that is reduced takes γ."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from typing import Literal

import msgspec

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
