"""`plumbline` in a process of its own, in an environment that changes no measurement."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests import own_core
from tests.tuner.simulated import ROOT

ENTRY = "from plumbline.cli import main; main()"
FOLDERS = os.pathsep.join(str(ROOT / one) for one in ("", "tuner", "db", "exporters"))


def environment() -> dict[str, str]:
    """The caller's, without what would change a measurement or lead to another database."""
    mine = {
        name: value
        for name, value in os.environ.items()
        if "_MCA_" not in name and not name.startswith(("PLUMBLINE", "LD_PRELOAD"))
    }
    return mine | {"PYTHONPATH": FOLDERS}


def plumbline(
    *words: object,
    seconds: float = 280,
    cwd: Path | None = None,
    typed: str = "",
    beneath: Sequence[str] | None = None,
    **own: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command; `own` are variables. `beneath` is the command that starts it; by default it
    and its ranks have one processor of the test process."""
    starting = own_core.words() if beneath is None else beneath
    return subprocess.run(
        [*starting, sys.executable, "-c", ENTRY, *map(str, words)],
        env=environment() | own,
        cwd=cwd,
        input=typed,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def start(*words: object) -> subprocess.Popen[bytes]:
    """Start a command on one processor of the test process."""
    return subprocess.Popen(
        [*own_core.words(), sys.executable, "-c", ENTRY, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
