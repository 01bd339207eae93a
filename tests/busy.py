"""What a test cannot decide while others have the processors."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest


def undecided(what: str) -> None:
    """Skips beside other test processes, where more wants to run than there are processors; else
    the test has failed. `make test-alone` runs these files without others, and so decides."""
    beside = "PYTEST_XDIST_WORKER" in os.environ
    if beside and os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip(f"undecided, as others have the processors: {what}")
    raise AssertionError(what)


def patiently(check: Callable[[], None], attempts: int = 6) -> None:
    """What is right in one launch of some is right; where it is in none, it is undecided."""
    for left in reversed(range(attempts)):
        try:
            return check()
        except AssertionError as error:
            if not left:
                undecided(str(error))
