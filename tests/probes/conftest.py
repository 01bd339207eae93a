"""Builds the probe once a session, and preload libraries that break calls or take known times."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.probes.launch import ROOT, Probe, build_folder


@pytest.fixture(scope="session")
def build() -> Path:
    """The build folder of the MPI whose mpicc is on PATH, with the probe in it."""
    subprocess.run(["make", "-s", "-C", str(ROOT / "probes")], check=True, timeout=240)
    return build_folder()


def _preloaded(factory: pytest.TempPathFactory, name: str) -> Path:
    library = factory.mktemp(name) / f"lib{name}.so"
    source = Path(__file__).with_name(f"{name}.c")
    words = ["mpicc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-o", str(library)]
    subprocess.run([*words, str(source), "-ldl"], check=True, timeout=60)
    return library


def _fixture(name: str) -> Callable[[pytest.TempPathFactory], Path]:
    """The library that is made of NAME.c, whose head says what it does."""
    make = pytest.fixture(scope="session", name=name)
    return make(lambda tmp_path_factory: _preloaded(tmp_path_factory, name))


_BREAKING = ("faulty", "learning", "pipeline", "unforkable", "corrupt", "uneven", "lossy")
faulty, learning, pipeline, unforkable, corrupt, uneven, lossy = map(_fixture, _BREAKING)
drifting = _fixture("drifting")
_TELLING = ("progress", "asked", "addresses", "usage")
progress, asked, addresses, usage = map(_fixture, _TELLING)


@pytest.fixture
def probe(build: Path, faulty: Path, tmp_path: Path) -> Probe:
    return Probe(build / "probe", tmp_path, faulty)
