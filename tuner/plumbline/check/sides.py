"""Launches of a program with the exported files in force, and without: as a user starts it, who has
sourced them or has not."""

from __future__ import annotations

import datetime
import os
import random
import time
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from plumbline.campaign import proof
from plumbline.campaign.in_force import Files
from plumbline.launch import Job
from plumbline.launch.starter import ended
from plumbline.measure.launches import Progress
from plumbline.settings import Settings, starting
from plumbline.settings.toolchain import OUT, set_by_site
from plumbline.system.placement import Placement
from plumbline.system.process import Finished
from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.records import Failure, Run

from .cells import ProgramCell
from .judge import Times
from .programs import FOLDER, Program, Reading, Seconds, Unreadable

Side = Literal["tuned", "plain"]
_LEAST_SECONDS = 300.0  # for a launch, whatever the campaign's own had


class Refused(PlumblineError):
    """A program cannot be run here, without the files too."""


def placement_of(settings: Settings, processing_units: int | None, bind: str = "") -> Placement:
    """Where the ranks are: where the campaign had them bound if it was asked to bind them, else
    where a plain mpirun of the user puts them; `bind` asks for something else."""
    asked = settings.ranks.placement(processing_units)
    if bind:
        return msgspec.structs.replace(asked, bind=bind)
    return asked if asked.bind else asked.plain()


class Sides:
    """`left_out`: variables of the library that are set in this shell, and are on neither side."""

    def __init__(self, found: Files, bind: str, progress: Progress) -> None:
        """Raises PlumblineError where the installation cannot be had as it is."""
        toolchain = found.toolchain
        if found.settings.ranks.simulate is not None:
            raise UsageError(
                f"campaign {found.campaign.id} is of a simulated machine: there is nothing there "
                "that a benchmark program could be started on"
            )
        site = set_by_site(toolchain)
        if site:
            raise PlumblineError(f"{'; '.join(site)}: {OUT}")
        self.placement = placement_of(found.settings, toolchain.launcher.processing_units(), bind)
        self._found = found
        self._progress = progress
        ranks = starting.starter(toolchain, found.settings)
        self._clean = ranks.clean_environment()
        self._beyond = ranks.beyond
        self._extra: dict[Side, dict[str, str]] = {
            "tuned": proof.environment_of(found.script, self._clean),
            "plain": {},
        }
        own = dict(os.environ)
        self.left_out = [
            name for name in toolchain.family.settings_in(own) if name not in self._clean
        ]
        self._timeout_seconds = max(_LEAST_SECONDS, found.settings.sampling.launch_timeout_seconds)
        # What an earlier check has left of its jobs is not this one's.
        self._mark = f"check-{time.time_ns()}-{os.getpid()}"
        self._number = 0

    def pairs(
        self,
        program: Program,
        offered: Sequence[ProgramCell],
        loops: Sequence[str],
        count: int,
        seed: int,
        what: str,
    ) -> Times:
        """`count` pairs of launches of all that is offered; which side goes first is random."""
        self._progress.step(
            f"{program.name}, {what}: {counted(len(offered), 'cell')}, {count} pairs of launches"
        )
        times = Times()
        order = random.Random(seed)  # noqa: S311 - no secret
        for pair in range(count):
            sides: list[Side] = list(get_args(Side))
            order.shuffle(sides)
            found: dict[Side, dict[Reading, float]] = {"tuned": {}, "plain": {}}
            for words in program.launches(offered, loops, seed + pair):
                for side in sides:
                    found[side] |= self._blamed(program, offered, words, side)
            times.tuned.append(found["tuned"])
            times.plain.append(found["plain"])
        return times

    def _blamed(
        self, program: Program, offered: Sequence[ProgramCell], words: Sequence[str], side: Side
    ) -> Seconds:
        """A launch; one that fails with the files is their fault if it does not without them."""
        try:
            return self._launch(program, offered, words, side)
        except PlumblineError:
            if side == "tuned":
                self._launch(program, offered, words, "plain")
            raise

    def _launch(
        self, program: Program, offered: Sequence[ProgramCell], words: Sequence[str], side: Side
    ) -> Seconds:
        toolchain = self._found.toolchain
        self._number += 1
        suite = f"{program.name} {'with' if side == 'tuned' else 'without'} the files"
        id = f"{self._found.campaign.id}/{self._mark}-{self._number:04d}"
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        with toolchain.launcher.folder(id) as folder:
            program.prepare(offered, folder)
            job = Job(
                id=id,
                program=[word.replace(FOLDER, str(folder)) for word in words],
                placement=self.placement,
                folder=folder,
                environment=self._clean | self._extra[side],
                extra=self._beyond(self._extra[side]),
                timeout_seconds=self._timeout_seconds,
            )
            done = toolchain.launcher.run(toolchain.family, toolchain.installation, job)
            failure = self._failure(done)
            try:
                seconds = {} if failure else program.read(job.program, folder, done.stdout)
            except Unreadable as error:
                failure = Failure("bad records", str(error))
        run = Run(
            id=id,
            campaign=self._found.campaign.id,
            suite=suite,
            sequence=self._number,
            failure=failure,
            argv=done.argv,
            environment=job.extra,
            plan="",
            stderr=done.stderr,
            started=started,
            seconds=done.seconds,
            timed_seconds=0.0,
        )
        self._progress.launched(suite, run)
        if failure is not None:
            raise self._error(program, side, failure.how, done)
        return seconds

    def _failure(self, done: Finished) -> Failure | None:
        if done.timed_out:
            return Failure("hung", f"no end after {self._timeout_seconds:g} s")
        if done.status != 0:
            return ended(done.status)
        family = self._found.toolchain.family
        said = family.complaint(done.stderr) or family.complaint(done.stdout)
        text = f"the library did not take a setting: {said}"
        return Failure("not in force", text) if said else None

    def _error(self, program: Program, side: Side, reason: str, done: Finished) -> PlumblineError:
        said = (done.stderr.strip() or done.stdout.strip())[-600:]
        text = f"{program.name}: {reason} ({' '.join(done.argv)[:300]})\n{said}"
        if side == "plain":
            return Refused(text)
        return PlumblineError(
            f"with the exported files in force {text}\nso the files are not fit for use; "
            f"`{command_name()} run` says whether they are in force"
        )
