"""A user and a site, and a preload library that seems to be built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.system import paths
from tests.tuner.applied.people import FOREIGN, Site, User


@pytest.fixture
def preload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    library = tmp_path / "built.so"
    library.write_bytes(b"\x7fELF")
    monkeypatch.setattr(paths.Layout, "preload", lambda *_: library)
    yield library


@pytest.fixture
def user(tmp_path: Path) -> User:
    found = User(tmp_path / "home")
    found.home.mkdir()
    return found


@pytest.fixture
def site(open_folder: Path) -> Site:
    found = Site(open_folder / "etc")
    (found.home / "profile.d").mkdir(parents=True)
    found.write(FOREIGN)
    return found
