"""What a test cannot decide while others have the processors."""

from __future__ import annotations

import os

import pytest


def undecided(what: str) -> None:
    """Skips where more wants to run than there are processors; else the test has failed."""
    if os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip(f"undecided, as others have the processors: {what}")
    raise AssertionError(what)
