"""How cases of a campaign came to the state in which their samples were taken."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from plumbline_db import columns, series
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
    """Of cases whose result is right, in the order in which they were stored; `unsettled`: of those
    alone that had not settled, then or later."""
    rows = db.rows(
        """WITH m AS (
               SELECT measurement.number AS measurement, case_id, suite.name AS suite_name, p.*,
                      count(*) OVER (
                          PARTITION BY function, variant, configuration, bytes, ranks
                      ) AS launches
               FROM run JOIN suite ON suite.number = run.suite
               JOIN measurement ON measurement.run = run.number
               JOIN planned_case p ON p.number = measurement.planned_case
               WHERE suite.campaign = :campaign AND run.failure IS NULL
                 AND measurement.outcome = 'ok'
           )
           SELECT m.measurement, m.function, m.variant, c.knobs, m.config, m.bytes, m.type, m.op,
                  m.root, m.delay_ns, m.ranks, m.use, m.counts, m.suite_name, m.case_id,
                  coalesce(t.blocks, 0), m.launches
           FROM m JOIN configuration c ON c.number = m.configuration
           JOIN series s ON s.measurement = m.measurement
           LEFT JOIN transit t ON t.measurement = m.measurement
           WHERE NOT :unsettled OR t.blocks IS NOT NULL
              OR s.shape IN (SELECT value FROM json_each(:shapes))
           ORDER BY m.measurement""",
        {
            "campaign": campaign,
            "unsettled": unsettled,
            "shapes": msgspec.json.encode(series.unsettled_shapes(db)).decode(),
        },
    )
    kept = series.of(db, [row[0] for row in rows])
    firsts = []
    for number, *asked, suite, case, transit, launches in rows:
        first = kept[number].record(case)
        if first.blocks[:1] != [0]:
            continue
        if not unsettled or transit or not all(first.settled[:1]):
            firsts.append(First(columns.read(Case, asked), suite, first, transit, launches))
    return firsts
