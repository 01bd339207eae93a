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
from tests.tuner.lab import Lab


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
def lab(db: Database, campaign: Campaign) -> Lab:
    return Lab(db, campaign)


@pytest.fixture
def fresh_lab(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[], AbstractContextManager[Lab]]:
    """Makes another database with a campaign in it, as often as asked."""

    @contextmanager
    def make() -> Iterator[Lab]:
        folder = tmp_path_factory.mktemp("fresh")
        with Database.open(folder / "plumbline.db", write=True) as opened:
            yield Lab(opened, build.started(opened))

    return make
