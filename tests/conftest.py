"""Fixtures of more than one folder."""

from __future__ import annotations

import signal

from tests.hosts import two_hosts  # noqa: F401
from tests.impi import intel_mpi  # noqa: F401
from tests.slurm import slurm  # noqa: F401


def pytest_configure() -> None:
    """What a shell in the background or nohup ignores, tests and what they start would too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
