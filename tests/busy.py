"""What a test cannot decide while others have the processors."""

from __future__ import annotations

import os

import pytest


def undecided(what: str) -> None:
    """Skips beside other test processes, where more wants to run than there are processors; else
    the test has failed. `make test-alone` runs these files without others, and so decides."""
    beside = "PYTEST_XDIST_WORKER" in os.environ
    if beside and os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip(f"undecided, as others have the processors: {what}")
    raise AssertionError(what)
