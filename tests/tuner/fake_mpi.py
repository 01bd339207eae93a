"""Programs that stand in for mpirun with the probe behind it: written by each test as shell."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.launch import Job
from plumbline.libraries import Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.measure import Starter
from plumbline_db.records import ProbeRecord
from tests.db import build


class Script:
    """A launcher: `/bin/sh SCRIPT plan records` in place of mpirun and the probe."""

    name = "script"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.jobs: list[Job] = []

    def command(self, installation: Installation, job: Job) -> list[str]:
        del installation
        self.jobs.append(job)
        _, _, plan, _, records = job.program
        return ["/bin/sh", str(self._path), plan, records]

    def alone(self, installation: Installation, job: Job) -> list[str]:
        del installation
        return job.program


def starter(folder: Path, text: str, *, timeout_seconds: float = 20.0) -> Starter:
    """`text` is a shell script; $1 is the plan, $2 where the records belong."""
    path = folder / "mpirun.sh"
    path.write_text(text)
    return Starter(
        family=OpenMpi(),
        installation=Installation(build.LIBRARY, Path("/opt/openmpi/bin/mpirun"), None),
        launcher=Script(path),
        probe=Path("/opt/plumbline/probe"),
        nprocs=4,
        oversubscribed=True,
        timeout_seconds=timeout_seconds,
    )


def lines(records: list[ProbeRecord]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in records)
