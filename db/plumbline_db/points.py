"""The curves of suites: which sizes and numbers of ranks were measured, and why each place was."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from plumbline_db import campaigns, columns
from plumbline_db.records import Record, Suite
from plumbline_db.statements import Statements

Axis = Literal["bytes", "ranks"]
Why = Literal["asked", "curvature", "crossover", "jump"]


class SuitePoint(Record, frozen=True):
    """A place on the axis of the curves of a suite, and why it was measured: it was asked for, or
    after a look at the curves there was most to learn there. `look`: 1 of what was asked for."""

    suite: str
    axis: Axis
    place: int
    look: int = 1
    why: Why = "asked"
    detail: str = ""


def stored_suite(name: str, look: int = 1) -> Suite:
    """The launches of a look at the suite that a file calls `name`."""
    return Suite("suite", step=name, look=look)


def put(db: Statements, campaign: str, points: Sequence[SuitePoint]) -> None:
    """Store them in one transaction. What is known of a place stays: it was first measured for
    that."""
    with db.transaction():
        campaigns.require(db, campaign)
        rows = [columns.values(point) | {"campaign": campaign} for point in points]
        columns.put_rows(db, "point", rows, "ON CONFLICT DO NOTHING")


def get(db: Statements, campaign: str) -> list[SuitePoint]:
    """Return them by suite, axis and place."""
    where = "WHERE campaign = :campaign ORDER BY suite, axis, place"
    return columns.all_of(db, "point", SuitePoint, where, {"campaign": campaign})


class Sweep(Record, frozen=True):
    """`sizes`: how many. `ranks`: it ran on the first ones; 0: on all."""

    suite: str
    function: str
    variant: str
    knobs: dict[str, str]
    ranks: int
    sizes: int


def sweeps(db: Statements, campaign: str, suites: Collection[str] | None = None) -> list[Sweep]:
    """Return those of some suites of a campaign (None: of all that are in use), as the first
    finished launch of each has them, in the way of use that the campaign is about; suites in the
    order in which they were begun, the rest by name."""
    sweep_rows = db.rows(
        """SELECT suite.name, p.function, p.variant, c.knobs, p.ranks, count(DISTINCT p.bytes)
           FROM suite JOIN run ON run.number = (
               SELECT min(number) FROM run WHERE run.suite = suite.number AND run.failure IS NULL)
           JOIN cell_time m ON m.run = run.number AND m.n IS NOT NULL
           JOIN planned_case p ON p.number = m.planned_case
           JOIN configuration c ON c.number = p.configuration
           WHERE suite.campaign = :campaign AND suite.parted = 0 AND p.use = ''
             AND m.outcome = 'ok'
             AND (:suites IS NULL OR suite.name IN (SELECT value FROM json_each(:suites)))
           GROUP BY suite.number, p.function, p.variant, c.number, p.ranks
           ORDER BY suite.number, p.function, p.variant <> 'default', p.variant, c.knobs,
                    p.ranks""",
        {
            "campaign": campaign,
            "suites": None if suites is None else msgspec.json.encode(sorted(suites)).decode(),
        },
    )
    return [columns.read(Sweep, row) for row in sweep_rows]


def sizes(db: Statements, campaign: str, function: str, suites: Collection[str]) -> list[int]:
    """Return the sizes at which the library's own call of a function was measured in some suites,
    in bytes."""
    size_rows = db.rows(
        """SELECT DISTINCT p.bytes
           FROM suite JOIN run ON run.suite = suite.number
           JOIN cell_time m ON m.run = run.number
           JOIN planned_case p ON p.number = m.planned_case
           JOIN configuration c ON c.number = p.configuration
           WHERE suite.campaign = :campaign AND run.failure IS NULL AND m.outcome = 'ok'
             AND p.function = :function AND p.variant = 'default' AND c.knobs = '{}'
             AND p.use = '' AND p.ranks = 0
             AND suite.name IN (SELECT value FROM json_each(:suites))
           ORDER BY p.bytes""",
        {
            "campaign": campaign,
            "function": function,
            "suites": msgspec.json.encode(sorted(suites)).decode(),
        },
    )
    return [size for (size,) in size_rows]


class DescribedSuite(Record, frozen=True):
    """A suite of `plumbline suite`, as its file calls it, all looks at it together. `by_rank`:
    sizes at which the times of single ranks were kept."""

    name: str
    axis: Axis
    sweeps: list[Sweep]
    by_rank: list[int]


def described(db: Statements, campaign: str) -> list[DescribedSuite]:
    """Return those of a run of suites that have results, in the order in which they were begun;
    none of other campaigns."""
    axes = {point.suite: point.axis for point in get(db, campaign)}
    if not axes:
        return []
    rows = db.rows(
        """SELECT suite.step, p.function, p.variant, c.knobs, p.ranks, p.bytes, max(p.by_rank),
                  min(suite.number)
           FROM suite JOIN run ON run.suite = suite.number AND run.failure IS NULL
           JOIN cell_time m ON m.run = run.number AND m.n IS NOT NULL
           JOIN planned_case p ON p.number = m.planned_case
           JOIN configuration c ON c.number = p.configuration
           WHERE suite.campaign = :campaign AND suite.parted = 0 AND suite.stage = 'suite'
             AND m.outcome = 'ok'
           GROUP BY suite.step, p.function, p.variant, c.number, p.ranks, p.bytes
           ORDER BY min(suite.number), min(m.run), min(m.case_id)""",
        {"campaign": campaign},
    )
    places: dict[str, dict[tuple[str, str, str, int], set[int]]] = {}
    sizes: dict[str, set[int]] = {}
    for step, function, variant, knobs, ranks, size, by_rank, _ in rows:
        name, over_ranks = step, axes[stored_suite(step).name] == "ranks"
        key = (function, variant, knobs, 0 if over_ranks else ranks)
        places.setdefault(name, {}).setdefault(key, set()).add(ranks if over_ranks else size)
        if by_rank and not over_ranks:
            sizes.setdefault(name, set()).add(size)
    return [
        DescribedSuite(
            name,
            axes[stored_suite(name).name],
            [
                Sweep(name, function, variant, columns.knobs(knobs), ranks, len(at))
                for (function, variant, knobs, ranks), at in sizes_by_sweep.items()
            ],
            sorted(sizes.get(name, ())),
        )
        for name, sizes_by_sweep in places.items()
    ]
