"""A launcher under which `loops` takes times that a test has planted, and others fail or answer."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from plumbline.launch import Job
from plumbline.launch.local import short_lived
from plumbline.libraries import Family, Installation
from plumbline.system.placement import Placement
from plumbline.system.process import Finished
from plumbline_db.records import Machine
from tests.db import build

RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
# (tuned, loop, case, number of the launch) -> microseconds
Cost = Callable[[bool, str, str, int], float]
NOISE = 0.02


def halved(tuned: bool, loop: str, case: str, number: int) -> float:
    """Everything takes half the time with the files."""
    del loop, case, number
    return 50.0 if tuned else 100.0


class Pretended:
    name = "pretended"
    folder = staticmethod(short_lived)

    def __init__(
        self, cost: Cost = halved, fails: Callable[[bool, str], str] = lambda *_: ""
    ) -> None:
        """`fails(tuned, program)`: what a launch that fails says; empty: it goes well."""
        self.jobs: list[Job] = []
        self._cost = cost
        self._fails = fails

    def machine(self, placement: Placement) -> Machine:
        del placement
        return build.MACHINE

    def processing_units(self) -> int | None:
        return 2

    def alone(self, installation: Installation, program: list[str], seconds: float) -> Finished:
        raise NotImplementedError

    def run(self, family: Family, installation: Installation, job: Job) -> Finished:
        self.jobs.append(job)
        tuned = RULES in job.environment
        program = Path(job.program[0]).name
        said = self._fails(tuned, program)
        stdout = ""
        if not said and program == "loops":
            self._loops(job, tuned)
        elif not said:
            stdout = self._osu(program, tuned)
        words = [str(installation.mpirun), *family.words(job.placement), *job.program]
        return Finished(words, 1 if said else 0, False, stdout, said, 0.1)

    @property
    def tuned(self) -> list[bool]:
        return [RULES in job.environment for job in self.jobs]

    def _loops(self, job: Job, tuned: bool) -> None:
        words = job.program
        chosen = [words[place + 1] for place, word in enumerate(words) if word == "--loop"]
        chance = random.Random(len(self.jobs))
        lines: list[dict[str, object]] = [{"program": "loops", "nprocs": 4}]
        lines += [
            {
                "case": case,
                "loop": loop,
                "us": self._cost(tuned, loop, case, len(self.jobs))
                * chance.uniform(1 - NOISE, 1 + NOISE),
            }
            for case in cases(job)
            for loop in chosen
        ]
        out = Path(words[words.index("--out") + 1])
        out.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def _osu(self, program: str, tuned: bool) -> str:
        us = self._cost(tuned, "osu_*", program, len(self.jobs))
        rows = "".join(f"{1 << power:<10}{us:>15.2f}\n" for power in range(0, 17))
        title = f"# OSU MPI {program.removeprefix('osu_').capitalize()} Latency Test v7.4"
        return f"{title}\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n{rows}"


def cases(job: Job) -> list[str]:
    return [word for word in job.program if word.startswith("MPI_")]
