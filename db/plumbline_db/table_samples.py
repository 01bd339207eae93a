"""The samples that a violation table rests on: of each side those of the launches that its verdicts
name.

Cells of one table may rest on launches of several turns of a campaign: what was measured before the
winners of a cell changed says nothing of it now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from statistics import median
from typing import Any, NamedTuple, TypeVar

import msgspec

from plumbline_db import columns, launch_records, runs
from plumbline_db.probe_records import (
    Overlap,
    OverlapLatency,
    OverlapTrace,
    ProbeRecord,
    RankSamples,
    Samples,
)
from plumbline_db.records import Case, Medians, Record, Verdict
from plumbline_db.runs import LaunchSamples
from plumbline_db.statements import Statements


def overlap_records(
    db: Statements, campaign: str, suites: Sequence[str]
) -> list[tuple[int, list[ProbeRecord]]]:
    """Return those of the finished launches of some suites, by the number of each launch, in their
    order."""
    records_by_launch: list[tuple[int, list[ProbeRecord]]] = []
    for suite in dict.fromkeys(suites):
        rows = db.rows(
            """SELECT run.number FROM run JOIN suite ON run.suite = suite.number
               WHERE suite.campaign = :campaign AND suite.name = :suite
                 AND run.failure IS NULL ORDER BY run.sequence""",
            {"campaign": campaign, "suite": suite},
        )
        records_by_launch += [(int(number), _of_run(db, number)) for (number,) in rows]
    return records_by_launch


def of_launch(db: Statements, id: str) -> list[ProbeRecord]:
    """Return those of a launch: latency at the start, cells with their events in the order in which
    they were measured, latency at the end."""
    ((number,),) = db.rows("SELECT number FROM run WHERE id = :id", {"id": id})
    return _of_run(db, number)


def _of_run(db: Statements, run: int) -> list[ProbeRecord]:
    return [
        record
        for record in launch_records.stored(db, run)
        if isinstance(record, Overlap | OverlapLatency | OverlapTrace)
    ]


class RankTimes(Record, frozen=True):
    """The median of a rank's times of a case in one launch, all blocks together."""

    launch: int
    function: str
    variant: str
    bytes: int
    ranks: int
    rank: int
    seconds: float


def rank_medians(db: Statements, campaign: str, suites: Sequence[str]) -> list[RankTimes]:
    """Return those of results in the finished launches of some suites, by launch, case and rank."""
    cases: dict[tuple[int, int], list[Any]] = {
        (launch, case_id): about
        for launch, case_id, *about in db.rows(
            """SELECT m.launch_number, m.case_id, m.function, m.variant, m.bytes, m.ranks
               FROM measured_case m
               JOIN cell_time ON cell_time.run = m.launch_number AND cell_time.case_id = m.case_id
               JOIN planned_case ON planned_case.number = cell_time.planned_case
               WHERE m.run = :campaign AND m.is_result AND planned_case.by_rank
                 AND m.suite IN (SELECT value FROM json_each(:suites))
               ORDER BY m.launch_number, m.case_id""",
            {"campaign": campaign, "suites": msgspec.json.encode(list(suites)).decode()},
        )
    }
    times: dict[tuple[int, int], list[list[int]]] = {}
    launches = list(dict.fromkeys(launch for launch, _ in cases))
    for launch, records in launch_records.of_kind(db, launches, RankSamples).items():
        for record in sorted(records, key=lambda rank_record: rank_record.block):
            ranks = times.setdefault((launch, record.case), [[] for _ in record.ns])
            for rank_times, ns in zip(ranks, record.ns, strict=True):
                rank_times += ns
    return [
        RankTimes(launch, function, variant, size, ranks, rank, median(ns) / 1e9)
        for (launch, case), (function, variant, size, ranks) in cases.items()
        for rank, ns in enumerate(times.get((launch, case), []))
        if ns
    ]


class _First(NamedTuple):
    """A case that a finished launch of `suite` timed from its first block on. `samples`: None where
    the case had settled and its samples were not asked for; `transit`: of how many blocks the
    samples are no results; `launches`: how many times the case was measured in all, in any use."""

    case: Case
    suite: str
    samples: Samples | None
    transit: int
    launches: int


def first_blocks(db: Statements, campaign: str, *, unsettled: bool) -> list[_First]:
    """Return those of cases whose result is right, in the order in which they were stored;
    `unsettled`: of those alone that had not settled, then or later."""
    rows = db.rows(
        """WITH m AS (
               SELECT cell_time.run, case_id, transit, settled, n, suite.name AS suite_name, p.*,
                      count(*) OVER (
                          PARTITION BY function, variant, configuration, bytes, ranks
                      ) AS launches
               FROM run JOIN suite ON suite.number = run.suite
               JOIN cell_time ON cell_time.run = run.number
               JOIN planned_case p ON p.number = cell_time.planned_case
               WHERE suite.campaign = :campaign AND run.failure IS NULL
                 AND cell_time.outcome = 'ok'
           )
           SELECT m.run, m.function, m.variant, c.knobs, m.config, m.bytes, m.type, m.op,
                  m.root, m.delay_ns, m.ranks, m.use, m.counts, m.suite_name, m.case_id,
                  m.transit, m.launches, m.settled
           FROM m JOIN configuration c ON c.number = m.configuration
           WHERE (NOT :unsettled OR m.transit > 0 OR NOT m.settled) AND m.calls = 0
           ORDER BY m.run, m.case_id""",
        {"campaign": campaign, "unsettled": unsettled},
    )
    cases: dict[int, set[int]] = {}
    for run, *_, case, _, _, settled in rows:
        if not unsettled or not settled:
            cases.setdefault(run, set()).add(case)
    samples = launch_records.samples_there(db, cases)
    firsts = []
    for run, *asked, suite, case, transit, launches, _ in rows:
        first = samples.get((run, case))
        if case in cases.get(run, ()):
            if first is None or first.blocks[:1] != [0]:
                continue
            if unsettled and not transit and all(first.settled[:1]):
                continue
        firsts.append(_First(columns.read(Case, asked), suite, first, transit, launches))
    return firsts


_Found = TypeVar("_Found", LaunchSamples, Medians)


def suites(table: Sequence[Verdict]) -> list[str]:
    """All suites that a table rests on, in the order of its cells."""
    return list(dict.fromkeys(name for verdict in table for name in verdict.suites))


def samples(
    db: Statements,
    campaign: str,
    table: Sequence[Verdict],
    sizes: Collection[int] | None = None,
    functions: Collection[str] | None = None,
) -> list[LaunchSamples]:
    """Return the samples of all cases of a table, of the suites that the verdicts of a case name;
    of a case that none names, those of the verdicts of its function and size. `sizes`, `functions`:
    as runs.launch_samples."""
    return _joined(
        table,
        lambda suite: runs.launch_samples(db, campaign, [suite], sizes=sizes, functions=functions),
        lambda a, b: LaunchSamples(
            a.case, [*a.runs, *b.runs], [*a.ns, *b.ns], [*a.counts, *b.counts]
        ),
    )


def medians(
    db: Statements,
    campaign: str,
    table: Sequence[Verdict],
    sizes: Collection[int] | None = None,
    functions: Collection[str] | None = None,
) -> list[Medians]:
    """The same, launch by launch; also of samples that were thrown away."""
    return _joined(
        table,
        lambda suite: runs.medians(db, campaign, [suite], sizes=sizes, functions=functions),
        lambda a, b: Medians(a.case, [*a.runs, *b.runs], [*a.seconds, *b.seconds]),
    )


def _joined(
    table: Sequence[Verdict],
    of_suite: Callable[[str], Sequence[_Found]],
    both: Callable[[_Found, _Found], _Found],
) -> list[_Found]:
    """Return what the suites of a table have of each case that rests on them; of a case in several,
    `both`."""
    joined: dict[bytes, _Found] = {}
    named = _named(table)
    for suite in suites(table):
        for of_case in of_suite(suite):
            if named(of_case.case, suite):
                key = msgspec.json.encode(of_case.case)
                joined[key] = both(joined[key], of_case) if key in joined else of_case
    return list(joined.values())


def _named(table: Sequence[Verdict]) -> Callable[[Case, str], bool]:
    """Return whether the verdicts of a case rest on a suite."""
    by_side: dict[tuple[str, str, int], set[str]] = {}
    by_cell: dict[tuple[str, int], set[str]] = {}
    for verdict in table:
        for side in verdict.sides:
            by_side.setdefault(side, set()).update(verdict.suites)
        by_cell.setdefault((verdict.function, verdict.bytes), set()).update(verdict.suites)

    def named(case: Case, suite: str) -> bool:
        suites_of_case = by_side.get((case.function, case.variant, case.bytes))
        suites_of_case = suites_of_case or by_cell.get((case.function, case.bytes))
        return suites_of_case is None or suite in suites_of_case

    return named
