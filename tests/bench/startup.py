"""Compare the start of commands that measure nothing with that of a bare interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from plumbline.settings.toolchain import Toolchain
from plumbline_db.connection import Database
from tests.bench.figure import Figure
from tests.db import build

TURNS = 10


def startup(toolchain: Toolchain) -> Iterator[Figure]:
    """Processor time, the least of some turns."""
    del toolchain
    bare = _seconds(["-c", "pass"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "small.db")
        with Database.open(path, write=True) as db:
            build.done(db)
        commands = (
            ["campaign", "--help"],
            ["results", "--list", "--db", str(path)],
            ["results", "--db", str(path)],
        )
        for words in commands:
            taken = _seconds(["-m", "plumbline", *words])
            name = " ".join(word for word in words if word not in ("--db", str(path)))
            what = f"{1e3 * taken:.0f} ms over {1e3 * bare:.0f} ms of `python -c pass`"
            yield Figure(f"start-up of {name}, as a ratio", taken / bare, "", what)


def _seconds(words: Sequence[str]) -> float:
    """Return the least processor time of some turns, user and system, in seconds."""
    least = float("inf")
    for _ in range(TURNS):
        before = os.times()
        subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        used = after.children_user + after.children_system
        least = min(least, used - before.children_user - before.children_system)
    return least
