"""The violation table for people, as rich renderables: signs first, colour only on top of them.

grid.py says what is in a table, drawing.py how it looks; nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from plumbline.core.guidelines import Guidelines
from plumbline.verify import grid
from plumbline.verify.drawing import ASCII, UNICODE, FoldingTable, Marks
from plumbline.verify.kinds import of_table
from plumbline_db.records import Verdict

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
