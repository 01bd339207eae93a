"""A finished campaign on the simulated library, a copy of it for each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.daemon.configuration import Applying
from plumbline.system import paths
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
def site(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Others can read its tree of modulefiles; pytest's own folders are closed."""
    library = tmp_path / "built.so"
    library.write_bytes(b"\x7fELF")
    monkeypatch.setattr(paths.Layout, "preload", lambda *_: library)
    shutil.copy(finished / "plumbline.db", tmp_path / "plumbline.db")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as made:
        Path(made).chmod(0o755)
        modules = Applying(scope="modules", modules=made)
        with watching.opened(tmp_path, planted.costs(), apply=modules) as found:
            yield found
