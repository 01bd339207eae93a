"""The making of a database with faults, and a share of what `make test-faults` does to campaigns
(every_fault.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.running import require_none_is_wrong


def test_a_database_is_made_and_filled(library: Path, tmp_path: Path) -> None:
    faults = ["write", "full", "sync", "read", "rename", "clock"]
    require_none_is_wrong(library, tmp_path, "making", faults, most=6)


@pytest.mark.alone  # `make test-faults` has more of it
@pytest.mark.slow
def test_a_campaign(library: Path, tmp_path: Path) -> None:
    require_none_is_wrong(library, tmp_path, "campaign", ["start", "full"], most=1)
