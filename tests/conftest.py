"""Fixtures of more than one folder."""

from __future__ import annotations

import gc
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import without_sync
from tests.hosts import two_hosts  # noqa: F401
from tests.impi import intel_mpi  # noqa: F401
from tests.probes.mpich import installed_mpich, mpich  # noqa: F401
from tests.slurm import slurm, slurm_apart  # noqa: F401


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Everybody can read it, as a tree of modulefiles asks for; pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="plumbline-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def pytest_configure() -> None:
    # What a shell in the background or nohup ignores, tests and what they start would ignore too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # How long an example takes says how busy the machine is.
    quiet = [HealthCheck.too_slow]
    settings.register_profile("any", deadline=None, max_examples=50, suppress_health_check=quiet)
    settings.load_profile("any")
    without_sync.install()


def pytest_collectstart() -> None:
    gc.disable()  # none of the tests is garbage


def pytest_collection_finish() -> None:
    gc.freeze()  # the collector need not look at thousands of tests again and again
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with slow tests first, so that no worker ends long after the others.

    `make test` passes --no-loadscope-reorder: pytest-xdist would begin with the files that have
    the most tests, and end with the few that are long.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
