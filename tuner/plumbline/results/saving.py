"""The time that the winners of a campaign save an application a run: its calls times what a call
takes less, as the cold launches of the last confirmation measured it (docs/application.md)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from plumbline.core import application
from plumbline.core.application import Application, Calls
from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.search.outcome import label
from plumbline.search.space.candidates import DEFAULT, index
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Verdict, Winner

if TYPE_CHECKING:
    from plumbline.verify.significance.comparison import Comparison


class Cold(msgspec.Struct, frozen=True):
    """A cell in cold launches: the library as it is, and the files' time over that."""

    default_seconds: float
    ratio: Comparison


class SavedCalls(msgspec.Struct, frozen=True):
    """Calls of one kind, and what decides them with the winners in force ('': the library as it
    is). What is saved is None where nothing near was measured."""

    function: str
    bytes: int
    calls: float
    seconds: float
    work_seconds: float
    share: float
    configuration: str
    default_seconds: float | None
    saving_seconds: float | None
    saving_low_seconds: float | None
    saving_high_seconds: float | None


class Saving(msgspec.Struct, frozen=True):
    """The saving of one run, a rank on the average. `here_seconds`: on communicators of the
    campaign's ranks. The ends of the interval are the sums of the rows' ends. `saving_seconds` is
    None before the campaign is finished."""

    command: list[str]
    library: str
    run_seconds: float
    collective_seconds: float
    here_seconds: float
    saving_seconds: float | None
    saving_low_seconds: float | None
    saving_high_seconds: float | None
    rows: list[SavedCalls]

    @property
    def decided(self) -> list[SavedCalls]:
        """Calls that a winner decides, and of which something near was measured."""
        return [row for row in self.rows if row.configuration and row.saving_seconds is not None]

    @property
    def unmeasured(self) -> list[SavedCalls]:
        """Calls that a winner decides, and nothing near was measured."""
        return [row for row in self.rows if row.configuration and row.saving_seconds is None]

    def calls_for(self, verdict: Verdict) -> bool:
        """Return whether the cell is one of those that make up most of the work here."""
        work = {(row.function, row.bytes): row.work_seconds for row in self.rows}
        return any(
            function == verdict.function and application.nearest(size, [verdict.bytes])
            for function, size in application.heaviest(work)
        )


class _Asked(msgspec.Struct, frozen=True):
    """The part of a campaign's settings that is read here."""

    profile: Application | None = None


def of(
    db: Database, campaign: Campaign, after: Sequence[Verdict] | None, winners: Sequence[Winner]
) -> Saving | None:
    """None for a campaign without an application. `after`: the last table; None: not there yet."""
    profile = msgspec.json.decode(campaign.settings, type=_Asked).profile
    return None if profile is None else of_run(db, campaign, profile, after, winners)


def of_finished(database: Path, campaign_id: str, profile: Application) -> Saving:
    """Return the saving of a run of an application with the winners of a finished campaign in
    force."""
    with Database.open(database) as db:
        campaign = campaigns.get(db, campaign_id)
        after = findings.get_verdicts(db, campaign.id, "after")
        return of_run(db, campaign, profile, after, findings.get_winners(db, campaign.id))


def of_run(
    db: Database,
    campaign: Campaign,
    profile: Application,
    after: Sequence[Verdict] | None,
    winners: Sequence[Winner],
) -> Saving:
    """Return the saving of a run of an application, whatever the campaign was made for."""
    measured: dict[Target, Cold] = {}
    if after and winners:
        measured = cold(db, campaign, after, winners)
    calls = [calls for calls in profile.on(campaign.nprocs, campaign.nodes) if calls.bytes]
    whole = sum(call.work_seconds for call in calls) or 1.0
    rows = [_row(call, whole, winners, measured, done=after is not None) for call in calls]
    rows.sort(key=lambda row: -row.work_seconds)
    done = after is not None

    def total(values: Sequence[float | None]) -> float | None:
        return sum(value for value in values if value is not None) if done else None

    return Saving(
        command=profile.command,
        library=profile.library,
        run_seconds=profile.seconds,
        collective_seconds=profile.collective_seconds,
        here_seconds=sum(calls.seconds for calls in profile.on(campaign.nprocs, campaign.nodes)),
        saving_seconds=total([row.saving_seconds for row in rows]),
        saving_low_seconds=total([row.saving_low_seconds for row in rows]),
        saving_high_seconds=total([row.saving_high_seconds for row in rows]),
        rows=rows,
    )


def cold(
    db: Database, campaign: Campaign, table: Sequence[Verdict], winners: Sequence[Winner]
) -> dict[Target, Cold]:
    """Cells that were measured with and without the files, in the confirmation that its verdicts in
    the `table` rest on."""
    from plumbline.campaign.pairs import cold_ratios
    from plumbline.settings.identity import settings_of
    from plumbline.verify.decision import compare_of

    settings = settings_of(campaign.settings)
    compare = compare_of(simulated=settings.ranks.simulate is not None)
    ratios: dict[Target, list[float]] = {}
    seconds: dict[Target, list[float]] = {}
    for name, decided_cells in _rounds(db, campaign, table).items():
        for tuned, plain in runs.in_turn(db, campaign.id, name):
            tuned_medians = index(runs.medians(db, campaign.id, [tuned]))
            plain_medians = index(runs.medians(db, campaign.id, [plain]))
            cells = [target for target, candidate in plain_medians if candidate == DEFAULT]
            logs, _ = cold_ratios(tuned_medians, plain_medians, cells, winners)
            for cell in decided_cells & logs.keys():
                ratios.setdefault(cell, []).extend(logs[cell])
                seconds.setdefault(cell, []).extend(plain_medians[cell, DEFAULT].values())
    return {
        cell: Cold(statistics.median(seconds[cell]), compare(logs, 1 - settings.claims.alpha))
        for cell, logs in ratios.items()
        if logs
    }


def _rounds(db: Database, campaign: Campaign, table: Sequence[Verdict]) -> dict[str, set[Target]]:
    """The cells of the library's own calls by the confirmation that their verdicts rest on, which
    one of its suites names."""
    every = runs.suites(db, campaign.id)
    names: dict[tuple[str, int, int], str] = {}
    cells_by_round: dict[str, set[Target]] = {}
    for verdict in table:
        for suite in map(every.__getitem__, verdict.suites):
            name = names.setdefault((suite.stage, suite.round, suite.parted), suite.name)
            cells_by_round.setdefault(name, set()).update(
                Target(function, size)
                for function, variant, size in verdict.sides
                if variant == DEFAULT.variant
            )
    return cells_by_round


def _row(
    calls: Calls,
    whole: float,
    winners: Sequence[Winner],
    measured: Mapping[Target, Cold],
    *,
    done: bool,
) -> SavedCalls:
    size = calls.bytes or 0
    winner = deciding(winners, Target(calls.function, size))
    saved: tuple[float | None, ...] = (0.0, 0.0, 0.0) if done else (None, None, None)
    default: float | None = None
    if winner is not None:
        alike = [
            cell.bytes
            for cell in measured
            if cell.function == calls.function and deciding(winners, cell) is winner
        ]
        near = application.nearest(size, alike)
        saved = (None, None, None)
        if near is not None:
            near_cell = measured[Target(calls.function, near)]
            default = near_cell.default_seconds
            ratio = near_cell.ratio
            low, high = ratio.low or ratio.ratio, ratio.high or ratio.ratio
            saved = tuple(calls.calls * default * (1 - share) for share in (ratio.ratio, high, low))
    return SavedCalls(
        function=calls.function,
        bytes=size,
        calls=calls.calls,
        seconds=calls.seconds,
        work_seconds=calls.work_seconds,
        share=calls.work_seconds / whole,
        configuration=label(winner.variant, winner.configuration) if winner else "",
        default_seconds=default,
        saving_seconds=saved[0],
        saving_low_seconds=saved[1],
        saving_high_seconds=saved[2],
    )
