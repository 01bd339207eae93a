"""The headline of a campaign: how many cells are violated in every way of use that was measured,
and how many only in some. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from plumbline.system.words import counted
from plumbline_db.records import Verdict

_WORDS = {
    "after_barrier": "after a barrier",
    "loop": "in a loop of calls",
    "stream": "in a stream of calls",
    "synchronised": "where all ranks start together",
}


class ViolationChange(NamedTuple):
    """Violated cells of two tables. `removed`: those of the first that hold in the last."""

    before: int
    removed: int
    new: int
    after: int


def everywhere(table: Iterable[Verdict]) -> list[Verdict]:
    """Return the cells that are violated in every way of use that has an answer."""
    return [verdict for verdict in table if verdict.violated_everywhere]


def somewhere(table: Iterable[Verdict]) -> list[Verdict]:
    """Return the cells that are violated in some ways of use, and hold in others."""
    return [verdict for verdict in table if verdict.depends]


def standing(table: Sequence[Verdict], use: str) -> str:
    """Return the sentence about one table of the way of use `use`:
    `13 violations; 9 more are violated only after a barrier`."""
    sentence = counted(len(everywhere(table)), "violation")
    return sentence + _undecided(table) + more(table, use)


def change(before: Sequence[Verdict], after: Sequence[Verdict], use: str) -> str:
    """Return the sentence about the first and the last table:
    `violations: 12 removed of 13; 9 more are violated only after a barrier`."""
    counts = changed(before, after)
    sentence = "no violations"
    if counts.before or counts.after:
        sentence = f"violations: {counts.removed} removed of {counts.before}"
    if counts.new:
        sentence += f", {counts.new} new"
    return sentence + _undecided(after) + more(after, use)


def changed(before: Sequence[Verdict], after: Sequence[Verdict]) -> ViolationChange:
    """Return how many cells are violated in the first and in the last table."""
    first = {_cell(verdict) for verdict in everywhere(before)}
    last = {_cell(verdict) for verdict in everywhere(after)}
    held = {
        _cell(verdict) for verdict in after if verdict.verdict == "holds" and not verdict.depends
    }
    return ViolationChange(len(first), len(first & held), len(last - first), len(last))


def _undecided(table: Iterable[Verdict]) -> str:
    count = sum(verdict.verdict == "undecided" for verdict in table)
    return f", {count} undecided" if count else ""


def more(table: Iterable[Verdict], use: str) -> str:
    """Return what is added for the cells that are violated in some ways of use only; or nothing."""
    cells = somewhere(table)
    if not cells:
        return ""
    ways = {way or use for verdict in cells for way in verdict.violated_in}
    where = _WORDS.get(next(iter(ways)), "") if len(ways) == 1 else ""
    verb = "is" if len(cells) == 1 else "are"
    return f"; {len(cells)} more {verb} violated only {where or 'in some ways of use'}"


def _cell(verdict: Verdict) -> tuple[str, str, str, int]:
    return verdict.guideline, verdict.kind, verdict.function, verdict.bytes
