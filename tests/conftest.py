"""Fixtures of more than one folder."""

from __future__ import annotations

from tests.hosts import two_hosts  # noqa: F401
from tests.impi import intel_mpi  # noqa: F401
from tests.slurm import slurm  # noqa: F401
