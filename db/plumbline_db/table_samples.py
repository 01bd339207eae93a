"""What a violation table rests on: of each side the samples of the launches that its verdicts name.

Cells of one table may rest on launches of several turns of a campaign: what was measured before the
winners of a cell changed says nothing of it now."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from plumbline_db import runs
from plumbline_db.records import Medians, Verdict
from plumbline_db.runs import LaunchSamples
from plumbline_db.statements import Statements


def suites(table: Sequence[Verdict]) -> list[str]:
    """All suites that a table rests on, in the order of its cells."""
    return list(dict.fromkeys(name for verdict in table for name in verdict.suites))


def samples(
    db: Statements, campaign: str, table: Sequence[Verdict], sizes: Collection[int] | None = None
) -> list[LaunchSamples]:
    """Of all cases of the suites of a table, those of the suites that the verdicts of a case name;
    of a case that none names, those of the verdicts of its function and size. `sizes`: as
    runs.launch_samples."""
    by_side: dict[tuple[str, str, int], set[str]] = {}
    by_cell: dict[tuple[str, int], set[str]] = {}
    for verdict in table:
        for side in verdict.sides:
            by_side.setdefault(side, set()).update(verdict.suites)
        by_cell.setdefault((verdict.function, verdict.bytes), set()).update(verdict.suites)
    joined: dict[bytes, LaunchSamples] = {}
    for suite in suites(table):
        for found in runs.launch_samples(db, campaign, [suite], sizes=sizes):
            case = found.case
            named = by_side.get((case.function, case.variant, case.bytes))
            named = named or by_cell.get((case.function, case.bytes))
            if named is not None and suite not in named:
                continue
            key = msgspec.json.encode(case)
            known = joined.get(key, LaunchSamples(case, [], []))
            joined[key] = LaunchSamples(case, [*known.runs, *found.runs], [*known.ns, *found.ns])
    return list(joined.values())


def medians(
    db: Statements, campaign: str, table: Sequence[Verdict], sizes: Collection[int] | None = None
) -> list[Medians]:
    """The same, launch by launch."""
    return [runs.medians_of(found) for found in samples(db, campaign, table, sizes)]
