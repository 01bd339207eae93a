"""Ranks on this machine, through the library's own mpirun."""

from __future__ import annotations

from plumbline.libraries import Installation

from . import Job, launcher


@launcher("local")
class Local:
    name = "local"

    def command(self, installation: Installation, job: Job) -> list[str]:
        words = [str(installation.mpirun), "-np", str(job.nprocs)]
        if job.oversubscribed:
            # Bound, so that the system does not place the ranks anew in each launch.
            words += ["--oversubscribe", "--bind-to", "core:overload-allowed"]
        return [*words, *job.program]

    def alone(self, installation: Installation, job: Job) -> list[str]:
        del installation
        return job.program
