"""One database for all tests of pages: they read it alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from plumbline.pages import script
from tests.tuner.pages import site


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "plumbline.db"
    site.store(path)
    return path


@pytest.fixture(scope="session")
def client(stored: Path) -> Iterator[TestClient]:
    """Without the script that takes seconds to be made: in_browser.py has it."""
    with pytest.MonkeyPatch.context() as patch, site.client(stored) as client:
        patch.setattr(script, "_bundle", lambda: b"// made by vl-convert")
        yield client
