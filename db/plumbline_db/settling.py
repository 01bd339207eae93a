"""How cases of a campaign came to the state in which their samples were taken."""

from __future__ import annotations

from typing import NamedTuple

from plumbline_db import configurations
from plumbline_db.blobs import times
from plumbline_db.records import Case, Samples
from plumbline_db.statements import Statements


class First(NamedTuple):
    """A case in the first block of a finished launch of `suite`; `transit`: of how many blocks the
    samples are no results; `launches`: how many times it was measured in all, in any use."""

    case: Case
    suite: str
    samples: Samples
    transit: int
    launches: int


def first_blocks(db: Statements, campaign: str, *, unsettled: bool) -> list[First]:
    """Of cases whose result is right, in the order in which they were stored; `unsettled`: of those
    alone that had not settled, then or later."""
    found = db.rows(
        """WITH m AS (
               SELECT measurement.*, suite.name AS suite_name, count(*) OVER (
                   PARTITION BY function, variant, configuration, bytes, ranks
               ) AS launches
               FROM run JOIN suite ON suite.number = run.suite
               JOIN measurement ON measurement.run = run.number
               WHERE suite.campaign = :campaign AND run.failure IS NULL
                 AND measurement.outcome = 'ok'
           )
           SELECT m.function, m.variant, c.knobs, m.config, m.bytes, m.type, m.op, m.root,
                  m.delay_ns, m.ranks, m.use, m.suite_name, m.case_id, b.warmup, b.samples,
                  b.settled, coalesce(t.blocks, 0), m.launches
           FROM m JOIN configuration c ON c.number = m.configuration
           JOIN sample_block b ON b.measurement = m.number AND b.block = 0
           LEFT JOIN transit t ON t.measurement = m.number
           WHERE NOT (:unsettled AND b.settled AND t.blocks IS NULL)
           ORDER BY m.number""",
        {"campaign": campaign, "unsettled": unsettled},
    )
    return [
        First(
            Case(f, v, configurations.knobs(k), *rest),
            suite,
            Samples(case, 0, times(warmup), times(ns), settled=bool(settled)),
            transit,
            launches,
        )
        for f, v, k, *rest, suite, case, warmup, ns, settled, transit, launches in found
    ]
