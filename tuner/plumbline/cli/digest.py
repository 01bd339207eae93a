"""A campaign in short: what was found and removed, the winners, what is left, and what to do next.
Never wider than the terminal, and sixty lines at most; `results --all` has the tables."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from plumbline.core.guidelines import Guidelines
from plumbline.results import headline, putting_in_use
from plumbline.results.report import Report
from plumbline.search.outcome import label
from plumbline.system.words import counted
from plumbline_db.errors import typed
from plumbline_db.records import Verdict, Winner
from plumbline_exporters import bundle

from . import common, tables

_MOST_WINNERS = 20
_MOST_KINDS = 10
_PIPE_COLUMNS = 120


def columns() -> int:
    """Of the terminal; a pipe has 120."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_COLUMNS


def lines(report: Report, guidelines: Guidelines, width: int) -> list[str]:
    """Of a campaign; lines are as long as `width`, and no word is broken over two of them."""
    found = tables.heading(report).plain.splitlines()
    if report.winners:
        found += ["", "Winners, cold: function, bytes, times as fast, configuration"]
        found += _winners(report.winners)
    left = headline.everywhere(report.before if report.after is None else report.after)
    if left:
        still = "Still violated" if report.winners else "Violated"
        found += ["", f"{still}, at how many sizes, and times as long as allowed"]
        found += _by_guideline(left, guidelines)
    if report.saving is not None:
        found += ["", tables.saved(report.saving).plain]
    found += ["", *summary(report)]
    return [part for line in found for part in _wrapped(line, width)]


def summary(report: Report) -> Iterator[str]:
    """The five lines in which a campaign ends."""
    id = report.campaign.id
    yield report.headline()
    if report.after is None:
        yield f"The campaign is not finished; {report.to_continue}."
        return
    if report.winners:
        speedups = [winner.speedup for winner in report.winners]
        best = max(report.winners, key=lambda winner: winner.speedup)
        faster = sum(not winner.removes for winner in report.winners)
        yield (
            f"{counted(len(speedups), 'winner')}: {median(speedups):.2f} times as fast at the "
            f"median, {best.speedup:.2f} at best ({best.function})"
            + (f"; {faster} removing no violation for certain" if faster else "")
        )
        for use in putting_in_use.commands(report.campaign, report.library, report.exports):
            yield f"for {use.whom}:  {use.command}"
    else:
        yield "no winners: nothing that was tried is known to be faster in every way of use"
    if report.conditions.cost_of_load:
        yield (
            f"other programs ran beside launches: {report.conditions.cost_of_load}; "
            "--wait-for-quiet waits until they have ended"
        )
    yield f"all tables:  {typed('results', '--all', '--campaign', id)}"


def _winners(winners: Sequence[Winner]) -> Iterator[str]:
    shown = tables.in_order(winners)[:_MOST_WINNERS]
    names = max(len(winner.function) for winner in shown)
    sizes = max(len(bundle.sizes(winner, unit="")) for winner in shown)
    for winner in shown:
        what = common.short(label(winner.variant, winner.configuration))
        yield (
            f"  {winner.function:{names}}  {bundle.sizes(winner, unit=''):{sizes}}  "
            f"{winner.speedup:5.2f}  {what}"
        )
    if len(winners) > len(shown):
        yield f"  and {len(winners) - len(shown)} more"


def _by_guideline(verdicts: Sequence[Verdict], guidelines: Guidelines) -> Iterator[str]:
    """How often each is violated, the most often first, by its name."""
    counts = Counter((verdict.guideline, verdict.function) for verdict in verdicts)
    for key, count in counts.most_common(_MOST_KINDS):
        ratios = [
            verdict.ratio
            for verdict in verdicts
            if (verdict.guideline, verdict.function) == key and verdict.ratio
        ]
        worst = f", {max(ratios):.2f} at worst" if ratios else ""
        yield f"  {key[0]:5} {_name(guidelines, *key)}: {counted(count, 'size')}{worst}"
    if len(counts) > _MOST_KINDS:
        yield f"  and {counted(len(counts) - _MOST_KINDS, 'more guideline')}"


def _name(guidelines: Guidelines, guideline: str, function: str) -> str:
    name = guidelines.name_of(guideline)
    return name if function.removeprefix("MPI_") in name else f"{name} of {function}"


def _wrapped(line: str, width: int) -> list[str]:
    """No word of it is broken."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
