"""The findings of a campaign: its violation tables, one for each stage; its searches and their
trials; and its winners, which replace the default. Of a recording: the collectives that are made by
hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from plumbline_db import blobs, campaigns, columns
from plumbline_db.coverage import STAGES, Coverage, campaigns_of, in_order, renew
from plumbline_db.records import Record, Search, Trial, Verdict, Winner
from plumbline_db.statements import Statements


class NewestVerdict(NamedTuple):
    campaign: str
    verdict: Verdict


def newest_of_place(
    db: Statements, coverage: Coverage, stage: str, command: str = ""
) -> list[NewestVerdict]:
    """One for each cell that has a verdict at a stage, `before` or `after`."""
    if stage not in coverage.stages:
        return []
    place = coverage.place
    speak = {share.campaign for share in coverage.stages[stage].shares}
    key: dict[str, Any] = {"machine": place.machine, "library_fingerprint": place.fingerprint}
    key |= {"nprocs": place.nprocs, "ppn": place.ppn, "command": command}
    cells: dict[tuple[Any, ...], NewestVerdict] = {}
    for campaign in in_order(campaigns_of(db, key))[stage]:
        for verdict in get_verdicts(db, campaign.id, stage) if campaign.id in speak else ():
            cells[campaign.use, *about(verdict)] = NewestVerdict(campaign.id, verdict)
    return list(cells.values())


def about(verdict: Verdict) -> tuple[Any, ...]:
    """Return what a verdict is about: two of the same cell say the same thing at different
    times."""
    sides = (verdict.kind, verdict.function, verdict.lhs, verdict.rhs)
    sizes = (verdict.bytes, verdict.other_bytes, verdict.factor, verdict.ranks)
    return (verdict.guideline, *sides, *sizes)


def put_verdicts(db: Statements, campaign: str, stage: str, verdicts: Sequence[Verdict]) -> None:
    """Replace the table of a stage. ValueError when a verdict belongs to another stage, or holds
    NaN: what could not be computed is None, with its reason."""
    for verdict in verdicts:
        if verdict.stage != stage:
            raise ValueError(f"a verdict of stage {verdict.stage} among those of {stage}")
    with db.transaction():
        campaigns.require(db, campaign)
        key = {"campaign": campaign, "stage": stage}
        db.rows("DELETE FROM verdict WHERE campaign = :campaign AND stage = :stage", key)
        columns.put_list(db, "verdict", verdicts, campaign=campaign)
        if stage in STAGES:
            renew(db, campaign)


def get_verdicts(db: Statements, campaign: str, stage: str) -> list[Verdict]:
    """Return them in the order in which they were put."""
    where = "WHERE campaign = :campaign AND stage = :stage ORDER BY position"
    key = {"campaign": campaign, "stage": stage}
    return columns.all_of(db, "verdict", Verdict, where, key)


def stages(db: Statements, campaign: str) -> list[str]:
    """`before`, then the others by name with `after` last."""
    stage_rows = db.rows(
        "SELECT DISTINCT stage FROM verdict WHERE campaign = :campaign", {"campaign": campaign}
    )
    first_and_last = {"before": 0, "after": 2}
    return sorted(
        (str(stage) for (stage,) in stage_rows), key=lambda s: (first_and_last.get(s, 1), s)
    )


def put_search(db: Statements, campaign: str, search: Search) -> None:
    """Store a search; one for the same cell in the same round is replaced."""
    with db.transaction():
        campaigns.require(db, campaign)
        number = columns.put_row(
            db,
            "search",
            columns.values(search, "trials") | {"campaign": campaign},
            "ON CONFLICT (campaign, round, function, nprocs, ppn, bytes) DO UPDATE SET "
            + f"{columns.renewed(Search, 'trials')} RETURNING number",
        )
        db.rows("DELETE FROM trial WHERE search = :search", {"search": number})
        columns.put_rows(
            db,
            "trial",
            [
                columns.values(trial, "knobs")
                | {"search": number, "position": position}
                | {"configuration": columns.configuration(db, trial.knobs)}
                for position, trial in enumerate(search.trials)
            ],
        )


def all_searches(db: Statements, campaign: str) -> list[Search]:
    """Return them by round, then in the order in which they were first stored."""
    trials: dict[int, list[Trial]] = {}
    for search, *row in db.rows(
        """SELECT t.search, t.variant, c.knobs, t.state, t.ratio, t.ratio_low, t.ratio_high,
                  t.launches, t.detail
           FROM trial t JOIN search s ON s.number = t.search
           JOIN configuration c ON c.number = t.configuration
           WHERE s.campaign = :campaign ORDER BY t.search, t.position""",
        {"campaign": campaign},
    ):
        trials.setdefault(search, []).append(columns.read(Trial, row))
    # Trials are stored in rows of their own.
    names = columns.names(Search).replace("trials", "'[]'")
    search_rows = db.rows(
        f"SELECT number, {names} FROM search WHERE campaign = :campaign ORDER BY round, number",  # noqa: S608
        {"campaign": campaign},
    )
    return [
        msgspec.structs.replace(columns.read(Search, row), trials=trials.get(number, []))
        for number, *row in search_rows
    ]


def put_winners(db: Statements, campaign: str, winners: Sequence[Winner]) -> None:
    """Replace all winners of a campaign."""
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows("DELETE FROM winner WHERE campaign = :campaign", {"campaign": campaign})
        columns.put_rows(
            db,
            "winner",
            [
                columns.values(winner)
                | {"campaign": campaign, "position": position}
                | {"configuration": columns.configuration(db, winner.configuration)}
                for position, winner in enumerate(winners)
            ],
        )
        renew(db, campaign)


def get_winners(db: Statements, campaign: str) -> list[Winner]:
    """Return them in the order in which they were put."""
    select = columns.select("winner", Winner).replace(
        "configuration",
        "(SELECT knobs FROM configuration c WHERE c.number = winner.configuration)",
        1,
    )
    rows = db.rows(select + "WHERE campaign = :id ORDER BY position", {"id": campaign})
    return [columns.read(Winner, row) for row in rows]


def speedups(db: Statements, campaign: str) -> dict[str, list[float]]:
    """Return the speed-ups of the winners of each function; functions by name."""
    speedups_by_function: dict[str, list[float]] = {}
    for function, speedup in db.rows(
        "SELECT function, speedup FROM winner WHERE campaign = :campaign ORDER BY function",
        {"campaign": campaign},
    ):
        speedups_by_function.setdefault(function, []).append(speedup)
    return speedups_by_function


class Detection(Record, frozen=True):
    """`id` tells recordings apart by what is in them; `seconds` from the first MPI_Init to the last
    MPI_Finalize; `looked`: when (ISO 8601); `findings`: JSON."""

    id: str
    recording: str
    command: str
    library: str
    nprocs: int
    seconds: float
    looked: str
    replayed: bool
    findings: str


def put_detection(db: Statements, detection: Detection) -> None:
    """Store, in place of what was found in the same recording before."""
    changed = f"ON CONFLICT (id) DO UPDATE SET {columns.renewed(Detection, 'id')}"
    findings = blobs.text_blob(detection.findings)
    with db.transaction():
        columns.put(db, "detection", detection, changed, findings=findings)


def detections(db: Statements) -> list[Detection]:
    """The one that was looked at last first."""
    return _detections(db, "ORDER BY looked DESC, number DESC")


def get_detection(db: Statements, id: str) -> Detection | None:
    return next(iter(_detections(db, "WHERE id = :id", id=id)), None)


def _detections(db: Statements, condition: str, **values: str) -> list[Detection]:
    rows = db.rows(columns.select("detection", Detection) + condition, values)
    return [columns.read(Detection, (*row, blobs.text(findings))) for *row, findings in rows]
