"""Ranks that SimGrid simulates, through smpirun: one process, one core, any number of nodes. The
platform and the hosts are files in the job's folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from plumbline import process
from plumbline.libraries import Family, Installation
from plumbline.libraries.simgrid import options_in
from plumbline.placement import Placement
from plumbline.simulation import Simulation, hostfile, machine, overheads, platform
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Machine

from . import Job, launcher
from .local import short_lived

# smpirun hands words on through a shell that splits and expands them.
_SAFE = re.compile(r"[\w./:=+,@%-]+\Z")


@launcher("simulated", table=Simulation)
class Simulated:
    name = "simulated"

    def __init__(self, machine: Simulation, beside: Path) -> None:
        del beside
        self._machine = machine

    def machine(self, placement: Placement) -> Machine:
        return machine(self._machine, placement.nprocs)

    def processing_units(self) -> int | None:
        return None

    folder = staticmethod(short_lived)

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        del family
        words = self.command(
            installation,
            job.program,
            job.placement.nprocs,
            job.folder,
            options_in(job.environment),
        )
        return process.run(words, timeout_seconds=job.timeout_seconds, environment=job.environment)

    def alone(
        self, installation: Installation, program: list[str], seconds: float
    ) -> process.Finished:
        """What smpicc makes is no program of its own: SimGrid loads it."""
        with short_lived("") as folder:
            words = self.command(installation, program, 1, folder)
            return process.run(words, timeout_seconds=seconds)

    def command(
        self,
        installation: Installation,
        program: list[str],
        nprocs: int,
        folder: Path,
        options: Sequence[str] = (),
    ) -> list[str]:
        unfit = [word for word in (*program[1:], str(folder), *options) if not _SAFE.match(word)]
        if unfit:
            raise PlumblineError(
                f"smpirun cannot be handed {unfit[0]!r}: choose a path without blanks and special "
                "characters (TMPDIR names the folder of temporary files)"
            )
        platform_file, host_file = folder / "platform.xml", folder / "hosts"
        platform_file.write_text(platform(self._machine, nprocs))
        host_file.write_text(hostfile(nprocs))
        return [
            *(str(installation.mpirun), "-quiet", "-np", str(nprocs)),
            *("-platform", str(platform_file), "-hostfile", str(host_file)),
            "--log=root.thresh:error",
            f"--cfg=smpi/coll-selector:{installation.library.build['selector']}",
            "--cfg=smpi/simulate-computation:no",
            *overheads(self._machine),
            *options,
            *program,
        ]
