"""Conditions that weaken the launches of an overlap suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from plumbline.measure import conditions
from plumbline.measure.conditions import Weakness
from plumbline_db import overlaps, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import Overlap
from plumbline_db.records import Campaign

DRIFT = 0.2  # of the median


def found(db: Database, campaign: Campaign) -> list[Weakness]:
    launches = runs.surroundings(db, campaign.id)
    records = (overlaps.of_launch(db, launch.run) for launch in launches)
    cells = ([cell for cell in record if isinstance(cell, Overlap)] for record in records)
    return conditions.of_launches(launches) + drift(cells)


def drift(launches: Iterable[Sequence[Overlap]]) -> list[Weakness]:
    """Return that of messages alone: in one launch the same message is measured beside every amount
    of work, and should take the same time."""
    count = apart = 0
    for cells in launches:
        by_message: dict[tuple[int, int, int], list[float]] = {}
        for cell in cells:
            if cell.communication_ns:
                key = (cell.bytes, cell.rank, cell.threads)
                by_message.setdefault(key, []).append(float(np.median(cell.communication_ns)))
        for medians in by_message.values():
            middle = float(np.median(medians))
            count += len(medians)
            apart += sum(abs(time - middle) > DRIFT * middle for time in medians)
    if not apart:
        return []
    text = (
        f"in {apart} of {count} cells of launches the message alone took over {DRIFT:.0%} more or "
        "less than at other amounts of work in the same launch: other load, or caches that the "
        "work has emptied; look at their intervals, and measure again when the machine is quiet"
    )
    return [Weakness("drift", text)]
