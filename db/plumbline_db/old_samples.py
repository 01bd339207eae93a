"""Samples of old campaigns become their summaries, so that a file stays small for years; and what
that leaves free goes back to the file system.

Verdicts stay traceable: launches, plans, checks, and n, median and quantiles of each case in each
launch stay, as do series that say how a case settled. Campaigns that are under way, simulated ones
(whose series are no longer than their summaries) and rows of other commands, which draw their
conclusions from samples, are left alone."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator

import msgspec

from plumbline_db import campaigns, columns, launch_records, layout
from plumbline_db.probe_records import Order, ProbeRecord, RankSamples, Samples
from plumbline_db.records import Campaign, Record
from plumbline_db.statements import Statements


class PrunedCampaigns(msgspec.Struct, frozen=True):
    """`first` and `last`: times of day at which the canaries were begun whose launches are gone;
    `rows`: of canaries, alarms, notices and days that are told of no more."""

    canaries: int = 0
    launches: int = 0
    first: str = ""
    last: str = ""
    rows: int = 0


def launches(db: Statements, before: str, most: int) -> PrunedCampaigns:
    """Removes the launches of at most `most` canaries that ended before that time of day, the
    oldest first; their rows stay, and say so."""
    with db.transaction():
        old = db.rows(
            """SELECT number, campaign, stage, round, started FROM canary
               WHERE started < :before AND NOT pruned AND outcome <> 'under way'
               ORDER BY number LIMIT :most""",
            {"before": before, "most": most},
        )
        removed = 0
        for number, campaign, stage, round, _ in old:
            removed += _remove(db, campaign, stage, round)
            db.rows("UPDATE canary SET pruned = 1 WHERE number = :number", {"number": number})
    if not old:
        return PrunedCampaigns()
    return PrunedCampaigns(len(old), removed, old[0][-1], old[-1][-1])


def _remove(db: Statements, campaign: str, stage: str, round: int) -> int:
    """The launches of one canary, with their suites."""
    key = {"campaign": campaign, "stage": stage, "round": round}
    suites = (
        "SELECT number FROM suite WHERE campaign = :campaign AND stage = :stage AND round = :round"
    )
    runs = f"SELECT number FROM run WHERE suite IN ({suites})"  # noqa: S608
    db.rows(f"DELETE FROM cell_time WHERE run IN ({runs})", key)  # noqa: S608
    ids = db.rows(f"SELECT id FROM run WHERE suite IN ({suites})", key)  # noqa: S608
    for (id,) in ids:
        db.rows("DELETE FROM event WHERE run = :id", {"id": id})
    db.rows(f"DELETE FROM run WHERE suite IN ({suites})", key)  # noqa: S608
    db.rows(f"DELETE FROM suite WHERE number IN ({suites})", key)  # noqa: S608
    return len(ids)


def rows(db: Statements, before: str) -> int:
    """Removes what tells of what was done with before that time of day: canaries whose launches
    are gone and that no alarm names, alarms, searches, notices, days."""
    gone = 0
    with db.transaction():
        for statement in (
            "DELETE FROM alarm WHERE ended <> '' AND ended < :before",
            """DELETE FROM retuning WHERE ended <> '' AND ended < :before
               AND number NOT IN (SELECT retuning FROM alarm WHERE retuning IS NOT NULL)""",
            """DELETE FROM canary WHERE pruned AND started < :before
               AND number NOT IN (SELECT canary FROM alarm)""",
            "DELETE FROM notice WHERE time < :before",
            "DELETE FROM watch_day WHERE day < substr(:before, 1, 10)",
        ):
            gone += len(db.rows(statement + " RETURNING 1", {"before": before}))
    return gone


# Removal by age, for `plumbline watch`, so that a database does not grow for ever: launches of old
# canaries, then the rows that tell of them. Nothing that a campaign has measured goes.


class Pruned(Record, frozen=True):
    """Samples of a campaign that were thrown away: so many, warm-up too, of so many `series` (a
    case in a launch), by which rule."""

    campaign: str
    time: str
    series: int
    samples: int
    why: str


class Policy(Record, frozen=True):
    """Whose samples are kept: of campaigns that ended less than so many `days` ago, and of the
    `last` ones of each machine, library and layout. None: not for that reason."""

    days: float | None = None
    last: int | None = None

    @property
    def said(self) -> str:
        """The policy in words."""
        words = [
            f"of {self.days:g} days" if self.days is not None else "",
            f"of the last {self.last} campaigns" if self.last is not None else "",
        ]
        return "kept are those " + " and ".join(word for word in words if word)

    @property
    def keeps_all(self) -> bool:
        return self.days is None and self.last is None


def old(db: Statements, policy: Policy, now: datetime.datetime) -> list[Campaign]:
    """The campaigns whose samples the policy does not keep, and that have some, in the order in
    which they were started. `now` in UTC."""
    done = {row.campaign for row in listing(db)}
    later: Counter[tuple[object, ...]] = Counter()
    old_campaigns = []
    for campaign in reversed(campaigns.all_campaigns(db)):
        if campaign.state != "finished":
            continue
        kin = (
            *(campaign.machine, campaign.library_fingerprint),
            *(campaign.nprocs, campaign.nodes, campaign.ppn),
        )
        later[kin] += 1
        recent = policy.days is not None and _days(campaign, now) < policy.days
        is_last = policy.last is not None and later[kin] <= policy.last
        kept = policy.keeps_all or recent or is_last
        if not kept and campaign.id not in done and not layout.is_simulated(campaign):
            old_campaigns.append(campaign)
    return old_campaigns[::-1]


def _days(campaign: Campaign, now: datetime.datetime) -> float:
    """Since it ended."""
    ended = datetime.datetime.fromisoformat(campaign.finished)
    return (now - ended).total_seconds() / 86400


def would_go(db: Statements, campaign: str, why: str, time: str) -> Pruned:
    """Return what `prune` would throw away."""
    cases = samples = 0
    for _, _, gone in _of_campaign(db, campaign):
        cases += len(gone)
        samples += sum(len(record.warmup_ns) + len(record.ns) for record in gone)
    return Pruned(campaign, time, cases, samples, why)


def prune(db: Statements, campaign: str, why: str, time: str) -> Pruned:
    """Throw its samples away, and the order in which they were taken, in one transaction. `time`
    is now, as ISO 8601 in UTC."""
    with db.transaction():
        campaigns.require(db, campaign)
        pruned = would_go(db, campaign, why, time)
        for run, records, gone in _of_campaign(db, campaign):
            out = {id(record) for record in gone}
            launch_records.replace(
                db,
                run,
                [
                    record
                    for record in records
                    if id(record) not in out and not isinstance(record, RankSamples | Order)
                ],
            )
        put(db, pruned)
    return pruned


def _of_campaign(
    db: Statements, campaign: str
) -> Iterator[tuple[int, list[ProbeRecord], list[Samples]]]:
    """Yield the number of each launch, its records, and the samples that go: of cases that have
    come to rest, as the others say how cases settle."""
    numbers = db.rows(
        """SELECT run.number FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign ORDER BY run.number""",
        {"campaign": campaign},
    )
    for (run,) in numbers:
        at_rest = {
            case
            for (case,) in db.rows(
                """SELECT case_id FROM cell_time
                   WHERE run = :run AND n IS NOT NULL AND transit = 0 AND settled""",
                {"run": run},
            )
        }
        records = launch_records.stored(db, run)
        gone = [
            record for record in records if isinstance(record, Samples) and record.case in at_rest
        ]
        yield run, records, gone


def put(db: Statements, pruned: Pruned) -> None:
    """Store that it was done, inside the caller's transaction; with what went before."""
    more = """ON CONFLICT DO UPDATE SET time = :time, series = series + :series,
                  samples = samples + :samples, why = :why"""
    columns.put(db, "pruned", pruned, more)


def listing(db: Statements) -> list[Pruned]:
    """Return what was thrown away, campaign by campaign."""
    return columns.all_of(db, "pruned", Pruned, "ORDER BY time, campaign")


def of(db: Statements, campaign: str) -> Pruned | None:
    """Return what of a campaign was thrown away."""
    return next((pruned for pruned in listing(db) if pruned.campaign == campaign), None)
