"""Programs that stand in for mpirun with the probe behind it: written by each test as shell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.launch import Job
from plumbline.launch.local import short_lived
from plumbline.launch.starter import Programs, Starter
from plumbline.libraries import Family, Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Machine
from tests.db import build


class Script:
    """A launcher: `/bin/sh SCRIPT plan records` in place of mpirun and the probe."""

    name = "script"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.jobs: list[Job] = []

    folder = staticmethod(short_lived)

    def machine(self, placement: Placement) -> Machine:
        del placement
        return build.MACHINE

    def processing_units(self) -> int | None:
        return 2

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        del family, installation
        self.jobs.append(job)
        _, _, plan, _, records = job.program
        words = ["/bin/sh", str(self._path), plan, records]
        return process.run(words, timeout_seconds=job.timeout_seconds, environment=job.environment)

    def alone(
        self, installation: Installation, program: list[str], seconds: float
    ) -> process.Finished:
        del installation
        return process.run(program, timeout_seconds=seconds)


def starter(
    folder: Path, text: str, *, timeout_seconds: float = 20.0, preloaded: Sequence[str] = ()
) -> Starter:
    """`text` is a shell script; $1 is the plan, $2 where the records belong."""
    path = folder / "mpirun.sh"
    path.write_text(text)
    return Starter(
        Programs(
            OpenMpi(),
            Installation(build.LIBRARY, Path("/opt/openmpi/bin/mpirun"), None),
            Script(path),
            Path("/opt/plumbline/probe"),
        ),
        placement=Placement(nodes=1, ppn=4, oversubscribed=True),
        timeout_seconds=timeout_seconds,
        preloaded=preloaded,
    )


def lines(records: list[ProbeRecord]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in records)
