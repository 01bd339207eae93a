"""What tests of `make test-install` share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging import wheel
from tests.packaging.wheel import ROOT


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the lock file names, by hash, and the wheel."""
    folder = tmp_path_factory.mktemp("fresh")
    made = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(made)], check=True, timeout=120)
    pip = [str(made / "bin" / "pip"), "install", "--quiet"]
    locked = ["--require-hashes", "-r", str(ROOT / "requirements" / "run.txt")]
    subprocess.run([*pip, *locked], check=True, timeout=240)
    subprocess.run([*pip, "--no-deps", str(wheel.make(folder))], check=True, timeout=120)
    return made
