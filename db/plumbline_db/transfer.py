"""Campaigns that move between sites: out of a database into a file, and from there into another
database. The file is a database of its own, in which each campaign has the hash of its content."""

from __future__ import annotations

import contextlib
import datetime
import shutil
import socket
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from plumbline_db import (
    backups,
    campaigns,
    columns,
    connection,
    integrity,
    lock,
    machines,
    outside,
    schema,
    scratch,
)
from plumbline_db.connection import Database, as_one_file
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Campaign, Record
from plumbline_db.statements import Statements


class _Restored(msgspec.Struct, frozen=True):
    """`kept`: where the damaged file is now, None: there was none; `lost`: launches by campaign
    that can be read there and are not in the backup; `unreadable`: there may be more."""

    backup: Path
    kept: Path | None
    lost: dict[str, int]
    unreadable: bool
    passed_over: list[str]


def restore(path: Path, now: datetime.datetime) -> _Restored:
    """Raises PlumblineError where the file is whole, or no whole backup is known; TryLaterError
    where somebody writes or watches it. Killed at any moment it leaves the damaged file, under its
    name or beside it, or the backup in its place, and never a log of one beside the other."""
    path = Path(path).absolute()
    with contextlib.ExitStack() as alone:
        alone.callback(lock.to_write(path).release)
        alone.callback(lock.to_watch(path).release)
        if not _damage(path):
            raise PlumblineError(f"{path} is whole: nothing is restored")
        backup, passed_over = _newest_whole(path)
        kept = None
        with scratch.replacing(path) as part:
            shutil.copyfile(backup, part)
            if problems := connection.check(part):
                raise PlumblineError(f"{backup} could not be copied: {problems[0]}")
            if path.exists():
                kept = path.with_name(f"{path.name}.damaged-{now:%Y%m%dT%H%M%S}")
                _move(path, kept)
        lost, unreadable = _lost(kept, path) if kept else ({}, True)
        return _Restored(backup, kept, lost, unreadable, passed_over)


def _damage(path: Path) -> list[str]:
    try:
        return connection.check(path)
    except PlumblineError as error:
        return [str(error)]


def _newest_whole(path: Path) -> tuple[Path, list[str]]:
    """And why newer ones were passed over."""
    passed_over: list[str] = []
    for backup in backups.backups(path):
        problems = _damage(backup)
        if not problems:
            return backup, passed_over
        passed_over.append(f"{backup}: {problems[0]}")
    raise PlumblineError(
        "\n".join([f"no whole backup of {path} is known: {backups.remedy(path)}", *passed_over])
    )


def _move(path: Path, kept: Path) -> None:
    """The log first: it must never lie beside another file than its own."""
    log, memory = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if log.exists():
        log.rename(kept.with_name(kept.name + "-wal"))
    memory.unlink(missing_ok=True)
    path.rename(kept)


def _lost(damaged: Path, restored: Path) -> tuple[dict[str, int], bool]:
    launches_before, whole = _launches(damaged)
    launches_after, _ = _launches(restored)
    return dict(
        sorted(
            Counter(
                launches_before[id] for id in launches_before.keys() - launches_after.keys()
            ).items()
        )
    ), not whole


def _launches(path: Path) -> tuple[dict[str, str], bool]:
    """Their campaigns, by id, as far as they can be read without checksums; whether all could."""
    campaign_by_launch: dict[str, str] = {}
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            rows = db.execute(
                "SELECT run.id, campaign FROM run JOIN suite ON suite.number = run.suite"
            )
            campaign_by_launch.update(rows)
    except (sqlite3.Error, ValueError, TypeError):
        return campaign_by_launch, False
    return campaign_by_launch, True


class Transfer(Record, frozen=True):
    """A campaign has left a database, as a whole: `sha256` of what it was then, on which host."""

    campaign: str
    sha256: str
    host: str
    time: str


class Moved(NamedTuple):
    """A run by the name it has in the target; `new`: it was not there."""

    run: str
    sha256: str
    new: bool


def listing(db: Statements) -> list[Transfer]:
    """The campaigns that came from elsewhere; of a file that was exported, all."""
    return columns.all_of(db, "transfer", Transfer, "ORDER BY campaign")


def export(path: Path, target: Path, names: Sequence[str], time: str) -> list[Moved]:
    """Writes campaigns (none named: all finished ones) to `target`, whole or not at all. `time` is
    now, as ISO 8601 in UTC. Raises UsageError where one is not there, PlumblineError where `target`
    is there and no file of ours."""
    target = Path(target).absolute()
    if target.exists():
        if path.exists() and target.samefile(path):
            raise PlumblineError(f"{target} is the database itself: name another file")
        schema.recognise(target)
    with Database.open(path) as db, db.snapshot(), scratch.replacing(target) as part:
        every = _named(db, names)
        moved = []
        with Database.open(part, write=True) as copy:
            for campaign in every:
                key = campaigns.key_from(socket.gethostname(), campaign.key)
                outside.put(copy, db, campaign, campaign.id, key)
                sha256 = outside.sha256(copy, campaign)
                with copy.transaction():
                    sent = Transfer(campaign.id, sha256, socket.gethostname(), time)
                    columns.put(copy, "transfer", sent)
                moved.append(Moved(campaign.id, sha256, True))
            as_one_file(copy)
    return moved


def _named(db: Statements, names: Sequence[str]) -> list[Campaign]:
    every = {campaign.id: campaign for campaign in campaigns.every(db)}
    missing = [name for name in names if name not in every]
    if missing:
        listed = ", ".join(every) or "none"
        raise UsageError(f"{db.path} contains no campaign {missing[0]}; it contains: {listed}")
    chosen = [every[name] for name in dict.fromkeys(names)]
    chosen = chosen or [run for run in every.values() if run.state == "finished"]
    if not chosen:
        raise UsageError(f"{db.path} contains no finished campaign: name one that is under way")
    return chosen


def take(path: Path, source: Path) -> list[Moved]:
    """Puts the campaigns of a file that `export` has written into the database at `path`, each
    whole or not at all, under a name that begins with the host which the file names; one that is
    there already stays as it is. That a campaign was imported is a record of this database: no file
    makes it one that was measured here. Raises PlumblineError where the file is damaged, was
    changed, or is none of ours."""
    with Database.open(source) as source_db, source_db.snapshot():
        # The form is checked first, because the file may contain foreign views and triggers.
        for problem in integrity.problems_of_form(source_db):
            raise PlumblineError(f"{source_db.path} is not whole ({problem}): fetch it again")
        try:
            sent = {transfer.campaign: transfer for transfer in listing(source_db)}
            every = campaigns.every(source_db)
        except _UNREADABLE as error:
            raise outside.problem(source, error) from error
        if not every or sent.keys() != {campaign.id for campaign in every}:
            raise PlumblineError(
                f"{source} was not written by `plumbline db export`: a whole database is a backup, "
                "and is read with --db"
            )
        for campaign in every:
            _require(source_db, campaign, sent[campaign.id])
        with Database.open(path, write=True) as db:
            return [_take(db, source_db, campaign, sent[campaign.id]) for campaign in every]


# The errors of reading rows that Plumbline did not write.
_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, apsw.Error)


def _require(source_db: Statements, campaign: Campaign, sent: Transfer) -> None:
    """All of a campaign can be believed, and is what was exported. Raises PlumblineError."""
    try:
        outside.require_record(sent)
        checksum = outside.sha256(source_db, campaign, outside.require)
    except _UNREADABLE as error:
        raise outside.problem(source_db.path, error) from error
    if checksum != sent.sha256:
        raise PlumblineError(
            f"{source_db.path}: campaign {campaign.id} is not what was exported on {sent.host}: "
            "fetch "
            "the file again"
        )


def _take(db: Statements, source_db: Statements, campaign: Campaign, sent: Transfer) -> Moved:
    campaign_by_id = {run.id: run for run in campaigns.every(db)}
    name = f"{sent.host}:{campaign.id}"
    for possible_name in (campaign.id, name):
        if possible_name in campaign_by_id and _same(db, campaign_by_id[possible_name], sent):
            return Moved(possible_name, sent.sha256, False)
    key = campaigns.key_from(sent.host, campaign.key)
    if (
        name in campaign_by_id
        or key in {run.key for run in campaign_by_id.values()}
        or not outside.NAME.match(name)
    ):
        raise PlumblineError(
            f"{db.path} contains another campaign {name}: import the file into another database "
            "with --db"
        )
    library = machines.library(source_db, campaign.library_fingerprint)
    renamed = msgspec.structs.replace(sent, campaign=name)
    try:
        with db.transaction():
            elsewhere = outside.of_elsewhere(library, sent.host)
            outside.put(db, source_db, campaign, name, key, elsewhere)
            columns.put(db, "transfer", renamed)
    except _UNREADABLE as error:
        raise outside.problem(source_db.path, error) from error
    return Moved(name, sent.sha256, True)


def _same(db: Statements, stored: Campaign, sent: Transfer) -> bool:
    came = {transfer.campaign: transfer.sha256 for transfer in listing(db)}
    return came.get(stored.id) == sent.sha256 or outside.sha256(db, stored) == sent.sha256
