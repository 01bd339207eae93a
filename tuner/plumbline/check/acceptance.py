"""The acceptance test as a whole: pairs of launches of each program, as a user starts it who has
sourced the exported files or has not; what looks slower once more; the judgement.
Starts launches, prints nothing, keeps nothing in the database."""

from __future__ import annotations

import datetime
import os
import random
import statistics as numbers
import time
from collections.abc import Sequence
from typing import Any, Literal, get_args

import msgspec

from plumbline.campaign import proof
from plumbline.campaign.in_force import ActiveFiles
from plumbline.check import ITERATIONS, PAIRS
from plumbline.check.programs import OPS, TYPES, Loops, ProgramCell, cells, whole
from plumbline.core.plan import Data
from plumbline.launch import Job
from plumbline.launch.starter import ended
from plumbline.measure import tables
from plumbline.measure.launches import Progress, Silent
from plumbline.settings import Settings, identity, starting
from plumbline.settings.toolchain import OUT, set_by_site
from plumbline.system import paths
from plumbline.system.placement import Placement
from plumbline.system.process import Finished
from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.records import Failure, Run, Winner

from . import judge
from .judge import CellSeen, Judgement, Times, WinnerInLoop, Word
from .programs import FOLDER, Program, Reading, Seconds, Unreadable, Wanted

_OF_WINNER = ("function", "bytes_from", "bytes_to", "variant", "configuration")


def document(found: Acceptance) -> dict[str, Any]:
    return {
        "campaign": found.campaign,
        "pairs": found.pairs,
        "seed": found.seed,
        "slower": found.slower(),
        "loops": [
            {
                "loop": loop,
                **{word.replace(" ", "_"): found.count(loop, word) for word in get_args(Word)},
                "unseen": len(found.unseen[loop]),
            }
            for loop in found.loops
        ],
        "winners": [
            {
                **{name: getattr(winner, name) for name in _OF_WINNER},
                "promised": {
                    "speedup": winner.speedup,
                    "low": winner.speedup_low,
                    "high": winner.speedup_high,
                },
                "seen": [_in_loop(loop) for loop in found.seen if loop.winner == number],
            }
            for number, winner in enumerate(found.winners)
        ],
        "cells": [_cell(cell) for cell in found.cells],
        "notes": found.notes,
    }


def _in_loop(one: WinnerInLoop) -> dict[str, Any]:
    return {
        "loop": one.loop,
        "word": one.word,
        **msgspec.to_builtins(one.seen),
        "again": msgspec.to_builtins(one.again),
        "cells": one.cells,
        "worst": msgspec.to_builtins(one.worst) | {"speedup": one.worst_speedup},
        "slower": [msgspec.to_builtins(cell) for cell in one.slower],
    }


def _cell(one: CellSeen) -> dict[str, Any]:
    return {
        "winner": one.winner,
        "loop": one.loop,
        **msgspec.to_builtins(one.cell),
        "word": one.word,
        **msgspec.to_builtins(one.seen),
        "again": msgspec.to_builtins(one.again),
    }


LEAST_PAIRS = 6  # fewer have no 95 % interval
WIDE = 2.0
_Side = Literal["tuned", "plain"]
_LEAST_SECONDS = 300.0  # for a launch, whatever the campaign's own had


class Acceptance(msgspec.Struct, frozen=True):
    """`winners` are those that were asked about, in the campaign's order; numbers of winners count
    in it. `loops`: the columns, in order. `unseen`: by loop, winners without any size that it
    measures. `notes`: what else there is to know."""

    campaign: str
    winners: list[Winner]
    loops: list[str]
    seen: list[WinnerInLoop]
    cells: list[CellSeen]
    unseen: dict[str, list[int]]
    pairs: int
    seed: int
    notes: list[str] = []

    def of(self, winner: int, loop: str) -> WinnerInLoop | None:
        reading = (
            in_loop for in_loop in self.seen if (in_loop.winner, in_loop.loop) == (winner, loop)
        )
        return next(reading, None)

    def count(self, loop: str, word: Word) -> int:
        return sum(in_loop.loop == loop and in_loop.word == word for in_loop in self.seen)

    def slower(self) -> list[int]:
        """Winners that are slower in some loop."""
        return sorted({loop.winner for loop in self.seen if loop.word == "slower"})


def run(
    found: ActiveFiles,
    *,
    pairs: int = PAIRS,
    seed: int = 1,
    functions: Sequence[str] = (),
    bind: str = "",
    iterations: int = ITERATIONS,
    programs: Sequence[Program] = (),
    progress: Progress | None = None,
) -> Acceptance:
    """Measures the winners (of `functions`; none: all) with `loops` and the `programs`. Raises
    PlumblineError where there is nothing to check, or a program fails only with the files in
    force."""
    if pairs < LEAST_PAIRS:
        raise UsageError(f"{pairs} pairs cannot show anything: at least {LEAST_PAIRS}")
    winners = _chosen(found, functions)
    sides = _Sides(found, bind, progress or Silent())
    cells, notes = _wanted(found, winners)
    program = paths.layout().loops(paths.build_id(found.toolchain.installation.library))
    own_loops = Loops(program, iterations, found.settings.cases.root)
    judged: list[tuple[Program, Judgement]] = []
    for each in (own_loops, *programs):
        offered = each.offers(cells)
        if not offered:
            judged.append((each, Judgement([], [])))
            continue
        try:
            judged.append((each, _judged(sides, each, offered, winners, pairs, seed)))
        except _Refused as error:
            if each is own_loops:
                raise
            notes.append(f"left out: {error}")
    if sides.left_out:
        notes.append(f"on neither side, though set in this shell: {', '.join(sides.left_out)}")
    notes += _wide([cell for _, judgement in judged for cell in judgement.cells])
    return _acceptance(found, winners, judged, pairs, seed, notes)


def _chosen(found: ActiveFiles, functions: Sequence[str]) -> list[Winner]:
    if not found.winners:
        raise PlumblineError(f"campaign {found.campaign.id} has no winners: nothing to check")
    chosen = [winner for winner in found.winners if not functions or winner.function in functions]
    unknown = set(functions) - {winner.function for winner in found.winners}
    if unknown:
        functions_known = dict.fromkeys(winner.function for winner in found.winners)
        raise UsageError(
            f"campaign {found.campaign.id} has no winner of {', '.join(sorted(unknown))}; "
            f"it has of {', '.join(functions_known)}"
        )
    return chosen


def _wanted(found: ActiveFiles, winners: list[Winner]) -> tuple[Wanted, list[str]]:
    settings = found.settings
    sizes = tables.sizes_of(identity.chosen(found.toolchain, settings), settings)
    data, notes = settings.cases.data, []
    if data.type not in ("", *TYPES) or data.op not in ("", *OPS):
        notes.append(
            f"{data.type} {data.op} of the campaign is none of loops': the usual types in its place"
        )
        data = Data(root=data.root)
    made = cells(winners, sizes, settings.ranks.nprocs, data)
    if not made:
        raise PlumblineError(
            f"no size that campaign {found.campaign.id} measures is one of its winners': nothing "
            "to check"
        )
    most = {
        function: whole(function, max(its_sizes), 1, settings.ranks.nprocs)
        for function, its_sizes in sizes.items()
        if its_sizes
    }
    return Wanted(
        winners=winners,
        cells=made,
        nprocs=settings.ranks.nprocs,
        root=settings.cases.root,
        most=most,
    ), notes


def _judged(
    sides: _Sides,
    program: Program,
    offered: Sequence[ProgramCell],
    winners: Sequence[Winner],
    pairs: int,
    seed: int,
) -> Judgement:
    times = sides.pairs(program, offered, program.loops, pairs, seed, "first")
    stages = [judge.log_ratios(times, winners)]
    seed, count = seed + pairs, max(pairs, PAIRS)
    for name in ("once more what looks slower", "a third time what is slower"):
        slow = judge.suspects(stages, winners)
        if not slow:
            break
        loops = [loop for loop in program.loops if loop in {reading.loop for reading in slow}]
        times = sides.pairs(program, _of(offered, slow), loops, count, seed, name)
        stages.append(judge.log_ratios(times, winners))
        seed, count = seed + count, 2 * count
    return judge.judge(stages, winners)


def _of(offered: Sequence[ProgramCell], slow: Sequence[Reading]) -> list[ProgramCell]:
    """Return what is offered of them. A program may say more of a cell than it was asked."""
    cells_known = {reading.cell for reading in slow} | {
        ProgramCell(reading.cell.function, reading.cell.bytes) for reading in slow
    }
    return [cell for cell in offered if cell in cells_known]


def _wide(cells: Sequence[CellSeen]) -> list[str]:
    """Return where most cells are too uncertain to say anything of use."""
    widths = [cell.seen.high / cell.seen.low for cell in cells if cell.seen.low and cell.seen.high]
    if not widths or (width := numbers.median(widths)) < WIDE:
        return []
    return [
        f"half of all intervals reach over a factor of {width:.1f} and more: the machine was busy, "
        "or calls are very uneven here; an idle machine or more --launches say more"
    ]


def _acceptance(
    found: ActiveFiles,
    winners: list[Winner],
    judged: Sequence[tuple[Program, Judgement]],
    pairs: int,
    seed: int,
    notes: list[str],
) -> Acceptance:
    columns = [loop for program, _ in judged for loop in program.loops]
    in_loops = [winner for _, judgement in judged for winner in judgement.winners]
    return Acceptance(
        campaign=found.campaign.id,
        winners=winners,
        loops=columns,
        seen=in_loops,
        cells=[cell for _, judgement in judged for cell in judgement.cells],
        unseen={
            loop: [
                number
                for number in range(len(winners))
                if not any((in_loop.winner, in_loop.loop) == (number, loop) for in_loop in in_loops)
            ]
            for loop in columns
        },
        pairs=pairs,
        seed=seed,
        notes=notes,
    )


class _Refused(PlumblineError):
    """A program cannot be run here, without the files too."""


def placement_of(settings: Settings, processing_units: int | None, bind: str = "") -> Placement:
    """Return where the ranks are: where the campaign had them bound if it was asked to bind them,
    else where a plain mpirun of the user puts them; `bind` asks for something else."""
    asked = settings.ranks.placement(processing_units)
    if bind:
        return msgspec.structs.replace(asked, bind=bind)
    return asked if asked.bind else asked.plain()


class _Sides:
    """`left_out`: variables of the library that are set in this shell, and are on neither side."""

    def __init__(self, found: ActiveFiles, bind: str, progress: Progress) -> None:
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
        self._extra: dict[_Side, dict[str, str]] = {
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
            sides: list[_Side] = list(get_args(_Side))
            order.shuffle(sides)
            seconds_by_side: dict[_Side, dict[Reading, float]] = {"tuned": {}, "plain": {}}
            for words in program.launches(offered, loops, seed + pair):
                for side in sides:
                    seconds_by_side[side] |= self._blamed(program, offered, words, side)
            times.tuned.append(seconds_by_side["tuned"])
            times.plain.append(seconds_by_side["plain"])
        return times

    def _blamed(
        self, program: Program, offered: Sequence[ProgramCell], words: Sequence[str], side: _Side
    ) -> Seconds:
        """A launch; one that fails with the files is their fault if it does not without them."""
        try:
            return self._launch(program, offered, words, side)
        except PlumblineError:
            if side == "tuned":
                self._launch(program, offered, words, "plain")
            raise

    def _launch(
        self, program: Program, offered: Sequence[ProgramCell], words: Sequence[str], side: _Side
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
        complaint = family.complaint(done.stderr) or family.complaint(done.stdout)
        text = f"the library did not take a setting: {complaint}"
        return Failure("not in force", text) if complaint else None

    def _error(self, program: Program, side: _Side, reason: str, done: Finished) -> PlumblineError:
        output = (done.stderr.strip() or done.stdout.strip())[-600:]
        text = f"{program.name}: {reason} ({' '.join(done.argv)[:300]})\n{output}"
        if side == "plain":
            return _Refused(text)
        return PlumblineError(
            f"with the exported files in force {text}\nso the files are not fit for use; "
            f"`{command_name()} run` says whether they are in force"
        )
