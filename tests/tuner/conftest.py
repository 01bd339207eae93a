"""A database of its own, with a campaign in it, and the simulated library."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from plumbline_db.records import Campaign
from tests.db import build


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "plumbline.db", write=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def mpirun() -> None:
    """Skips where none is on PATH."""
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun on PATH")


@pytest.fixture
def campaign(db: Database) -> Campaign:
    return build.started(db)


@pytest.fixture
def fresh_campaign(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[], AbstractContextManager[tuple[Database, Campaign]]]:
    """Makes another database with a campaign in it, as often as asked."""

    @contextmanager
    def make() -> Iterator[tuple[Database, Campaign]]:
        folder = tmp_path_factory.mktemp("fresh")
        with Database.open(folder / "plumbline.db", write=True) as opened:
            yield opened, build.started(opened)

    return make
