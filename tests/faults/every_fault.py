"""`make test-faults`: a database at each of its calls, campaigns and days of watching at calls that
are spread over all. FAULTS_MOST says how many of each kind; every one would take days."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.__main__ import NAMES
from tests.faults.running import require_none_is_wrong

MOST = int(os.environ.get("FAULTS_MOST", "25"))

pytestmark = pytest.mark.timeout(86400)


@pytest.mark.parametrize("fault", NAMES)
@pytest.mark.parametrize("scenario", ["making", "campaign", "day"])
def test_it_ends_as_without_a_fault(
    scenario: str, fault: str, library: Path, open_folder: Path
) -> None:
    if scenario == "making" and fault in ("start", "child"):
        pytest.skip("a database starts no process")
    most = 100_000 if scenario == "making" else MOST
    require_none_is_wrong(library, open_folder, scenario, [fault], most)
