"""python -m tests.faults with the library preloaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.tuner.simulated import ROOT


def require_none_is_wrong(
    library: Path, folder: Path, scenario: str, faults: Sequence[str], most: int
) -> None:
    places = os.pathsep.join(str(ROOT / name) for name in ("", "tuner", "db", "exporters"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLUMBLINE")}
    words = [str(folder), scenario, *faults, "--most", str(most)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", *words],
        env=kept | {"PYTHONPATH": places, "LD_PRELOAD": str(library)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(f"\n{scenario}\n{done.stdout}")  # pytest -s
    assert done.returncode == 0, done.stdout
