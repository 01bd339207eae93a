"""Hierarchical variants on shapes of nodes: pretended ones of any shape, and two hosts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.collectives_alt.programs import AS_ROOT, Build, mpirun
from tests.hosts import Hosts

pytestmark = pytest.mark.mpi

CHECKS = 18
"""Checks of the program: two communicators, each with its tables twice and seven variants."""


@pytest.fixture(scope="module")
def program(build: Build) -> Path:
    return build.program("two_levels")


@pytest.mark.parametrize(
    "shape",
    [
        "a",
        "aaaaa",  # one node
        "abcde",  # every rank alone
        "aabbcc",  # in order
        "aaabbb",
        "ababab",  # interleaved
        "abcabc",
        "abbbcc",  # consecutive, 1, 3 and 2 ranks
        "cabacaa",  # neither consecutive nor even
        "abbaabbacd",
    ],
)
def test_shapes(program: Path, shape: str) -> None:
    done = mpirun(len(shape), program, *shape)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == CHECKS
    assert "not ok" not in done.stdout
    assert f"nodes {len(set(shape))}\n" in done.stdout


def test_two_hosts(build: Build, program: Path, two_hosts: Hosts) -> None:
    """Nodes as the library sees them, and messages that do cross a network."""
    done = subprocess.run(
        two_hosts.command(2, [str(program)]),
        env={**os.environ, **AS_ROOT},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout.count("ok "), done.stdout.count("not ok")) == (CHECKS, 0)
    assert "nodes 2\n" in done.stdout
