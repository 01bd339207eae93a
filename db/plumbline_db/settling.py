"""The way in which cases of a campaign came to the state in which their samples were taken."""

from __future__ import annotations

from typing import NamedTuple

from plumbline_db import columns, launch_records
from plumbline_db.probe_records import Samples
from plumbline_db.records import Case
from plumbline_db.statements import Statements


class First(NamedTuple):
    """A case that a finished launch of `suite` timed from its first block on; `transit`: of how
    many blocks the samples are no results; `launches`: how many times it was measured in all, in
    any use."""

    case: Case
    suite: str
    samples: Samples
    transit: int
    launches: int


def first_blocks(db: Statements, campaign: str, *, unsettled: bool) -> list[First]:
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
                  m.transit, m.launches
           FROM m JOIN configuration c ON c.number = m.configuration
           WHERE (NOT :unsettled OR m.transit > 0 OR NOT m.settled) AND m.calls = 0
           ORDER BY m.run, m.case_id""",
        {"campaign": campaign, "unsettled": unsettled},
    )
    cases: dict[int, set[int]] = {}
    for run, *_, case, _, _ in rows:
        cases.setdefault(run, set()).add(case)
    samples = launch_records.samples_there(db, cases)
    firsts = []
    for run, *asked, suite, case, transit, launches in rows:
        first = samples.get((run, case))
        if first is None or first.blocks[:1] != [0]:
            continue
        if not unsettled or transit or not all(first.settled[:1]):
            firsts.append(First(columns.read(Case, asked), suite, first, transit, launches))
    return firsts
