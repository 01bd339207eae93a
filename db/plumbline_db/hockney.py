"""Point-to-point base of cost models: the round trips of launches, and what was fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from plumbline_db import campaigns, columns
from plumbline_db.blobs import array
from plumbline_db.probe_records import Pair
from plumbline_db.record import Record
from plumbline_db.statements import Statements


class HalfTrips(Record, frozen=True):
    """Messages of one size between ranks of one class of pairs: `seconds[i]` is the median over the
    launch `runs[i]` of half a round trip."""

    pair: Pair
    bytes: int
    runs: list[int]
    seconds: list[float]


class Hockney(Record, frozen=True):
    """t(m) = alpha + beta m between ranks of one class of pairs, for bytes_from <= m <= bytes_to.
    `piece` 0: one line for all sizes; 1 and 2: before and after a change of protocol. Intervals
    are of 95 %, None for too few launches. `deviation`: mean of |t(m) - measured| / measured."""

    pair: Pair
    piece: int
    bytes_from: int
    bytes_to: int
    alpha_seconds: float
    alpha_low: float | None
    alpha_high: float | None
    beta_seconds_per_byte: float
    beta_low: float | None
    beta_high: float | None
    deviation: float
    launches: int


def half_trips(db: Statements, campaign: str, suites: Sequence[str]) -> list[HalfTrips]:
    """Of each class of pairs and size, by pair and size: per launch the median of half the round
    trips, in the launches of some suites. Launches that failed are left out."""
    import numpy as np

    found: dict[tuple[str, int], dict[int, float]] = {}
    for number, pair, size, blob in db.rows(
        """SELECT run.number, p.pair, p.bytes, p.round_trips
           FROM pingpong p JOIN run ON run.number = p.run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND run.failure IS NULL
             AND suite.name IN (SELECT value FROM json_each(:suites))
             AND length(p.round_trips) > 0
           ORDER BY p.pair, p.bytes, run.number""",
        {"campaign": campaign, "suites": msgspec.json.encode(suites).decode()},
    ):
        median = float(np.median(array(blob))) / 2e9
        found.setdefault((pair, size), {})[number] = median
    return [
        HalfTrips(cast(Pair, pair), size, list(launches), list(launches.values()))
        for (pair, size), launches in found.items()
    ]


def put(db: Statements, campaign: str, fitted: Sequence[Hockney]) -> None:
    """Replaces what was fitted to the launches of this campaign."""
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows("DELETE FROM hockney WHERE campaign = :campaign", {"campaign": campaign})
        rows = [columns.values(hockney) | {"campaign": campaign} for hockney in fitted]
        columns.put_rows(db, "hockney", rows)


def get(db: Statements, campaign: str) -> list[Hockney]:
    """By pair and piece."""
    where = "WHERE campaign = :campaign ORDER BY pair, piece"
    return columns.all_of(db, "hockney", Hockney, where, {"campaign": campaign})


def latest(db: Statements, machine: str, library_fingerprint: str) -> list[Hockney]:
    """Of each class of pairs what was fitted last on that machine with that build of a library; by
    pair and piece."""
    where = """h JOIN campaign c ON c.id = h.campaign
               WHERE c.number = (SELECT max(d.number) FROM campaign d
                                 JOIN hockney g ON g.campaign = d.id
                                 WHERE d.machine = :machine AND g.pair = h.pair
                                   AND d.library_fingerprint = :library)
               ORDER BY pair, piece"""
    place = {"machine": machine, "library": library_fingerprint}
    return columns.all_of(db, "hockney", Hockney, where, place)
