"""Costs of campaigns: the plain facts of its launches, but for those that somebody has asked for
afterwards, or that watch it. Sums are kept as each launch is stored; where seconds went is read
anew."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from plumbline_db.records import AFTERWARDS, Record
from plumbline_db.statements import Statements

_AFTERWARDS = msgspec.json.encode(AFTERWARDS).decode()


class Cost(Record, frozen=True):
    """`starts` counts the launches that have started ranks; the others found theirs alive. `cells`
    counts distinct (function, bytes) that were timed. `seconds` is the wall time of all launches,
    `timed_seconds` the part of it inside timed regions."""

    launches: int
    starts: int
    failed: int
    cells: int
    seconds: float
    timed_seconds: float


class Spent(Record, frozen=True):
    """The places where the seconds of finished launches went. `start`: until the first check
    (mpirun, MPI_Init, what the probe looks up) and after the last record; `timed`: inside timed
    regions, of which `warmup` gave no results; `synchronisation`: start schemes, and what is
    written."""

    launches: int
    start_seconds: float
    check_seconds: float
    timed_seconds: float
    warmup_seconds: float
    synchronisation_seconds: float


class LaunchCost(Record, frozen=True):
    """The seconds of one launch: what it took to start and to end (None: its ranks were alive
    already), and to measure, checks apart; of each case that it timed, by its number in the plan,
    how many samples and their median."""

    start: float | None
    measuring: float
    timed: dict[int, tuple[int, float]]


class Spending(Record, frozen=True):
    """Sums over those launches of a campaign that ended alike. `failure`: as in `run`; empty: they
    finished. `wrong`: cases of the library's own in them that gave wrong results; `newest`: when
    the newest one began."""

    failure: str
    launches: int
    seconds: float
    timed_seconds: float
    wrong: int
    newest: str


def add(db: Statements, run: int) -> None:
    """The launch numbered `run`, which was just stored, with what it has timed; inside the caller's
    transaction."""
    key = {"run": run, "afterwards": _AFTERWARDS}
    db.rows(
        f"""INSERT INTO cost {_OF_RUNS} AND run.number = :run GROUP BY campaign, failure
            ON CONFLICT (campaign, failure) DO UPDATE SET launches = launches + excluded.launches,
                seconds = seconds + excluded.seconds,
                timed_seconds = timed_seconds + excluded.timed_seconds,
                wrong = wrong + excluded.wrong, newest = max(newest, excluded.newest)""",
        key,
    )
    db.rows(f"INSERT OR IGNORE INTO timed_cell {_OF_CASES} AND run.number = :run", key)


# The same sums over stored launches.
_OF_RUNS = """SELECT suite.campaign, coalesce(run.failure, '') AS failure, count(*),
                     total(run.seconds), total(run.timed_seconds),
                     sum((SELECT count(*) FROM cell_time m
                          JOIN planned_case p ON p.number = m.planned_case
                          JOIN configuration c ON c.number = p.configuration
                          WHERE m.run = run.number AND m.outcome = 'wrong' AND c.knobs = '{}'
                            AND p.variant IN ('default', 'library'))),
                     max(run.started)
              FROM run JOIN suite ON suite.number = run.suite
              WHERE suite.stage NOT IN (SELECT value FROM json_each(:afterwards))"""
_OF_CASES = """SELECT DISTINCT suite.campaign, p.function, p.bytes
               FROM cell_time m JOIN planned_case p ON p.number = m.planned_case
               JOIN run ON run.number = m.run
               JOIN suite ON suite.number = run.suite
               WHERE suite.stage NOT IN (SELECT value FROM json_each(:afterwards))
                 AND m.outcome = 'ok'"""


def problems(db: Statements, campaign: str) -> list[str]:
    """Return where sums of a campaign are not those of its launches."""
    key = {"campaign": campaign, "afterwards": _AFTERWARDS}
    of_runs = db.rows(f"{_OF_RUNS} AND suite.campaign = :campaign GROUP BY failure", key)
    of_cases = db.rows(f"{_OF_CASES} AND suite.campaign = :campaign", key)
    problems_found = []
    expected = sorted(
        (Spending(*row[1:]) for row in of_runs), key=lambda spending: spending.failure
    )
    stored = spent_on(db, campaign)
    if len(stored) != len(expected) or not all(map(_is_same, stored, expected)):
        problems_found.append(f"campaign {campaign}: its cost is not that of its launches")
    if set(of_cases) != set(db.rows("SELECT * FROM timed_cell WHERE campaign = :campaign", key)):
        problems_found.append(f"campaign {campaign}: its timed cells are not those of its launches")
    return problems_found


def _is_same(first: Spending, second: Spending) -> bool:
    """Sums of seconds depend on the order in which they are made, in their last digits."""
    numbers = zip(msgspec.structs.astuple(first), msgspec.structs.astuple(second), strict=True)
    return all(
        math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) else a == b for a, b in numbers
    )


def spent_on(db: Statements, campaign: str) -> list[Spending]:
    """Return the sums in the order of the failures; first that of what finished."""
    cost_rows = db.rows("SELECT * FROM cost WHERE campaign = :campaign", {"campaign": campaign})
    return sorted((Spending(*row[1:]) for row in cost_rows), key=lambda spending: spending.failure)


def by_campaign(db: Statements) -> dict[str, list[Spending]]:
    """Return the sums of all campaigns that have launches, by id."""
    spending_by_campaign: dict[str, list[Spending]] = {}
    for campaign, *row in db.rows("SELECT * FROM cost ORDER BY campaign, failure"):
        spending_by_campaign.setdefault(campaign, []).append(Spending(*row))
    return spending_by_campaign


def cells(db: Statements, campaigns: Sequence[str]) -> int:
    """Distinct (function, bytes) that these campaigns timed, all together."""
    ((number,),) = db.rows(
        """SELECT count(*) FROM (
               SELECT DISTINCT function, bytes FROM timed_cell
               WHERE campaign IN (SELECT value FROM json_each(:campaigns)))""",
        {"campaigns": msgspec.json.encode(list(campaigns)).decode()},
    )
    return int(number)


def cost(db: Statements, campaign: str) -> Cost:
    spendings = spent_on(db, campaign)
    return Cost(
        sum(spending.launches for spending in spendings),
        starts(db, campaign),
        sum(spending.launches for spending in spendings if spending.failure),
        cells(db, [campaign]),
        sum(spending.seconds for spending in spendings),
        sum(spending.timed_seconds for spending in spendings),
    )


def starts(db: Statements, campaign: str) -> int:
    """Count the launches of a campaign that have started ranks; the others found them alive."""
    ((number,),) = db.rows(
        """SELECT count(*) FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign AND run.visit <= 1
             AND suite.stage NOT IN (SELECT value FROM json_each(:afterwards))""",
        {"campaign": campaign, "afterwards": _AFTERWARDS},
    )
    return int(number)


def spent(db: Statements, campaign: str) -> Spent | None:
    """None where no launch says it."""
    sums = db.row(
        """SELECT count(*), total(run.seconds), total(footer ->> '$.wall_ns') / 1e9,
                  total(footer ->> '$.start_ns') / 1e9, total(footer ->> '$.checks_ns') / 1e9,
                  total(footer ->> '$.timed_ns') / 1e9, total(footer ->> '$.warmup_ns') / 1e9
           FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign
             AND suite.stage NOT IN (SELECT value FROM json_each(:afterwards))
             AND run.failure IS NULL AND footer ->> '$.start_ns' IS NOT NULL""",
        {"campaign": campaign, "afterwards": _AFTERWARDS},
    )
    if sums is None or not sums[0]:
        return None
    launches, seconds, inside, start, checks, timed, warmup = sums
    remaining = max(0.0, inside - start - checks - timed)
    return Spent(launches, seconds - inside + start, checks, timed, warmup, remaining)


def of_launch(db: Statements, run: str) -> LaunchCost | None:
    """None where its footer does not say it."""
    launch_times = db.row(
        """SELECT run.seconds, (footer ->> '$.wall_ns') / 1e9, (footer ->> '$.start_ns') / 1e9,
                  (footer ->> '$.checks_ns') / 1e9, visit
           FROM run WHERE id = :run AND footer ->> '$.start_ns' IS NOT NULL""",
        {"run": run},
    )
    if launch_times is None:
        return None
    seconds, inside, start, checks, visit = launch_times
    timed = db.rows(
        """SELECT m.case_id, m.n, m.median_ns / 1e9
           FROM run JOIN cell_time m ON m.run = run.number
           WHERE run.id = :run AND m.n IS NOT NULL""",
        {"run": run},
    )
    return LaunchCost(
        max(0.0, seconds - inside + start) if visit <= 1 else None,
        max(0.0, inside - start - checks),
        {case: (n, median) for case, n, median in timed},
    )
