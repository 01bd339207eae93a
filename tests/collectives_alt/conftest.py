"""Builds the variants, the preload library and the test programs once a session."""

from __future__ import annotations

import pytest

from tests.collectives_alt.programs import Build, make
from tests.hosts import two_hosts  # noqa: F401


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return make(tmp_path_factory.mktemp("collectives-alt"))
