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


@pytest.fixture(scope="session")
def learned(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> watching.Learned:
    """The same campaign after the canaries from which the daemon learns."""
    folder = tmp_path_factory.mktemp("learned")
    shutil.copy(finished / "plumbline.db", folder / "plumbline.db")
    with watching.opened(folder, planted.costs()) as site:
        watching.learn(site, site.watcher())
        return watching.Learned(folder, site.clock.now)


@pytest.fixture
def built_preload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A preload library that is found for every MPI library."""
    library = tmp_path / "built.so"
    library.write_bytes(b"\x7fELF")
    monkeypatch.setattr(paths.Layout, "preload", lambda *_: library)


@pytest.fixture
def fresh_site(
    finished: Path, tmp_path: Path, open_folder: Path, built_preload: None
) -> Iterator[Site]:
    shutil.copy(finished / "plumbline.db", tmp_path / "plumbline.db")
    modules = Applying(scope="modules", modules=str(open_folder))
    with watching.opened(tmp_path, planted.costs(), apply=modules) as found:
        yield found


@pytest.fixture
def site(fresh_site: Site) -> Site:
    """The site of most files; others have another one under this name."""
    return fresh_site


@pytest.fixture
def learned_site(
    learned: watching.Learned, tmp_path: Path, open_folder: Path, built_preload: None
) -> Iterator[Site]:
    """A site whose daemon has learned and is started anew."""
    shutil.copy(learned.folder / "plumbline.db", tmp_path / "plumbline.db")
    modules = Applying(scope="modules", modules=str(open_folder))
    with watching.opened(tmp_path, planted.costs(), apply=modules) as found:
        found.clock.now = learned.now
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
