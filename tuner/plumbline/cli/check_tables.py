"""An acceptance as tables for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from plumbline.check.acceptance import Acceptance
from plumbline.check.judge import SpeedUp, WinnerInLoop, Word
from plumbline.check.loops import COLUMNS
from plumbline.search.outcome import label
from plumbline.system.words import counted, with_interval
from plumbline_exporters import bundle

from . import common

_SLOWER = ("slower", "slower at times")


def of(result: Acceptance) -> Iterator[RenderableType]:
    yield _winners(result)
    yield Text(
        "speed-ups, geometric means over cells, with 95 % intervals; ? unclear, ~ slower at times, "
        "▲ slower, - has no size that this program measures"
    )
    if any(cell.word in _SLOWER for cell in result.cells) or result.slower():
        yield Text()
        yield _slower(result)
    yield Text()
    yield _worst(result)
    yield Text()
    yield Text("\n".join(summary(result)))
    for note in result.notes:
        yield Text(f"note: {note}")


def summary(result: Acceptance) -> list[str]:
    """Return what of N winners became, loop by loop, and the sentence that counts."""
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
    table = common.titled(
        f"Winners of {result.campaign}, in {result.pairs} pairs of launches",
        ("function", "bytes", "configuration", "promised"),
    )
    for loop in result.loops:
        table.add_column(COLUMNS.get(loop, loop), overflow="fold")
    for number, winner in enumerate(result.winners):
        table.add_row(
            winner.function,
            bundle.sizes(winner, unit=""),
            common.short(label(winner.variant, winner.configuration)),
            with_interval(winner.speedup, winner.speedup_low, winner.speedup_high),
            *(_seen(result.of(number, loop)) for loop in result.loops),
        )
    return table


def _seen(in_loop: WinnerInLoop | None) -> Text:
    if in_loop is None:
        return Text("-")
    marks = {"faster": "", "unclear": " ?", "slower at times": " ~", "slower": " ▲"}
    mark, style = marks[in_loop.word], "bold red" if in_loop.word == "slower" else ""
    return Text(_speedup(in_loop.seen) + mark, style=style)


def _slower(result: Acceptance) -> Table:
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
    """Return that of each winner, over all loops."""
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
