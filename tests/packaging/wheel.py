"""A wheel of this tree, made in a copy, so that nothing is left in the checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = (
    *("LICENSE", "MANIFEST.in", "README.md", "cflags.mk", "pyproject.toml", "setup.py"),
    *("collectives-alt", "db", "exporters", "packaging", "probes", "search-spaces", "tuner"),
)


def make(folder: Path) -> Path:
    """The wheel, in `folder`."""
    copy = folder / "tree"
    copy.mkdir()
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    words += ["--wheel-dir", str(folder), str(copy)]
    subprocess.run(words, check=True, timeout=200)
    shutil.rmtree(copy)
    (wheel,) = folder.glob("plumbline-*.whl")
    return wheel
