"""plumbline check"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import click

from plumbline import check
from plumbline.search.outcome import label
from plumbline.system.placement import BINDS
from plumbline.system.words import counted, with_interval
from plumbline_db.errors import UsageError
from plumbline_exporters import bundle

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from plumbline.check.acceptance import Acceptance
    from plumbline.check.judge import SpeedUp, WinnerInLoop


class LoopOptions(NamedTuple):
    """Name what the programs measure, and how."""

    functions: list[str] | None
    launches: int | None
    seed: int
    bind: str | None


@base.command(
    "check",
    gathers={"loops": LoopOptions},
    takes="mpi db json campaign bind seed",
    context_settings={"default_map": options.usual("seed")},
    told={"bind": {"unset": "as the campaign was asked for, else plain"}},
)
@options.option("--functions", type=options.Functions(), unset="all", help="Only winners of these.")
@options.launches("Pairs of launches.", unset=str(check.PAIRS))
@click.option(
    "--osu",
    type=click.Path(path_type=Path),
    help="Folder of OSU Micro-Benchmarks (unset: osu_allreduce and its sisters on PATH); none: "
    "without them.",
)
@click.option(
    "--imb",
    type=click.Path(path_type=Path),
    help="Program IMB-MPI1 (unset: the one beside mpirun, or on PATH); none: without it.",
)
@options.no_proof
def command(
    program: ProgramOptions,
    loops: LoopOptions,
    osu: Path | None,
    imb: Path | None,
    no_proof: bool,
    campaign: str | None,
) -> int:
    """Check the winners by programs that are not the campaign's own.

    Starts them in turn with the exported files in force and without, and says of each winner what
    it promises and what users will see. What looks slower is measured again in fresh launches.
    Exit code 3: a winner is slower somewhere.

    \b
    Example:
      plumbline check
      plumbline check --functions MPI_Allreduce,MPI_Bcast --json
    """
    from plumbline.campaign import in_force
    from plumbline.check import acceptance, installed

    pairs = check.PAIRS if loops.launches is None else loops.launches
    if pairs < acceptance.LEAST_PAIRS:
        raise UsageError(
            f"--launches {pairs}: at least {acceptance.LEAST_PAIRS} are needed for a result"
        )
    if loops.bind is not None and loops.bind not in BINDS:
        raise UsageError(f"--bind {loops.bind}: choose one of {', '.join(BINDS)}")
    files = in_force.files(program.database, campaign, program.mpi)
    common.remark(files.note)
    programs = installed.programs(files, osu, imb, check.ITERATIONS)
    if not no_proof and files.winners:
        common.remark(*in_force.proven(files, in_force.environment(files)))
    with progress.Bar() as bar:
        result = acceptance.run(
            files,
            pairs=pairs,
            seed=loops.seed,
            functions=loops.functions or [],
            bind=loops.bind or "",
            iterations=check.ITERATIONS,
            programs=programs,
            progress=bar,
        )
    common.answer(program, acceptance.document(result), shown(result))
    return common.VIOLATIONS_FOUND if result.slower() else 0


# --- what is shown --------------------------------------------------------------------------------

_SLOWER = ("slower", "slower at times")


def shown(result: Acceptance) -> Iterator[RenderableType]:
    yield _winners(result)
    yield (
        "speed-ups, geometric means over cells, with 95 % intervals; ? unclear, ~ slower at times, "
        "▲ slower, - has no size that this program measures"
    )
    if any(cell.word in _SLOWER for cell in result.cells) or result.slower():
        yield ""
        yield _slower(result)
    yield ""
    yield _worst(result)
    yield ""
    yield "\n".join(summary(result))
    for note in result.notes:
        yield f"note: {note}"


def summary(result: Acceptance) -> list[str]:
    """Return what of N winners became, loop by loop, and the sentence that counts."""
    from plumbline.check.judge import Word
    from plumbline.check.programs import COLUMNS

    many = counted(len(result.winners), "winner")
    lines = []
    for loop in result.loops:
        counts = [f"{result.count(loop, word)} {word}" for word in get_args(Word)]
        unseen = len(result.unseen[loop])
        without = f", {unseen} not seen" if unseen else ""
        lines.append(f"of {many} in {COLUMNS.get(loop, loop)}: {', '.join(counts)}{without}")
    slower = result.slower()
    if slower:
        lines.append(f"{len(slower)} of {many} slower in some loop or type")
    else:
        lines.append("none is found slower in any loop or type")
    if at_times := sum(cell.word == "slower at times" for cell in result.cells):
        lines.append(
            f"{counted(at_times, 'cell')} slower in the first launches, beyond doubt, and not in "
            "fresh ones: the machine was in another state (docs/uses.md)"
        )
    return lines


def _winners(result: Acceptance) -> Table:
    from plumbline.check.programs import COLUMNS

    loops = [COLUMNS.get(loop, loop) for loop in result.loops]
    rows = [
        (
            winner.function,
            bundle.sizes(winner, unit=""),
            common.short(label(winner.variant, winner.configuration)),
            with_interval(winner.speedup, winner.speedup_low, winner.speedup_high),
            *(_seen(result.of(number, loop)) for loop in result.loops),
        )
        for number, winner in enumerate(result.winners)
    ]
    title = f"Winners of {result.campaign}, in {result.pairs} pairs of launches"
    columns = ("function", "bytes", "configuration", "promised", *loops)
    return common.titled(title, columns, rows=rows)


def _seen(in_loop: WinnerInLoop | None) -> str | Text:
    from rich.text import Text

    if in_loop is None:
        return "-"
    marks = {"faster": "", "unclear": " ?", "slower at times": " ~", "slower": " ▲"}
    mark, style = marks[in_loop.word], "bold red" if in_loop.word == "slower" else ""
    return Text(_speedup(in_loop.seen) + mark, style=style)


def _slower(result: Acceptance) -> Table:
    from plumbline.check.programs import COLUMNS

    table = common.titled(
        "Slower, and measured again in fresh launches",
        ("cell", "loop", "speed-up", "again", "adjusted p", ""),
    )
    for cell in result.cells:
        if cell.word in _SLOWER and cell.again is not None:
            table.add_row(
                cell.cell.words(),
                COLUMNS.get(cell.loop, cell.loop),
                _speedup(cell.seen),
                _speedup(cell.again),
                f"{cell.again.adjusted_p:.3g}",
                cell.word,
            )
    for loop in result.seen:
        if loop.word == "slower" and not loop.slower and loop.again is not None:
            winner = result.winners[loop.winner]
            table.add_row(
                f"{winner.function} {bundle.sizes(winner, unit='')}, "
                f"mean of {counted(loop.cells, 'cell')}",
                COLUMNS.get(loop.loop, loop.loop),
                _speedup(loop.seen),
                _speedup(loop.again),
                f"{loop.again.adjusted_p:.3g}",
                loop.word,
            )
    return table


def _worst(result: Acceptance) -> Table:
    """Return a table with the worst cell of each winner over all loops."""
    from plumbline.check.programs import COLUMNS

    table = common.titled(
        "The cell with the least speed-up of each winner",
        ("function", "bytes", "cell", "loop", "speed-up", ""),
    )
    for number, winner in enumerate(result.winners):
        own_cells = [cell for cell in result.cells if cell.winner == number]
        if not own_cells:
            continue
        worst = min(own_cells, key=lambda cell: cell.seen.speedup)
        table.add_row(
            winner.function,
            bundle.sizes(winner, unit=""),
            worst.cell.words(),
            COLUMNS.get(worst.loop, worst.loop),
            _speedup(worst.seen),
            worst.word,
        )
    return table


def _speedup(speed_up: SpeedUp) -> str:
    return with_interval(speed_up.speedup, speed_up.low, speed_up.high)
