"""A database of its own, with a campaign in it, and the simulated library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from plumbline_db.records import Campaign
from tests.db import build


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "plumbline.db", write=True) as opened:
        yield opened


@pytest.fixture
def campaign(db: Database) -> Campaign:
    return build.started(db)
