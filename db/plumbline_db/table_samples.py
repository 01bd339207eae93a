"""The samples that a violation table rests on: of each side those of the launches that its verdicts
name.

Cells of one table may rest on launches of several turns of a campaign: what was measured before the
winners of a cell changed says nothing of it now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import msgspec

from plumbline_db import runs
from plumbline_db.records import Case, Medians, Verdict
from plumbline_db.runs import LaunchSamples
from plumbline_db.statements import Statements

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
        lambda a, b: LaunchSamples(a.case, [*a.runs, *b.runs], [*a.ns, *b.ns]),
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
