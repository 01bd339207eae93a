"""The canary program, built once for the installed MPI."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.exporters import mpi


@pytest.fixture(scope="session")
def canary_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("mpicc") is None or shutil.which("mpirun") is None:
        pytest.skip("no mpicc and mpirun on PATH")
    folder = tmp_path_factory.mktemp("canary")
    return mpi.build(Path(__file__).with_name("canary.c"), folder / "canary", "-Werror")


@pytest.fixture(scope="session")
def open_mpi(canary_program: Path) -> str:
    """Its version."""
    return mpi.version()
