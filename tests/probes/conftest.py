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
    subprocess.run([*words, str(source)], check=True, timeout=60)
    return library


def _fixture(name: str) -> Callable[[pytest.TempPathFactory], Path]:
    """The library that is made of NAME.c, whose head says what it does."""
    make = pytest.fixture(scope="session", name=name)
    return make(lambda tmp_path_factory: _preloaded(tmp_path_factory, name))


_NAMES = ("faulty", "learning", "progress", "pipeline", "unforkable", "corrupt")
faulty, learning, progress, pipeline, unforkable, corrupt = map(_fixture, _NAMES)


@pytest.fixture
def probe(build: Path, faulty: Path, tmp_path: Path) -> Probe:
    return Probe(build / "probe", tmp_path, faulty)
