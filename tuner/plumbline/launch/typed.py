"""Ranks as a user's own command starts them: its words up to the program, with another program in
its place. Where the ranks are is the user's matter; their header says it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from plumbline.libraries import Family, Installation
from plumbline.system import machine, process
from plumbline.system.placement import Placement
from plumbline_db import scratch
from plumbline_db.records import Machine

from . import Job
from .local import here


class Typed:
    """`words`: those before the program; `shared`: a folder that all hosts see, if one is known to
    be."""

    name = "typed"
    alone = staticmethod(here)

    def __init__(self, words: Sequence[str], shared: Path) -> None:
        self._words = list(words)
        self._shared = shared if os.access(shared, os.W_OK | os.X_OK) else None

    def machine(self, placement: Placement) -> Machine:
        del placement
        return machine.this_machine()

    def processing_units(self) -> int | None:
        return None

    @contextmanager
    def folder(self, id: str) -> Iterator[Path]:
        del id
        with scratch.folder(self._shared) as folder:
            yield folder

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        del family, installation
        words = [*self._words, *job.program]
        return process.run(words, timeout_seconds=job.timeout_seconds, environment=job.environment)
