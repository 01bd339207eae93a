"""A share of what `make test-faults` does (every_fault.py), and the making of a database at each of
its calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.trials import run


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return failing.build(tmp_path_factory.mktemp("failing"))
