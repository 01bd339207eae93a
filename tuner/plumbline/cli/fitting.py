"""Tables and texts as wide as a terminal: no word is broken over two lines, and what stands above
and below a table is as wide as the terminal, however narrow the table is. Pure."""

from __future__ import annotations

import copy
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from plumbline.verify.table import FoldingTable, natural_width

from . import streams

_INDENT = 4
# A console that is wide enough for any table.
_WIDE = Console(file=io.StringIO(), width=10_000, markup=False, emoji=False, highlight=False)


class CleanConsole(Console):
    """Prints to standard output, or standard error. Codes that reach the terminal are rich's own:
    what a text contains of that kind is taken out where the text is rendered."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        stream = streams.styled(sys.stderr if stderr else sys.stdout)
        plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
        super().__init__(file=stream, width=width, soft_wrap=False, **plain)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(streams.clean(text), style)


class _Width(msgspec.Struct, frozen=True):
    """The width of a column: its longest word, and its longest cell."""

    least: int
    most: int


def fitted(renderable: RenderableType, width: int) -> Iterator[RenderableType]:
    """Return the table in pieces that stand below each other. A column whose words do not fit
    beside the others moves below each row. A word that is longer than `width` is left as it is."""
    if isinstance(renderable, str):
        renderable = Text(renderable)
    if isinstance(renderable, Text):
        yield from _wrapped(renderable, width)
    elif isinstance(renderable, Table):
        yield from _of_table(renderable, width)
    else:
        yield renderable


def _of_table(table: Table, width: int) -> Iterator[RenderableType]:
    if table.title:
        yield from fitted(table.title, width)
    bare = copy.copy(table)
    bare.title = bare.caption = None
    if isinstance(table, FoldingTable) or natural_width(bare) <= width:
        yield bare
    else:
        yield from _narrowed(bare, width)
    if table.caption:
        yield from fitted(table.caption, width)


def _narrowed(table: Table, width: int) -> Iterator[RenderableType]:
    widths = [_width_of(column) for column in table.columns]
    # The space between columns does not depend on their widths.
    between = natural_width(table) - sum(width.most for width in widths)
    beside = between / max(1, len(widths) - 1)
    kept = list(range(len(widths)))
    while len(kept) > 1 and _least(kept, widths, beside) > width:
        kept.remove(max(kept, key=lambda place: widths[place].least))
    chosen = _shared([widths[place] for place in kept], width - round(beside * (len(kept) - 1)))
    moved = [place for place in range(len(widths)) if place not in kept]
    if not moved:
        yield _with(table, kept, chosen)
        return
    cells = [list(column.cells) for column in table.columns]
    for row in range(table.row_count):
        yield _with(table, kept, chosen, row)
        for place in moved:
            text = _text(cells[place][row])
            if text.plain:
                head = _text(table.columns[place].header)
                line = Text(" " * _INDENT).append_text(head).append(": ").append_text(text)
                yield from _wrapped(line, width)


def _least(kept: Sequence[int], widths: Sequence[_Width], beside: float) -> float:
    return sum(widths[place].least for place in kept) + beside * (len(kept) - 1)


def _shared(widths: Sequence[_Width], room: int) -> list[int]:
    """Each has its longest word; what is left goes to the narrowest ones that want more."""
    chosen = [width.least for width in widths]
    room_left = room - sum(chosen)
    while room_left > 0:
        wanting = [
            place for place, column_width in enumerate(widths) if chosen[place] < column_width.most
        ]
        if not wanting:
            break
        chosen[min(wanting, key=lambda place: chosen[place])] += 1
        room_left -= 1
    return chosen


def _with(
    table: Table, kept: Sequence[int], widths: Sequence[int], row: int | None = None
) -> Table:
    """Some columns of a table at these widths; all rows, or one of them (the first with heads)."""
    part = copy.copy(table)
    part.columns = [copy.copy(table.columns[place]) for place in kept]
    for place, (column, width) in enumerate(zip(part.columns, widths, strict=True)):
        column._index = place  # by which rich knows the edges
        column.width, column.no_wrap = width, False
    if row is not None:
        part.rows = [table.rows[row]]
        part.show_header = table.show_header and row == 0
        for column in part.columns:
            column._cells = [list(column.cells)[row]]
    return part


def _width_of(column: Column) -> _Width:
    least = most = 0
    for cell in (column.header, *column.cells):
        measured = _WIDE.measure(cell)
        least = max(least, measured.maximum if column.no_wrap else measured.minimum)
        most = max(most, measured.maximum)
    return _Width(least, most)


def _text(cell: RenderableType) -> Text:
    return cell.copy() if isinstance(cell, Text) else Text(str(cell))


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    """Lines, those that go on further in."""
    for line in text.split("\n", allow_blank=True):
        indent = len(line.plain) - len(line.plain.lstrip()) + _INDENT
        breaks = list(_breaks(line.plain, width, indent))
        for number, part in enumerate(line.divide(breaks)):
            part.rstrip()
            yield Text(" " * indent).append_text(part) if number else part


def _breaks(line: str, width: int, indent: int) -> Iterator[int]:
    """Return where a line ends and goes on `indent` further in."""
    used = 0
    for word in re.finditer(r"\s*\S+", line):
        blank = len(word[0]) - len(word[0].lstrip())
        word_width = cell_len(word[0])
        if used and used + word_width > width:
            yield word.start() + blank
            used, word_width = indent, word_width - blank
        used += word_width
