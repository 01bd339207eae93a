"""Ranks that SimGrid simulates, through smpirun: one process, one core, any number of nodes. The
platform and the hosts are files in the job's folder."""

from __future__ import annotations

import re

from plumbline.libraries import Installation
from plumbline.simulation import Simulation, hostfile, platform
from plumbline_db.errors import PlumblineError

from . import Job, launcher

# smpirun hands words on through a shell that splits and expands them.
_SAFE = re.compile(r"[\w./:=+,@%-]+\Z")


@launcher("simulated")
class Simulated:
    name = "simulated"

    def __init__(self, machine: Simulation | None = None) -> None:
        self._machine = machine or Simulation(library="ompi")

    def command(self, installation: Installation, job: Job) -> list[str]:
        unfit = [word for word in (*job.program[1:], str(job.folder)) if not _SAFE.match(word)]
        if unfit:
            raise PlumblineError(
                f"smpirun cannot be handed {unfit[0]!r}: choose a path without blanks and special "
                "characters (TMPDIR names the folder of temporary files)"
            )
        platform_file, host_file = job.folder / "platform.xml", job.folder / "hosts"
        platform_file.write_text(platform(self._machine, job.nprocs))
        host_file.write_text(hostfile(job.nprocs))
        return [
            *(str(installation.mpirun), "-quiet", "-np", str(job.nprocs)),
            *("-platform", str(platform_file), "-hostfile", str(host_file)),
            "--log=root.thresh:error",
            f"--cfg=smpi/coll-selector:{installation.library.build['selector']}",
            "--cfg=smpi/simulate-computation:no",
            *job.program,
        ]

    def alone(self, installation: Installation, job: Job) -> list[str]:
        """What smpicc makes is no program of its own: SimGrid loads it."""
        return self.command(installation, job)
