"""What a campaign has cost: the plain facts of its launches, but for those that somebody has asked
for afterwards, or that watch it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline_db.records import AFTERWARDS, Record
from plumbline_db.statements import Statements

_AFTERWARDS = msgspec.json.encode(AFTERWARDS).decode()


class Cost(Record, frozen=True):
    """`cells` counts distinct (function, bytes) that were timed. `seconds` is the wall time of all
    launches, `timed_seconds` the part of it inside timed regions."""

    launches: int
    failed: int
    cells: int
    seconds: float
    timed_seconds: float


class Spent(Record, frozen=True):
    """Where the seconds of finished launches went. `start`: until the first check (mpirun,
    MPI_Init, what the probe looks up) and after the last record; `timed`: inside timed regions, of
    which `warmup` gave no results; `synchronisation`: start schemes, and what is written."""

    launches: int
    start_seconds: float
    check_seconds: float
    timed_seconds: float
    warmup_seconds: float
    synchronisation_seconds: float


class LaunchCost(Record, frozen=True):
    """Of one launch, in seconds: what it took to start and to end, and to measure, checks apart."""

    start: float
    measuring: float


def cells(db: Statements, campaigns: Sequence[str]) -> int:
    """Distinct (function, bytes) that these campaigns timed, all together."""
    row = db.row(
        """SELECT count(*) FROM (
               SELECT DISTINCT p.function, p.bytes
               FROM measurement m JOIN planned_case p ON p.number = m.planned_case
               JOIN run ON run.number = m.run
               JOIN suite ON suite.number = run.suite
               WHERE suite.campaign IN (SELECT value FROM json_each(:campaigns))
                 AND suite.stage NOT IN (SELECT value FROM json_each(:afterwards))
                 AND m.outcome = 'ok')""",
        {
            "campaigns": msgspec.json.encode(list(campaigns)).decode(),
            "afterwards": _AFTERWARDS,
        },
    )
    assert row is not None  # noqa: S101 - an aggregate gives one row
    return int(row[0])


def cost(db: Statements, campaign: str) -> Cost:
    key = {"campaign": campaign, "afterwards": _AFTERWARDS}
    launches = db.row(
        """SELECT count(*), count(*) FILTER (WHERE failure IS NOT NULL), total(seconds),
                  total(timed_seconds)
           FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign
             AND suite.stage NOT IN (SELECT value FROM json_each(:afterwards))""",
        key,
    )
    assert launches is not None  # noqa: S101 - aggregates give one row
    return Cost(launches[0], launches[1], cells(db, [campaign]), launches[2], launches[3])


def spent(db: Statements, campaign: str) -> Spent | None:
    """None where no launch says it."""
    found = db.row(
        """SELECT count(*), total(run.seconds), total(footer ->> '$.wall_ns') / 1e9,
                  total(footer ->> '$.start_ns') / 1e9, total(footer ->> '$.checks_ns') / 1e9,
                  total(footer ->> '$.timed_ns') / 1e9, total(footer ->> '$.warmup_ns') / 1e9
           FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign
             AND suite.stage NOT IN (SELECT value FROM json_each(:afterwards))
             AND run.failure IS NULL AND footer ->> '$.start_ns' IS NOT NULL""",
        {"campaign": campaign, "afterwards": _AFTERWARDS},
    )
    if found is None or not found[0]:
        return None
    launches, seconds, inside, start, checks, timed, warmup = found
    left = max(0.0, inside - start - checks - timed)
    return Spent(launches, seconds - inside + start, checks, timed, warmup, left)


def of_launch(db: Statements, run: str) -> LaunchCost | None:
    """None where its footer does not say it."""
    found = db.row(
        """SELECT run.seconds, (footer ->> '$.wall_ns') / 1e9, (footer ->> '$.start_ns') / 1e9,
                  (footer ->> '$.checks_ns') / 1e9
           FROM run WHERE id = :run AND footer ->> '$.start_ns' IS NOT NULL""",
        {"run": run},
    )
    if found is None:
        return None
    seconds, inside, start, checks = found
    return LaunchCost(max(0.0, seconds - inside + start), max(0.0, inside - start - checks))
