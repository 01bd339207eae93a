"""A database in a folder of its own, open for writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from tests.db import build


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plumbline.db"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    with Database.open(path, write=True) as opened:
        yield opened


@pytest.fixture
def started(db: Database) -> Database:
    """With a campaign that has begun."""
    build.started(db)
    return db
