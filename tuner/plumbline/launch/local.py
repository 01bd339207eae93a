"""Ranks on this machine, through the library's own mpirun."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plumbline.libraries import Family, Installation
from plumbline.system import machine, process
from plumbline.system.placement import Placement
from plumbline_db import scratch
from plumbline_db.records import Machine

from . import Job, launcher


@contextmanager
def short_lived(id: str) -> Iterator[Path]:
    """A folder of temporary files, for a job that ends with this process."""
    del id
    with scratch.folder() as folder:
        yield folder


def here(installation: Installation, program: list[str], seconds: float) -> process.Finished:
    """A program of one process that needs no mpirun."""
    del installation
    return process.run(program, timeout_seconds=seconds)


@launcher("local")
class Local:
    name = "local"

    def machine(self, placement: Placement) -> Machine:
        del placement
        return machine.this_machine()

    def processing_units(self) -> int | None:
        return machine.processing_units()

    folder = staticmethod(short_lived)
    alone = staticmethod(here)

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        words, environment = self.start_command(family, installation, job)
        return process.run(words, timeout_seconds=job.timeout_seconds, environment=environment)

    def start_command(
        self, family: Family, installation: Installation, job: Job
    ) -> tuple[list[str], dict[str, str]]:
        words = [str(installation.mpirun), *family.words(job.placement), *job.program]
        # Files of an mpirun that was ended before it handled signals are removed with the folder.
        return words, job.environment | {"TMPDIR": str(job.folder)}
