"""The shapes of trees that variants send along."""

from __future__ import annotations

import subprocess

from tests.collectives_alt.programs import Build


def test_trees(build: Build) -> None:
    done = subprocess.run([build.program("trees")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not ok" not in done.stdout
