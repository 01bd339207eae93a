"""One processor for the ranks of each test process.

Ranks wait by polling. Two jobs of them on the same processors, one under each worker of pytest,
wait for each other's time slices at every message: a test of 5 seconds took 78. Ranks of Open MPI
that share one processor yield it, and are done as fast as on two."""

from __future__ import annotations

import os
import re


def words() -> list[str]:
    """Before a command that measures no times; nothing where one process runs all tests."""
    worker = re.fullmatch(r"gw(\d+)", os.environ.get("PYTEST_XDIST_WORKER", ""))
    if worker is None or int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) < 2:
        return []
    cores = sorted(os.sched_getaffinity(0))
    return ["taskset", "--cpu-list", str(cores[int(worker[1]) % len(cores)])]
