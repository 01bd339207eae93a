"""Man pages: one of each command, that man reads without a complaint."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.cli import COMMANDS

ROOT = Path(__file__).parents[2]


def test_every_command_has_a_page(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "packaging" / "man.py"), str(tmp_path)]
    subprocess.run(words, check=True, timeout=120, cwd=ROOT)
    pages = {page.stem for page in tmp_path.iterdir()}
    assert {
        "plumbline",
        "plumbline-db-backup",
        *(f"plumbline-{name}" for name in COMMANDS),
    } <= pages
    for name, what in COMMANDS.items():
        text = (tmp_path / f"plumbline-{name}.1").read_text()
        assert what.rstrip(".") in text.replace("\\-", "-") and "\b" not in text, name
    if shutil.which("man") is None:
        pytest.skip("no man here reads them")
    done = subprocess.run(
        ["man", "--warnings", "-l", str(tmp_path / "plumbline-build.1")],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stderr == "" and "plumbline build --mpi /opt/openmpi-5.0.9" in done.stdout
