"""The numbers that the models are fed with here: α and β from ping-pongs, γ from reductions inside
a rank, the gaps of LogGP from floods. All of it read from launches that are stored: those of the
campaign's own suite `explain` (measuring.py), else the last `plumbline measure pingpong` of this
machine and library."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import get_args

import msgspec

from plumbline.measure import hockney
from plumbline.model.costs import Network, Piece
from plumbline_db import hockney as table
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.hockney import Hockney
from plumbline_db.probe_records import Pair
from plumbline_db.records import EXPLAINING, Campaign, Medians, Suite

SUITE = Suite(EXPLAINING)
INSIDE = "MPI_Reduce_local"
FLOODS = {"in": ("MPI_Gather", "gather_naive_irecv"), "out": ("MPI_Scatter", "scatter_naive_isend")}
_NEAR_TO_FAR = get_args(Pair)


class Basis(msgspec.Struct, frozen=True):
    """`pair`: the class of the ranks that the messages went between, the farthest one there was.
    `source`: where from. `deviation`: by how much the fitted lines are off the measured messages,
    on average. `missing`: what was not measured, in words."""

    network: Network
    pair: str
    source: str
    deviation: float
    launches: int
    missing: list[str]


def read(db: Database, campaign: Campaign) -> Basis | None:
    """None where no ping-pong is stored that fits."""
    lines, source = table.get(db, campaign.id), "ping-pongs of this campaign"
    if not lines:
        lines = table.latest(db, campaign.machine, campaign.library_fingerprint)
        source = "the last plumbline measure pingpong on this machine with this library"
    if not lines:
        return None
    pair = max({line.pair for line in lines}, key=_NEAR_TO_FAR.index)
    used = in_force([line for line in lines if line.pair == pair])
    trips = [trip for trip in table.half_trips(db, campaign.id, [SUITE.name]) if trip.pair == pair]
    measured = tuple((float(trip.bytes), statistics.median(trip.seconds)) for trip in trips)
    network = Network(_pieces(used), measured)
    medians = runs.medians(db, campaign.id, [SUITE.name])
    gamma = _gamma(medians)
    gaps = {way: _gap(medians, campaign.nprocs, network, way) for way in FLOODS}
    missing = [] if gamma is not None else ["γ, so that reductions are left out of predictions"]
    if campaign.nprocs > 2 and None in gaps.values():
        missing.append("gaps, so that messages never overlap")
    return Basis(
        network=Network(network.pieces, measured, gamma, gaps["out"], gaps["in"]),
        pair=pair,
        source=source,
        deviation=statistics.fmean(hockney.deviation for hockney in used),
        launches=used[0].launches,
        missing=missing,
    )


def in_force(lines: Sequence[Hockney]) -> list[Hockney]:
    """Return those of one class of pairs: the two pieces where the library changes protocol, else
    the line."""
    pieces = sorted((line for line in lines if line.piece > 0), key=lambda piece: piece.bytes_from)
    return pieces or [line for line in lines if line.piece == 0]


def _pieces(lines: Sequence[Hockney]) -> tuple[Piece, ...]:
    """Between two pieces the border is in the middle, as sizes double."""
    ends = [math.sqrt(a.bytes_to * b.bytes_from) for a, b in itertools.pairwise(lines)]
    return tuple(
        Piece(end, line.alpha_seconds, line.beta_seconds_per_byte)
        for line, end in zip(lines, [*ends, math.inf], strict=True)
    )


def _gamma(medians: Sequence[Medians]) -> float | None:
    """Seconds a byte: the slope of a line through the reductions of all sizes."""
    import numpy as np

    seconds_by_size = {
        median.case.bytes: statistics.median(median.seconds)
        for median in medians
        if median.case.function == INSIDE and median.case.variant == "default"
    }
    if len(seconds_by_size) < hockney.LEAST_SIZES:
        return None
    sizes = sorted(seconds_by_size)
    times = np.array([seconds_by_size[size] for size in sizes], dtype=float)
    return hockney.line(np.array(sizes, dtype=float), times)[1]


def _gap(medians: Sequence[Medians], nprocs: int, network: Network, way: str) -> float | None:
    """Return what each message but the first adds to a flood of p - 1 messages of next to
    nothing."""
    function, variant = FLOODS[way]
    for median in medians:
        if (median.case.function, median.case.variant) == (function, variant) and nprocs > 2:
            block = median.case.bytes / nprocs
            more = statistics.median(median.seconds) - network.message(block)
            return max(0.0, more / (nprocs - 2))
    return None
