"""The toolchain of a simulated machine; skips where there is none."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

import pytest

from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline_db.errors import PlumblineError


@contextlib.contextmanager
def there() -> Iterator[None]:
    """Around the first thing that wants SimGrid, and what is built for it."""
    if shutil.which("smpirun") is None:
        pytest.skip("SimGrid is not installed (Debian: libsimgrid-dev)")
    try:
        yield
    except PlumblineError as error:
        if "make build" not in str(error):
            raise
        pytest.skip(f"not built for SimGrid: {error}")


def toolchain(settings: Settings | None = None) -> Toolchain:
    with there():
        return find_toolchain(settings=settings or load(None, {"simulate": "ompi"}))
