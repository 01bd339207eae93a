"""Ranks that SimGrid simulates, through smpirun: one process, one core, any number of nodes. The
platform and the hosts are files in the job's folder.

Many ranks take a simulator long. So their cases are shared out between as many processes as there
are cores, and what was measured before is not measured again (parts.py, known.py): what a launch
leaves behind are the records of one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline import machine as this_machine
from plumbline import process
from plumbline.libraries import Family, Installation
from plumbline.libraries.simgrid import options_in
from plumbline.placement import Placement
from plumbline.simulation import Simulation, hostfile, machine, overheads, platform
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Machine

from . import Job, launcher, parts
from .known import Key, Known, keys
from .local import short_lived

# smpirun hands words on through a shell that splits and expands them.
_SAFE = re.compile(r"[\w./:=+,@%-]+\Z")


# Fewer ranks start sooner than a second process would help.
MANY = 64
_PROFILE = "PLUMBLINE_PROFILE"


@launcher("simulated", table=Simulation)
class Simulated:
    name = "simulated"

    def __init__(self, machine: Simulation, beside: Path | None = None) -> None:
        del beside
        self._machine = machine
        self._known = Known()

    def machine(self, placement: Placement) -> Machine:
        return machine(self._machine, placement)

    def processing_units(self) -> int | None:
        return None

    folder = staticmethod(short_lived)

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        del family
        options = options_in(job.environment)
        plan = _plan_of(job.program)
        if job.placement.nprocs < MANY or plan is None or parts.whole(plan):
            words = self.command(installation, job.program, job.placement, job.folder, options)
            return process.run(
                words, timeout_seconds=job.timeout_seconds, environment=job.environment
            )
        return self._in_parts(installation, job, plan, options)

    def _in_parts(
        self, installation: Installation, job: Job, plan: str, options: Sequence[str]
    ) -> process.Finished:
        program = job.program[0]
        depends = self.command(installation, [program], job.placement, job.folder, options)
        known_as = _keys(plan, depends, job.environment)
        known = self._known.look_up(known_as)
        # One case at least is measured: the header is its launch's.
        without = set(list(known)[: len(parts.case_lines(plan)) - 1])
        commands, records = [], []
        for number, text in enumerate(parts.split(plan, this_machine.processing_units(), without)):
            file, out = job.folder / f"plan-{number}", job.folder / f"records-{number}.ndjson"
            file.write_text(text)
            words = [program, "--plan", str(file), "--out", str(out)]
            commands.append(self.command(installation, words, job.placement, job.folder, options))
            records.append(out)
        ends = process.run_together(
            commands, timeout_seconds=job.timeout_seconds, environment=job.environment
        )
        found = [parts.read(_written(out)) for out in records]
        given = [one for number in sorted(without) for one in known[number]]
        joined = parts.join(found, _with_orders(given))
        whole = all(out.is_file() for out in records)
        target = Path(job.program[-1])
        (target if whole else target.with_name(target.name + ".part")).write_text(
            parts.write(joined)
        )
        if whole:
            self._known.learn(known_as, joined)
        worst = next((one for one in ends if one.timed_out), None)
        worst = worst or next((one for one in ends if one.status != 0), ends[0])
        return msgspec.structs.replace(
            worst,
            stderr="".join(one.stderr for one in ends),
            seconds=max(one.seconds for one in ends),
        )

    def alone(
        self, installation: Installation, program: list[str], seconds: float
    ) -> process.Finished:
        """What smpicc makes is no program of its own: SimGrid loads it."""
        with short_lived("") as folder:
            words = self.command(installation, program, Placement(nodes=1, ppn=1), folder)
            return process.run(words, timeout_seconds=seconds)

    def command(
        self,
        installation: Installation,
        program: list[str],
        placement: Placement,
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
        platform_file.write_text(platform(self._machine, placement))
        host_file.write_text(hostfile(self._machine, placement))
        return [
            *(str(installation.mpirun), "-quiet", "-np", str(placement.nprocs)),
            *("-platform", str(platform_file), "-hostfile", str(host_file)),
            "--log=root.thresh:error",
            f"--cfg=smpi/coll-selector:{installation.library.build['selector']}",
            "--cfg=smpi/simulate-computation:no",
            *overheads(self._machine),
            *options,
            *program,
        ]


def _plan_of(program: Sequence[str]) -> str | None:
    """The plan of a probe that is to measure; None for other programs."""
    if len(program) != 5 or (program[1], program[3]) != ("--plan", "--out"):
        return None
    return Path(program[2]).read_text()


def _keys(plan: str, command: Sequence[str], environment: Mapping[str, str]) -> dict[int, Key]:
    """`command`: with the last of options that stand twice, in one order."""
    options = dict(word.split(":", 1) for word in command if word.startswith("--cfg="))
    words = [f"{name}:{value}" for name, value in sorted(options.items())]
    places = [word for word in command if word in ("-np",) or word.isdigit()]
    profile = environment.get(_PROFILE, "")
    text = Path(profile).read_text() if profile and Path(profile).is_file() else profile
    return keys(plan, [*places, *words], text)


def _written(records: Path) -> str:
    part = records.with_name(records.name + ".part")
    return next((one.read_text() for one in (records, part) if one.is_file()), "")


def _with_orders(known: Sequence[parts.Record]) -> list[parts.Record]:
    """Cases that were not measured again stand first in the orders of the blocks."""
    blocks: dict[int, list[int]] = {}
    for one in known:
        if one["record"] == "samples":
            blocks.setdefault(one["block"], []).append(one["case"])
    orders = [{"record": "order", "block": block, "cases": of_} for block, of_ in blocks.items()]
    return [*known, *orders]
