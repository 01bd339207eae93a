"""How reductions cut vectors and fold ranks."""

from __future__ import annotations

import subprocess

from tests.collectives_alt.programs import Build


def test_halving(build: Build) -> None:
    done = subprocess.run([build.program("halving")], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not ok" not in done.stdout
