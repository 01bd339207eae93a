"""Builds the probe once a session, and preload libraries that break calls or take known times."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.probes.launch import ROOT, Probe, build_folder


@pytest.fixture(scope="session")
def build() -> Path:
    """The build folder of the MPI whose mpicc is on PATH, with the probe in it."""
    subprocess.run(["make", "-s", "-C", str(ROOT / "probes")], check=True, timeout=240)
    return build_folder()


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _preloaded(tmp_path_factory, "faulty")


@pytest.fixture(scope="session")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that becomes faster."""
    return _preloaded(tmp_path_factory, "learning")


@pytest.fixture(scope="session")
def progress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library whose overlap is known."""
    return _preloaded(tmp_path_factory, "progress")


@pytest.fixture(scope="session")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library whose broadcast lets its root leave early."""
    return _preloaded(tmp_path_factory, "pipeline")


@pytest.fixture(scope="session")
def unforkable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """On which a fork is not safe while MPI is up."""
    return _preloaded(tmp_path_factory, "unforkable")


@pytest.fixture(scope="session")
def corrupt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _preloaded(tmp_path_factory, "corrupt")


def _preloaded(factory: pytest.TempPathFactory, name: str) -> Path:
    library = factory.mktemp(name) / f"lib{name}.so"
    source = Path(__file__).with_name(f"{name}.c")
    words = ["mpicc", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-o", str(library)]
    subprocess.run([*words, str(source)], check=True, timeout=60)
    return library


@pytest.fixture
def probe(build: Path, faulty: Path, tmp_path: Path) -> Probe:
    return Probe(build / "probe", tmp_path, faulty)
