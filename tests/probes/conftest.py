"""Builds the probe once a session, and a preload library that breaks calls."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.probes.launch import ROOT, Probe


@pytest.fixture(scope="session")
def build() -> Path:
    """The build folder of the MPI whose mpicc is on PATH, with the probe in it."""
    subprocess.run(["make", "-s", "-C", str(ROOT / "probes")], check=True, timeout=240)
    mpi_id = subprocess.run(
        [str(ROOT / "probes" / "mpi-id.sh"), "mpicc"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return ROOT / "build" / mpi_id


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("faulty") / "libfaulty.so"
    source = Path(__file__).with_name("faulty.c")
    subprocess.run(
        ["mpicc", "-shared", "-fPIC", "-Wall", "-Wextra", "-o", str(library), str(source)],
        check=True,
        timeout=60,
    )
    return library


@pytest.fixture
def probe(build: Path, faulty: Path, tmp_path: Path) -> Probe:
    return Probe(build / "probe", tmp_path, faulty)


@pytest.fixture(scope="session")
def progress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be preloaded: a library whose overlap is known (progress.c)."""
    if shutil.which("mpicc") is None:
        pytest.skip("no mpicc on PATH")
    library = tmp_path_factory.mktemp("progress") / "libprogress.so"
    source = Path(__file__).with_name("progress.c")
    words = ["mpicc", "-O1", "-Wall", "-shared", "-fPIC", str(source)]
    subprocess.run([*words, "-o", str(library)], check=True, timeout=60)
    return library
