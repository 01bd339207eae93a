"""The probe, the preload library as users get it, and the C programs of this folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.probes.launch import ROOT, Probe, build_folder
from tests.tuner.cli.conftest import starter

__all__ = ["starter"]  # fixtures of other folders

HERE = Path(__file__).parent
WARNINGS = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Werror")


@pytest.fixture(scope="session")
def build() -> Path:
    """The build folder of the MPI whose mpicc is on PATH, up to date."""
    for room in ("collectives-alt", "probes"):
        subprocess.run(["make", "-s", "-C", str(ROOT / room)], check=True, timeout=240)
    return build_folder()


@pytest.fixture(scope="session")
def legal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of legal calls (legal.c)."""
    return _compiled(tmp_path_factory, "legal")


@pytest.fixture(scope="session")
def truncating(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A preload library that drops small blocks (truncating.c)."""
    return _compiled(tmp_path_factory, "truncating", "-shared", "-fPIC")


@pytest.fixture
def probe(build: Path, truncating: Path, tmp_path: Path) -> Probe:
    return Probe(build / "probe", tmp_path, truncating)


def _compiled(folders: pytest.TempPathFactory, name: str, *flags: str) -> Path:
    program = folders.mktemp(name) / name
    source = str(HERE / f"{name}.c")
    command = ["mpicc", *WARNINGS, *flags, "-O1", "-g", source, "-o", str(program)]
    subprocess.run(command, check=True, timeout=60)
    return program
