"""One database for all tests of pages: they read it alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from plumbline.libraries import Knob, gate
from plumbline.libraries.openmpi import OpenMpi
from plumbline.pages import routes
from plumbline.results import putting_in_use
from plumbline.system.lru import BoundedCache
from tests.tuner import simulated
from tests.tuner.pages import site


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "plumbline.db"
    site.store(path)
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The library of all campaigns is installed, and its user has set nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(putting_in_use, "_uses", BoundedCache(64))  # other tests had another library
        here = simulated.toolchain()
        patch.setattr(gate, "installed", lambda *_: (here.family, here.installation))
        home = tmp_path_factory.mktemp("home")
        files = f"{home}/.openmpi/mca-params.conf,/etc/openmpi-mca-params.conf"
        knob = Knob("mca_base_param_files", files, "string", False, {})
        for asked in ("knobs", "reported_in"):
            patch.setattr(OpenMpi, asked, lambda *_: {knob.name: knob})
        patch.setenv("HOME", str(home))
        yield


@pytest.fixture(scope="module")
def client(stored: Path, installed: None) -> Iterator[TestClient]:
    """Without the script that takes seconds to be made: in_browser.py has it."""
    with pytest.MonkeyPatch.context() as patch, site.client(stored) as client:
        patch.setattr(routes, "_bundle", lambda: b"// made by vl-convert")
        yield client
