"""Drawing of a grid: one sign a state, and a table that folds where the console is narrow."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from plumbline.core.guidelines import PRECEDES
from plumbline.verify import grid

LABEL_WIDTH = 20  # at least

STYLES = {
    "violated": "bold red",
    "undecided": "cyan",
    "holds": "",
    "depends": "magenta",
    "absent": "dim",
    "removed": "green",
    "new": "bold yellow",
}


class Marks(msgspec.Struct, frozen=True):
    """One sign for each state of a cell, and for `⪯`. Every state has a sign of its own, so that
    the table can be read without colour."""

    violated: str
    undecided: str
    holds: str
    depends: str
    absent: str
    removed: str
    new: str
    precedes: str
    frame: box.Box

    def of(self, state: grid.State) -> Text:
        return Text(getattr(self, state), style=STYLES[state])


UNICODE = Marks("•", "?", " ", "◐", "·", "○", "▲", PRECEDES, box.SIMPLE_HEAD)
ASCII = Marks("x", "?", " ", "d", ".", "o", "N", "<=", box.ASCII)


class FoldingTable(Table):
    """A table that never hides a message size: where the console is too narrow for all columns, it
    is drawn in parts, one below the other, between the title and the legend."""

    def __init__(
        self,
        rows: Sequence[grid.Row],
        sizes: Sequence[int],
        marks: Marks,
        *,
        title: Text | None = None,
        caption: Text | None = None,
        span: range | None = None,
    ) -> None:
        super().__init__(
            title=title,
            caption=caption,
            title_justify="left",
            caption_justify="left",
            box=marks.frame,
            show_edge=False,
            pad_edge=False,
            padding=0,
        )
        self._grid_rows, self._sizes, self._marks = rows, sizes, marks
        self._heads = grid.size_heads(sizes)
        self._labels = [row.label.replace(PRECEDES, marks.precedes) for row in rows]
        self._fill(range(len(sizes)) if span is None else span)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        spans = self._spans(options.max_width)
        if len(spans) <= 1 or len(self.columns) < 2 + len(self._sizes):
            yield from super().__rich_console__(console, options)
            return
        if self.title:
            yield self.title
        for number, span in enumerate(spans):
            if number:
                yield ""
            yield FoldingTable(self._grid_rows, self._sizes, self._marks, span=span)
        if self.caption:
            yield ""
            yield self.caption

    def _fill(self, span: range) -> None:
        self.add_column("", no_wrap=True)
        self.add_column("bytes", min_width=LABEL_WIDTH)
        for place in span:
            self.add_column(self._heads[place], justify="center", no_wrap=True)
        for i, (row, label) in enumerate(zip(self._grid_rows, self._labels, strict=True)):
            following = self._grid_rows[i + 1 : i + 2]
            self.add_row(
                row.letter,
                label,
                *(self._marks.of(row.states[place]) for place in span),
                end_section=any(following_row.letter != row.letter for following_row in following),
            )

    def _spans(self, width: int) -> list[range]:
        """Cuts the columns into runs that fit into `width`, at least one column each."""
        room = width - 2 - max(LABEL_WIDTH, *map(len, self._labels), 0)
        spans, start, used = [], 0, 0
        for place, head in enumerate(self._heads):
            needed = 1 + len(head)
            if place > start and used + needed > room:
                spans.append(range(start, place))
                start, used = place, 0
            used += needed
        return [*spans, range(start, len(self._sizes))]
