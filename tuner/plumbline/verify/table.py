"""The violation table for people, as rich renderables: signs first, colour only on top of them.

grid.py says what is in a table; nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from plumbline.core.guidelines import PRECEDES, Guidelines
from plumbline.verify import grid
from plumbline.verify.kinds import of_table
from plumbline_db.records import Verdict

_LABEL_WIDTH = 20  # at least

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
        self.add_column("bytes", min_width=_LABEL_WIDTH)
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
        room = width - 2 - max(_LABEL_WIDTH, *map(len, self._labels), 0)
        spans, start, used = [], 0, 0
        for place, head in enumerate(self._heads):
            needed = 1 + len(head)
            if place > start and used + needed > room:
                spans.append(range(start, place))
                start, used = place, 0
            used += needed
        return [*spans, range(start, len(self._sizes))]


__all__ = ["ASCII", "UNICODE", "before_after_table", "natural_width", "violation_table"]


def violation_table(
    verdicts: Sequence[Verdict],
    guidelines: Guidelines,
    *,
    title: str,
    all_rows: bool = False,
    oversubscribed: bool = False,
    marks: Marks = UNICODE,
) -> Table:
    """Table 4 of Hunold et al.: rows with something violated or undecided (all with `all_rows`)."""
    legend = {
        marks.violated: "violated",
        marks.undecided: "undecided",
        marks.depends: "depends on the way of use",
        "blank": "holds",
        marks.absent: "no such test",
    }
    shown_grid = grid.of_table(verdicts, guidelines)
    return _table(shown_grid, title, legend, all_rows, oversubscribed, marks)


def before_after_table(
    before: Sequence[Verdict],
    after: Sequence[Verdict],
    guidelines: Guidelines,
    *,
    title: str,
    all_rows: bool = False,
    oversubscribed: bool = False,
    marks: Marks = UNICODE,
) -> Table:
    """Both tables in one: what is removed, what remains, what is new, what is not known."""
    legend = {
        marks.removed: "removed",
        marks.violated: "violated (not known to hold before)",
        marks.new: "violated (held before)",
        marks.undecided: "undecided after",
        marks.depends: "depends on the way of use",
        "blank": "holds",
        marks.absent: "no such test",
    }
    shown_grid = grid.of_before_and_after(before, after, guidelines)
    return _table(shown_grid, title, legend, all_rows, oversubscribed, marks)


def natural_width(renderable: RenderableType) -> int:
    """Columns that a table needs to be drawn in one piece. A pipe has no width of its own, and rich
    takes 80 for it; `Console(width=natural_width(table))` does not fold."""
    return Console(width=10_000, markup=False, emoji=False).measure(renderable).maximum


def _table(
    shown_grid: grid.Grid,
    title: str,
    legend: dict[str, str],
    all_rows: bool,
    oversubscribed: bool,
    marks: Marks,
) -> Table:
    rows = [row for row in shown_grid.rows if all_rows or row.remarkable()]
    present = of_table({row.letter for row in shown_grid.rows})
    kinds = ", ".join(f"{kind.letter} {kind.name}" for kind in present)
    shown = {state for row in rows for state in row.states}
    if "depends" not in shown:
        legend = {sign: meaning for sign, meaning in legend.items() if sign != marks.depends}
    signs = ", ".join(f"{sign} {meaning}" for sign, meaning in legend.items())
    units = [head[-1] for head in grid.size_heads(shown_grid.sizes) if not head.isdecimal()]
    lines = ["; ".join([signs, kinds, *(["k = 1024"] if units else [])])]
    if oversubscribed:
        lines.append("oversubscribed: ranks share processing units")
    caption = Text("\n".join(lines), style="dim")
    heading = Text(title, style="bold")
    if rows:
        return FoldingTable(rows, shown_grid.sizes, marks, title=heading, caption=caption)
    empty = FoldingTable([], [], marks, title=heading, caption=caption)
    empty.add_row("", "every guideline holds" if shown_grid.rows else "nothing was verified")
    return empty
