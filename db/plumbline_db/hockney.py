"""Point-to-point base of cost models: the round trips of launches, and what was fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from plumbline_db import campaigns, columns, launch_records
from plumbline_db.probe_records import Pair, PingPong
from plumbline_db.records import Record
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
    """Return, for each class of pairs and size, the median of half the round trips in each launch
    of some suites, by pair and size. Launches that failed are left out."""
    runs = _finished(db, campaign, suites)
    trips_by_pair: dict[tuple[Pair, int], dict[int, list[int]]] = {}
    for number, records in launch_records.of_kind(db, runs, PingPong).items():
        for record in records:
            if record.round_trip_ns:
                launches = trips_by_pair.setdefault((record.pair, record.bytes), {})
                launches[number] = record.round_trip_ns
    return [
        HalfTrips(pair, size, list(launches), [median(ns) / 2e9 for ns in launches.values()])
        for (pair, size), launches in sorted(trips_by_pair.items())
    ]


def _finished(db: Statements, campaign: str, suites: Sequence[str]) -> list[int]:
    rows = db.rows(
        """SELECT run.number FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND run.failure IS NULL
             AND suite.name IN (SELECT value FROM json_each(:suites))
           ORDER BY run.number""",
        {"campaign": campaign, "suites": msgspec.json.encode(suites).decode()},
    )
    return [number for (number,) in rows]


def put(db: Statements, campaign: str, fitted: Sequence[Hockney]) -> None:
    """Replaces what was fitted to the launches of this campaign."""
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows("DELETE FROM hockney WHERE campaign = :campaign", {"campaign": campaign})
        rows = [columns.values(hockney) | {"campaign": campaign} for hockney in fitted]
        columns.put_rows(db, "hockney", rows)


def get(db: Statements, campaign: str) -> list[Hockney]:
    """Return them by pair and piece."""
    where = "WHERE campaign = :campaign ORDER BY pair, piece"
    return columns.all_of(db, "hockney", Hockney, where, {"campaign": campaign})


def latest(db: Statements, machine: str, library_fingerprint: str) -> list[Hockney]:
    """Return what was fitted last for each class of pairs on that machine with that build of a
    library; by pair and piece."""
    where = """h JOIN campaign c ON c.id = h.campaign
               WHERE c.number = (SELECT max(d.number) FROM campaign d
                                 JOIN hockney g ON g.campaign = d.id
                                 WHERE d.machine = :machine AND g.pair = h.pair
                                   AND d.library_fingerprint = :library)
               ORDER BY pair, piece"""
    place = {"machine": machine, "library": library_fingerprint}
    return columns.all_of(db, "hockney", Hockney, where, place)
