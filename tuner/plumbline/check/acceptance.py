"""The acceptance test as a whole: pairs of launches of each program, what looks slower once more,
the judgement. Starts launches, prints nothing, keeps nothing in the database."""

from __future__ import annotations

import statistics as numbers
from collections.abc import Sequence

import msgspec

from plumbline.campaign.in_force import Files
from plumbline.core.plan import Data
from plumbline.measure import tables
from plumbline.measure.launches import Progress, Silent
from plumbline.settings import identity
from plumbline.system import paths
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Winner

from . import cells as cell_choice
from . import judge, loops
from .amounts import ITERATIONS, PAIRS
from .cells import ProgramCell, whole
from .judge import CellSeen, Judgement, WinnerInLoop, Word
from .programs import Program, Reading, Wanted
from .sides import Refused, Sides

LEAST_PAIRS = 6  # fewer have no 95 % interval
WIDE = 2.0


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
        found = (
            in_loop for in_loop in self.seen if (in_loop.winner, in_loop.loop) == (winner, loop)
        )
        return next(found, None)

    def count(self, loop: str, word: Word) -> int:
        return sum(in_loop.loop == loop and in_loop.word == word for in_loop in self.seen)

    def slower(self) -> list[int]:
        """Winners that are slower in some loop."""
        return sorted({loop.winner for loop in self.seen if loop.word == "slower"})


def run(
    found: Files,
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
    sides = Sides(found, bind, progress or Silent())
    wanted, notes = _wanted(found, winners)
    program = paths.layout().loops(paths.build_id(found.toolchain.installation.library))
    ours = loops.Loops(program, iterations, found.settings.cases.root)
    judged: list[tuple[Program, Judgement]] = []
    for one in (ours, *programs):
        offered = one.offers(wanted)
        if not offered:
            judged.append((one, Judgement([], [])))
            continue
        try:
            judged.append((one, _judged(sides, one, offered, winners, pairs, seed)))
        except Refused as error:
            if one is ours:
                raise
            notes.append(f"left out: {error}")
    if sides.left_out:
        notes.append(f"on neither side, though set in this shell: {', '.join(sides.left_out)}")
    notes += _wide([cell for _, judgement in judged for cell in judgement.cells])
    return _acceptance(found, winners, judged, pairs, seed, notes)


def _chosen(found: Files, functions: Sequence[str]) -> list[Winner]:
    if not found.winners:
        raise PlumblineError(f"campaign {found.campaign.id} has no winners: nothing to check")
    chosen = [winner for winner in found.winners if not functions or winner.function in functions]
    unknown = set(functions) - {winner.function for winner in found.winners}
    if unknown:
        known = dict.fromkeys(winner.function for winner in found.winners)
        raise UsageError(
            f"campaign {found.campaign.id} has no winner of {', '.join(sorted(unknown))}; "
            f"it has of {', '.join(known)}"
        )
    return chosen


def _wanted(found: Files, winners: list[Winner]) -> tuple[Wanted, list[str]]:
    settings = found.settings
    sizes = tables.sizes_of(identity.chosen(found.toolchain, settings), settings)
    data, notes = settings.cases.data, []
    if data.type not in ("", *loops.TYPES) or data.op not in ("", *loops.OPS):
        notes.append(
            f"{data.type} {data.op} of the campaign is none of loops': the usual types in its place"
        )
        data = Data(root=data.root)
    made = cell_choice.cells(winners, sizes, settings.ranks.nprocs, data)
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
    sides: Sides,
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
    """What is offered of them. A program may say more of a cell than it was asked."""
    known = {reading.cell for reading in slow} | {
        ProgramCell(reading.cell.function, reading.cell.bytes) for reading in slow
    }
    return [cell for cell in offered if cell in known]


def _wide(cells: Sequence[CellSeen]) -> list[str]:
    """Where most cells are too uncertain to say anything of use."""
    widths = [cell.seen.high / cell.seen.low for cell in cells if cell.seen.low and cell.seen.high]
    if not widths or (width := numbers.median(widths)) < WIDE:
        return []
    return [
        f"half of all intervals reach over a factor of {width:.1f} and more: the machine was busy, "
        "or calls are very uneven here; an idle machine or more --launches say more"
    ]


def _acceptance(
    found: Files,
    winners: list[Winner],
    judged: Sequence[tuple[Program, Judgement]],
    pairs: int,
    seed: int,
    notes: list[str],
) -> Acceptance:
    columns = [loop for program, _ in judged for loop in program.loops]
    seen = [winner for _, judgement in judged for winner in judgement.winners]
    return Acceptance(
        campaign=found.campaign.id,
        winners=winners,
        loops=columns,
        seen=seen,
        cells=[cell for _, judgement in judged for cell in judgement.cells],
        unseen={
            loop: [
                number
                for number in range(len(winners))
                if not any((in_loop.winner, in_loop.loop) == (number, loop) for in_loop in seen)
            ]
            for loop in columns
        },
        pairs=pairs,
        seed=seed,
        notes=notes,
    )
