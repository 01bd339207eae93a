"""A finished campaign on the simulated library, a copy of it for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tuner import planted
from tests.tuner.daemon import watching
from tests.tuner.daemon.watching import Site


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a database with a campaign; exported files name it, so it stays."""
    folder = tmp_path_factory.mktemp("finished")
    watching.run_campaign(folder)
    return folder


@pytest.fixture
def site(finished: Path, tmp_path: Path) -> Iterator[Site]:
    shutil.copy(finished / "plumbline.db", tmp_path / "plumbline.db")
    with watching.opened(tmp_path, planted.costs()) as found:
        yield found
