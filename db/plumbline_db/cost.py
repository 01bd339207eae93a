"""What a campaign has cost: the plain facts of its launches, but for those that somebody has asked
for afterwards."""

from __future__ import annotations

from plumbline_db.connection import Database
from plumbline_db.records import Record

# The start of the names of suites that explain a campaign and are none of its own.
AFTERWARDS = "explain"


class Cost(Record, frozen=True):
    """`cells` counts distinct (function, bytes) that were timed. `seconds` is the wall time of all
    launches, `timed_seconds` the part of it inside timed regions."""

    launches: int
    failed: int
    cells: int
    seconds: float
    timed_seconds: float


def cost(db: Database, campaign: str) -> Cost:
    key = {"campaign": campaign, "afterwards": f"{AFTERWARDS}*"}
    launches = db.row(
        """SELECT count(*), count(*) FILTER (WHERE outcome = 'failed'), total(seconds),
                  total(timed_seconds)
           FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND suite.name NOT GLOB :afterwards""",
        key,
    )
    cells = db.row(
        """SELECT count(*) FROM (
               SELECT DISTINCT m.function, m.bytes
               FROM measurement m JOIN run ON run.number = m.run
               JOIN suite ON suite.number = run.suite
               WHERE suite.campaign = :campaign AND suite.name NOT GLOB :afterwards
                 AND m.outcome = 'ok')""",
        key,
    )
    assert launches is not None and cells is not None  # noqa: S101 - aggregates give one row
    return Cost(launches[0], launches[1], cells[0], launches[2], launches[3])
