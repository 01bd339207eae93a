"""A finished campaign on the simulated library, a copy of it for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.daemon.configuration import Applying
from plumbline.system import paths
from tests.tuner import planted
from tests.tuner.daemon import configured, watching
from tests.tuner.daemon.processes import Daemon
from tests.tuner.daemon.watching import Site


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a database with a campaign; exported files name it, so it stays."""
    folder = tmp_path_factory.mktemp("finished")
    watching.run_campaign(folder)
    return folder


@pytest.fixture
def site(
    finished: Path, tmp_path: Path, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    library = tmp_path / "built.so"
    library.write_bytes(b"\x7fELF")
    monkeypatch.setattr(paths.Layout, "preload", lambda *_: library)
    shutil.copy(finished / "plumbline.db", tmp_path / "plumbline.db")
    modules = Applying(scope="modules", modules=str(open_folder))
    with watching.opened(tmp_path, planted.costs(), apply=modules) as found:
        yield found


@pytest.fixture
def daemon(finished: Path, tmp_path: Path, open_folder: Path) -> Iterator[Daemon]:
    """On the simulated library; a test starts it."""
    shutil.copy(finished / "plumbline.db", tmp_path / "plumbline.db")
    file = tmp_path / "watch.toml"
    file.write_text(configured.text(open_folder, canary=configured.SIMULATED))
    found = Daemon(tmp_path / "plumbline.db", file)
    yield found
    if found.process is not None and found.process.poll() is None:
        found.process.kill()
        found.process.communicate()
