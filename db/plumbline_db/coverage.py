"""The knowledge that all campaigns of a place together know of it, kept in a table of its own, so
that a scrape reads a row in place of all verdicts.

Campaigns speak cell by cell: what a later, smaller one has measured takes the place of those very
cells, and all others stay as the earlier one left them. `before`: the library as it is, as the
campaign that began last measured it. `after`: with exported files in force; the table of a finished
campaign with winners speaks before one without, the later before the earlier."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

import msgspec

from plumbline_db import columns, cost
from plumbline_db.layout import OVERLAP_TUNE, use_of, verifies_only
from plumbline_db.records import FROM, OtherUse, Record, by_number
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


STAGES = ("before", "after")

FULL = 0.9
"""A table is full when it has this share of the cells that are known at its place."""

MEASURED_HERE = (
    f"(instr(key, '{FROM}') = 0 AND id NOT IN (SELECT transfer.campaign FROM transfer)) "  # noqa: S608
)
"""The condition that a campaign was neither imported nor lies in an exported file."""

_COMMAND = "CASE WHEN json_valid(settings) THEN json_extract(settings, '$.command') END"


class SpeakingCampaign(NamedTuple):
    id: str
    finished: str
    started: str
    is_finished: bool
    has_winners: bool
    use: str
    verifies_only: bool
    own: bool

    def measured(self, stage: str) -> str:
        """The library as it is was measured when a campaign began, exported files at its end."""
        return self.finished if stage == "after" and self.finished else self.started


class _Judged(NamedTuple):
    """The part of a verdict that is counted."""

    guideline: str
    verdict: str
    ratio: float | None
    low: float | None
    high: float | None
    uses: str  # other ways of use: JSON

    @property
    def depends(self) -> bool:
        """Another way of use has another answer."""
        others = msgspec.json.decode(self.uses, type=list[OtherUse])
        return {"holds", "violated"} <= {self.verdict, *(use.verdict for use in others)}


_Table = dict[tuple[Any, ...], _Judged]


def renew(db: Statements, campaign: str) -> None:
    """Renew what is kept of the place of a campaign, which has a new table or another state; inside
    the caller's transaction. Launches of other commands are of no place."""
    row = db.row(
        f"""SELECT machine, library_fingerprint, nprocs, ppn, coalesce({_COMMAND}, '')
            FROM campaign WHERE id = :campaign""",  # noqa: S608
        {"campaign": campaign},
    )
    if row is None or row[-1] not in ("", OVERLAP_TUNE):
        return
    names = ("machine", "library_fingerprint", "nprocs", "ppn", "command")
    _Renewal(db, dict(zip(names, row, strict=True))).write()


class _Renewal:
    """The renewal of one place, by its columns."""

    def __init__(self, db: Statements, key: dict[str, Any]) -> None:
        self._db = db
        self._key = key
        self._campaigns = campaigns_of(db, key)
        self._speaking = in_order(self._campaigns)
        searched = self._speaking["after"]
        self._in_force = next(
            (
                candidate
                for candidate in reversed(searched)
                if candidate.is_finished and candidate.has_winners and candidate.own
            ),
            None,
        )

    def write(self) -> None:
        self._db.rows(
            """DELETE FROM coverage WHERE machine = :machine
               AND library_fingerprint = :library_fingerprint AND nprocs = :nprocs
               AND ppn = :ppn AND command = :command""",
            self._key,
        )
        tables = {stage: self._tables(stage) for stage in STAGES}
        stages = {stage: _stage(stage, of_stage) for stage, of_stage in tables.items() if of_stage}
        if not stages:
            return
        speaking = {share.campaign for stage in stages.values() for share in stage.shares}
        values = self._key | {
            "in_force": self._in_force.id if self._in_force else None,
            "timed_cells": cost.cells(self._db, sorted(speaking)),
            "finished": max(
                (campaign.finished for campaign in self._campaigns if campaign.is_finished),
                default="",
            ),
            "stages": msgspec.json.encode(stages).decode(),
        }
        columns.put_row(self._db, "coverage", values)

    def _tables(self, stage: str) -> list[tuple[SpeakingCampaign, _Table]]:
        """Return the tables that there are, in the order in which they are heard: the last one has
        its way."""
        tables = [
            (campaign, _table(self._db, campaign, stage)) for campaign in self._speaking[stage]
        ]
        return [(campaign, table) for campaign, table in tables if table]


def _stage(stage: str, tables: Sequence[tuple[SpeakingCampaign, _Table]]) -> StageCoverage:
    cells: dict[tuple[Any, ...], tuple[SpeakingCampaign, _Judged]] = {}
    for campaign, table in tables:
        for cell, judged in table.items():
            cells[cell] = campaign, judged
    newest, newest_table = tables[-1]
    full = [
        campaign
        for campaign, table in tables
        if campaign.is_finished and len(table) >= FULL * len(cells)
    ]
    earlier = [campaign for campaign in full if campaign is not newest]
    whole = full[-1] if full else None
    compared = dict(tables)[earlier[-1]] if earlier else None
    now = {cell: judged for cell, (_, judged) in cells.items()}
    counts = _by_guideline(now, compared)
    return StageCoverage(
        guidelines={name: counts[name] for name in sorted(counts, key=by_number)},
        shares=_shares([campaign for campaign, _ in cells.values()], stage),
        cells=len(cells),
        noise=_noise(list(now.values())),
        newest=newest.id,
        newest_measured=newest.measured(stage),
        newest_cells=len(newest_table),
        whole=whole.id if whole else None,
        whole_measured=whole.measured(stage) if whole else "",
        compared=earlier[-1].id if earlier else None,
    )


def in_order(speaking: Sequence[SpeakingCampaign]) -> dict[str, list[SpeakingCampaign]]:
    """Return the tables by stage, in the order in which they are heard: the last one has its
    way."""
    searched = [
        campaign
        for campaign in sorted(speaking, key=_confirmed)
        if campaign.has_winners or not campaign.verifies_only
    ]
    return {"before": list(speaking), "after": searched}


def campaigns_of(db: Statements, key: dict[str, Any]) -> list[SpeakingCampaign]:
    """Return the campaigns of a place in the order in which they were started. Imported campaigns
    do not count where some were measured here."""
    campaign_rows = db.rows(
        f"""SELECT id, finished, started, state = 'finished',
                   EXISTS (SELECT 1 FROM winner WHERE winner.campaign = campaign.id), settings,
                   {MEASURED_HERE}
            FROM campaign
            WHERE machine = :machine AND library_fingerprint = :library_fingerprint
              AND nprocs = :nprocs AND ppn = :ppn AND coalesce({_COMMAND}, '') = :command
            ORDER BY number""",  # noqa: S608
        key,
    )
    every = [
        SpeakingCampaign(
            id=id,
            finished=finished,
            started=started,
            is_finished=bool(ended),
            has_winners=bool(won),
            use=use_of(text),
            verifies_only=verifies_only(text),
            own=bool(own),
        )
        for id, finished, started, ended, won, text, own in campaign_rows
    ]
    return [own_campaign for own_campaign in every if own_campaign.own] or every


def _confirmed(campaign: SpeakingCampaign) -> tuple[bool, bool, str]:
    """The table with winners in force speaks before one without, the later before the earlier, and
    any before that of a campaign that is not at its end."""
    return campaign.is_finished, campaign.has_winners, campaign.finished


def _table(db: Statements, campaign: SpeakingCampaign, stage: str) -> _Table:
    """Return the verdicts by what a verdict is about: two of the same cell say the same thing at
    different times."""
    verdict_rows = db.rows(
        """SELECT guideline, verdict, ratio, ratio_low, ratio_high, uses,
                  kind, function, lhs, rhs, bytes, other_bytes, factor, ranks
           FROM verdict WHERE campaign = :campaign AND stage = :stage""",
        {"campaign": campaign.id, "stage": stage},
    )
    return {(campaign.use, row[0], *row[6:]): _Judged(*row[:6]) for row in verdict_rows}


def _noise(cells: Sequence[_Judged]) -> float | None:
    widths = [
        (cell.high - cell.low) / (2 * cell.ratio)
        for cell in cells
        if cell.ratio and cell.low is not None and cell.high is not None
    ]
    return median(widths) if widths else None


def _by_guideline(now: _Table, then: _Table | None) -> dict[str, Count]:
    grouped: dict[str, list[tuple[_Judged, str]]] = {}
    for cell, judged in now.items():
        before = then.get(cell) if then is not None else None
        grouped.setdefault(judged.guideline, []).append((judged, before.verdict if before else ""))
    return {
        guideline: _count([judged for judged, _ in group]) if then is None else _changed(group)
        for guideline, group in grouped.items()
    }


def _count(cells: Sequence[_Judged]) -> Count:
    return Count(
        sum(cell.verdict == "violated" and not cell.depends for cell in cells),
        sum(cell.depends for cell in cells),
        sum(cell.verdict == "undecided" for cell in cells),
        max((cell.ratio for cell in cells if cell.ratio is not None), default=None),
    )


def _changed(group: Sequence[tuple[_Judged, str]]) -> Count:
    """Return the cells that changed, each with what it was."""
    changes = [(was, cell.verdict) for cell, was in group]
    return msgspec.structs.replace(
        _count([cell for cell, _ in group]),
        appeared=changes.count(("holds", "violated")),
        gone=changes.count(("violated", "holds")),
    )


def _shares(speaking: Sequence[SpeakingCampaign], stage: str) -> list[Share]:
    """Return the shares of the campaigns of all cells of a stage, by id."""
    counts: dict[SpeakingCampaign, int] = {}
    for campaign in speaking:
        counts[campaign] = counts.get(campaign, 0) + 1
    return [
        Share(campaign.id, counts[campaign], campaign.measured(stage))
        for campaign in sorted(
            counts, key=lambda speaking_campaign: by_number(speaking_campaign.id)
        )
    ]
