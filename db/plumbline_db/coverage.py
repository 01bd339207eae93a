"""The knowledge that all campaigns of a place together know of it, kept in a table of its own, so
that a scrape reads a row in place of all verdicts. coverage_renewal.py writes them.

Campaigns speak cell by cell: what a later, smaller one has measured takes the place of those very
cells, and all others stay as the earlier one left them. `before`: the library as it is, as the
campaign that began last measured it. `after`: with exported files in force; the table of a finished
campaign with winners speaks before one without, the later before the earlier."""

from __future__ import annotations

import msgspec

from plumbline_db.layout import OVERLAP_TUNE
from plumbline_db.order import by_number
from plumbline_db.record import Record
from plumbline_db.statements import Statements


class Place(Record, frozen=True, order=True):
    """A machine, library and layout: results are compared within it. `host`: what people call the
    machine; `library`: the build by family and version."""

    machine: str
    host: str
    library: str
    fingerprint: str
    nprocs: int
    ppn: int


class Count(Record, frozen=True):
    """One guideline at one stage: cells that violate it in every way of use that was measured, and
    `in_some_uses` only. `worst_ratio`: None when no cell could be judged. Since the full
    table before the newest one (None: there is no such table), `appeared` cells that held are
    violated, and `gone` ones that were violated hold."""

    violations: int
    in_some_uses: int
    undecided: int
    worst_ratio: float | None
    appeared: int | None = None
    gone: int | None = None


class Share(Record, frozen=True):
    """The number of cells of a place that a campaign speaks for. `measured`: not before then (ISO
    8601)."""

    campaign: str
    verdicts: int
    measured: str


class StageCoverage(Record, frozen=True):
    """`cells` have a verdict; `noise`: the median of half the width of their ratios' intervals over
    the ratio. `newest` and `whole`: whose table is the newest, and the newest full one (None: none
    is), not older than `…_measured`; `compared`: the full one before the newest."""

    guidelines: dict[str, Count]
    shares: list[Share]
    cells: int
    noise: float | None
    newest: str
    newest_measured: str
    newest_cells: int
    whole: str | None
    whole_measured: str
    compared: str | None


class Coverage(Record, frozen=True):
    """`stages` by name; `in_force`: the campaign whose winners are in use (None: there are none);
    `finished`: when a campaign ended last (empty: none did)."""

    place: Place
    in_force: str | None
    timed_cells: int
    finished: str
    stages: dict[str, StageCoverage]

    @property
    def speaking(self) -> list[str]:
        """The campaigns that speak for a cell of any stage, in the order of their ids."""
        shares = [share for of_stage in self.stages.values() for share in of_stage.shares]
        return sorted({share.campaign for share in shares}, key=by_number)


def of_campaigns(db: Statements) -> list[Coverage]:
    """Return what is known of each place that has verdicts, by place."""
    return _stored(db, "")


def of_overlap(db: Statements) -> list[Coverage]:
    """The same of `plumbline overlap tune`: other guidelines at the same places."""
    return _stored(db, OVERLAP_TUNE)


def _stored(db: Statements, command: str) -> list[Coverage]:
    places = db.rows(
        """SELECT c.machine, m.host, l.id, l.fingerprint, c.nprocs, c.ppn, c.in_force,
                  c.timed_cells, c.finished, c.stages
           FROM coverage c JOIN machine m ON m.id = c.machine
           JOIN library l ON l.fingerprint = c.library_fingerprint WHERE c.command = :command""",
        {"command": command},
    )
    places_covered = [
        Coverage(Place(*place), in_force, cells, finished, _stages(stages))
        for *place, in_force, cells, finished, stages in places
    ]
    return sorted(places_covered, key=lambda covered: covered.place)


_stages = msgspec.json.Decoder(dict[str, StageCoverage]).decode
