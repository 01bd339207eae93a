"""The shapes of trees that variants send along; how reductions cut vectors and fold ranks;
schedules of blocks on circulant graphs; sums of vectors."""

from __future__ import annotations

import subprocess

import pytest

from tests.collectives_alt.programs import Build, mpirun


@pytest.mark.parametrize("program", ["trees", "halving", "circulant"])
def test_shapes(build: Build, program: str) -> None:
    done = subprocess.run([build.program(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not ok" not in done.stdout


@pytest.mark.mpi
def test_sums(build: Build) -> None:
    done = mpirun(1, build.program("sums"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not ok" not in done.stdout
