"""Samples by the number of a case in its plan: where one plan holds the same case twice, or the
same case with planted delays, `runs.medians` would pool what this tells apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plumbline_db.statements import Statements


def samples(
    db: Statements, campaign: str, suite: str, sequence: int
) -> dict[int, list[NDArray[np.int64]]]:
    """The samples of each case of a launch in nanoseconds, one array a block, without warm-up, by
    case number; those of a transit too, so that blocks pair. Only of cases whose check is ok; none
    where the launch has not finished."""
    found: dict[int, list[NDArray[np.int64]]] = {}
    for case, blob in db.rows(
        """SELECT m.case_id, b.samples
           FROM suite JOIN run ON run.suite = suite.number
           JOIN measurement m ON m.run = run.number
           JOIN sample_block b ON b.measurement = m.number
           WHERE suite.campaign = :campaign AND suite.name = :suite AND run.sequence = :sequence
             AND run.failure IS NULL AND m.outcome = 'ok' AND length(b.samples) > 0
           ORDER BY m.case_id, b.block""",
        {"campaign": campaign, "suite": suite, "sequence": sequence},
    ):
        found.setdefault(case, []).append(np.frombuffer(blob, "<i8"))
    return found
