"""Samples by the number of a case in its plan: where one plan holds the same case twice, or the
same case with planted delays, `runs.medians` would pool what this tells apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plumbline_db import series
from plumbline_db.statements import Statements


def samples(
    db: Statements, campaign: str, suite: str, sequence: int
) -> dict[int, list[NDArray[np.int64]]]:
    """The samples of each case of a launch in nanoseconds, one array a block, without warm-up, by
    case number; those of a transit too, so that blocks pair. Only of cases whose check is ok; none
    where the launch has not finished."""
    rows = db.rows(
        """SELECT m.number, m.case_id
           FROM suite JOIN run ON run.suite = suite.number
           JOIN measurement m ON m.run = run.number
           WHERE suite.campaign = :campaign AND suite.name = :suite AND run.sequence = :sequence
             AND run.failure IS NULL AND m.outcome = 'ok'""",
        {"campaign": campaign, "suite": suite, "sequence": sequence},
    )
    found = series.of(db, [number for number, _ in rows])
    by_case = {case: found[number].by_block() for number, case in rows if number in found}
    return {case: blocks for case, blocks in by_case.items() if blocks}
