"""A damaged database and its newest good backup: the backup takes its place, the damaged file stays
beside it under another name, and what is lost is said."""

from __future__ import annotations

import contextlib
import datetime
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import msgspec

from plumbline_db import connection, lock, scratch, way_back
from plumbline_db.errors import PlumblineError


class Restored(msgspec.Struct, frozen=True):
    """`kept`: where the damaged file is now, None: there was none; `lost`: launches by campaign
    that can be read there and are not in the backup; `unreadable`: there may be more."""

    backup: Path
    kept: Path | None
    lost: dict[str, int]
    unreadable: bool
    passed_over: list[str]


def restore(path: Path, now: datetime.datetime) -> Restored:
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
        return Restored(backup, kept, lost, unreadable, passed_over)


def _damage(path: Path) -> list[str]:
    try:
        return connection.check(path)
    except PlumblineError as error:
        return [str(error)]


def _newest_whole(path: Path) -> tuple[Path, list[str]]:
    """And why newer ones were passed over."""
    passed_over: list[str] = []
    for backup in way_back.backups(path):
        problems = _damage(backup)
        if not problems:
            return backup, passed_over
        passed_over.append(f"{backup}: {problems[0]}")
    raise PlumblineError(
        "\n".join([f"no whole backup of {path} is known: {way_back.remedy(path)}", *passed_over])
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
