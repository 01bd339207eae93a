"""A campaign as a whole, as records: what it is made of, a hash of that, and how it is put into
another database. Files that were handed out stay behind: they are of another machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from plumbline_db import (
    campaigns,
    cell_times,
    events,
    hockney,
    launch_records,
    machines,
    old_samples,
    points,
    runs,
    searches,
    suites,
    verdicts,
    winners,
)
from plumbline_db.hockney import Hockney
from plumbline_db.old_samples import Pruned
from plumbline_db.points import SuitePoint
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import (
    Campaign,
    Event,
    Library,
    Machine,
    Run,
    Search,
    Suite,
    Verdict,
    Winner,
)
from plumbline_db.statements import Statements


class Launch(NamedTuple):
    """`summaries` are of those cases whose samples were thrown away, each with its case id."""

    run: Run
    suite: Suite
    records: list[ProbeRecord]
    summaries: list[tuple[int, dict[str, Any]]]


class Conclusions(NamedTuple):
    tables: dict[str, list[Verdict]]
    searches: list[Search]
    winners: list[Winner]
    fits: list[Hockney]
    events: list[Event]
    pruned: Pruned | None
    points: list[SuitePoint]


class Content(NamedTuple):
    """All but the launches, which come one after the other."""

    machine: Machine
    library: Library
    campaign: Campaign
    conclusions: Conclusions


def read(db: Statements, campaign: Campaign) -> Content:
    id = campaign.id
    tables = {stage: verdicts.get(db, id, stage) for stage in verdicts.stages(db, id)}
    conclusions = Conclusions(
        tables,
        searches.all_searches(db, id),
        winners.get(db, id),
        hockney.get(db, id),
        events.get(db, id),
        old_samples.of(db, id),
        points.get(db, id),
    )
    return Content(
        machines.machine(db, campaign.machine),
        machines.library(db, campaign.library_fingerprint),
        campaign,
        conclusions,
    )


def launches(db: Statements, campaign: str) -> Iterator[Launch]:
    """Yield them in the order in which they were stored."""
    suite_by_name = suites.get(db, campaign)
    for run in runs.one_by_one(db, campaign):
        records = launch_records.of_run(db, run.id)
        times_alone = cell_times.without_samples(db, run.id, records)
        yield Launch(run, suite_by_name[run.suite], records, list(times_alone.items()))


def sha256(
    db: Statements,
    campaign: Campaign,
    look: Callable[[Content | Launch], None] = lambda part: None,
) -> str:
    """Return the checksum of a whole campaign, which is equal in any database. Each part is shown
    to `look` first."""
    content = read(db, campaign)
    look(content)
    checksum = hashlib.sha256()
    # Facts that change when machine or library are seen again, or at another site, do not count.
    campaign_facts = msgspec.structs.replace(campaign, key="")
    identity = (content.machine.id, content.library.fingerprint, campaign_facts)
    checksum.update(_bytes([*identity, content.conclusions]))
    for launch in launches(db, campaign.id):
        look(launch)
        checksum.update(_bytes(launch))
    return checksum.hexdigest()


def _bytes(part: object) -> bytes:
    return msgspec.json.encode(part, order="sorted") + b"\n"


def put(
    db: Statements,
    source: Statements,
    campaign: Campaign,
    name: str,
    key: str,
    library: Library | None = None,
) -> None:
    """`campaign` of `source` under the name `name` and with this key, which nothing in `db` has, in
    one transaction. `library`: as it is stored there, where nothing is known of it; None: as it
    is."""
    content = read(source, campaign)
    id = campaign.id

    def renamed(text: str) -> str:
        return name + text.removeprefix(id) if text.startswith(id) else text

    with db.transaction():
        machines.add_machine(db, content.machine)
        machines.add_library(db, library or content.library)
        campaigns.put(db, msgspec.structs.replace(campaign, id=name, key=key))
        for launch in launches(source, id):
            run = msgspec.structs.replace(launch.run, id=renamed(launch.run.id), campaign=name)
            runs.put(db, run, launch.records, launch.suite)
            cell_times.add(db, run.id, dict(launch.summaries))
        _conclude(db, name, content.conclusions, renamed)


def _conclude(db: Statements, name: str, of: Conclusions, renamed: Callable[[str], str]) -> None:
    for stage, table in of.tables.items():
        verdicts.put(db, name, stage, table)
    for search in of.searches:
        searches.put(db, name, search)
    winners.put(db, name, of.winners)
    hockney.put(db, name, of.fits)
    for event in of.events:
        events.put(db, name, msgspec.structs.replace(event, run=renamed(event.run)))
    points.put(db, name, of.points)
    if of.pruned is not None:
        old_samples.put(db, msgspec.structs.replace(of.pruned, campaign=name))
