"""The library that makes calls fail, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import failing


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return failing.build(tmp_path_factory.mktemp("failing"))
