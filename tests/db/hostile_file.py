"""Files of `plumbline db export` that somebody has changed: the hash of each campaign is computed
again, as an attacker would do it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from plumbline_db import campaigns, outside, schema, transfer
from plumbline_db.connection import Database, as_one_file
from tests.db import build

ESCAPE = "\x1b]0;owned\x07"
INJECTION = 'a"; touch carried-out; "'
LONG = "x" * 200_000
NAMES = [ESCAPE, INJECTION, "--help", "", LONG, "a\nb", "../../x", "\u202eabc", "\x9b1m", "a b"]

Change = tuple[str, Sequence[Any]]


def exported(folder: Path) -> Path:
    """A whole campaign, as another site sends it."""
    database, target = folder / "theirs.db", folder / "sent.plumbline"
    with Database.open(database, write=True) as db:
        build.done(db)
    transfer.export(database, target, [], "2025-03-31T10:00:00+00:00")
    return target


def changed(sent: Path, target: Path, *changes: Change, hashed: bool = True) -> Path:
    """A copy of `sent` after these statements, whatever the schema says about them."""
    shutil.copyfile(sent, target)
    connection = apsw.Connection(str(target), vfs=schema._checksum_vfs())
    connection.pragma("foreign_keys", False)
    connection.pragma("ignore_check_constraints", True)
    for statement, values in changes:
        connection.execute(statement, values)
    connection.close()
    if hashed:
        hash_again(target)
    return target


def hash_again(target: Path) -> None:
    """Campaigns that cannot be read keep the hash that they have."""
    with Database.open(target, write=True) as db:
        for campaign in campaigns.every(db):
            try:
                found = outside.sha256(db, campaign)
            except (ValueError, TypeError, LookupError, MemoryError, apsw.Error):
                continue
            with db.transaction():
                db.rows(
                    "UPDATE transfer SET sha256 = :sum WHERE campaign = :id",
                    {"sum": found, "id": campaign.id},
                )
        as_one_file(db)
