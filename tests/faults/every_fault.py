"""`make test-faults`: a database at each of its calls, campaigns and days of watching at calls that
are spread over all. FAULTS_MOST says how many of each kind; every one would take days."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.__main__ import NAMES
from tests.faults.jobs import FATES, Jobs
from tests.faults.running import require_none_is_wrong
from tests.faults.trials import TRACEBACK, spread

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


@pytest.mark.parametrize("fate", FATES)
def test_a_job_that_is_lost_is_taken_again(fate: str, open_folder: Path) -> None:
    """The N-th job of a campaign is; its launch is that of another."""
    whole = Jobs(open_folder / "whole")
    assert whole.run() == 0, whole.said()
    whole.import_all()
    numbers = spread(whole.submitted, min(MOST, 10))
    for number in numbers:
        jobs = Jobs(open_folder / f"{number}", ["run"] * (number - 1) + [fate])
        status = jobs.run()
        assert TRACEBACK not in jobs.said(), jobs.said()
        if status != 0:
            assert jobs.run() == 0, jobs.said()
        assert jobs.submitted == whole.submitted + 1
        assert jobs.decided() == whole.decided(), number
    print(f"{fate}: {len(numbers)} of {whole.submitted} jobs")  # pytest -s
