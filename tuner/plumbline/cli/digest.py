"""A campaign in short: what was found and removed, the winners, what is left, and what to do next.
Never wider than the terminal, and sixty lines at most; `results --all` has the tables."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from plumbline.core import guidelines as known_guidelines
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import IN_BLOCKS
from plumbline.results.report import Report, StoredEffect, everywhere
from plumbline.results.saving import Saving
from plumbline.search.outcome import label
from plumbline.system.words import counted, with_interval
from plumbline.verify.grid import named
from plumbline_db.connection import Database
from plumbline_db.errors import command_name, typed
from plumbline_db.layout import fixed, layout
from plumbline_db.records import Verdict, Winner
from plumbline_exporters import bundle

from . import common

_MOST_OF_WINNERS = 24  # lines
_MOST_OF_GUIDELINES = 12
_COMMAND = re.compile(r"(?:for a \w+|all tables):  ")  # how lines with one begin


def read(db: Database, report: Report, width: int | None = None) -> list[str]:
    """Return the lines of a campaign, as long as `width` (None: the terminal)."""
    from plumbline.results import putting_in_use

    ended = bool(report.winners) and report.after is not None
    uses = putting_in_use.lines(db, report.campaign) if ended else []
    guidelines = known_guidelines.of_settings(report.campaign.settings)
    return lines(report, uses, guidelines, width or common.columns())


def lines(report: Report, uses: Sequence[str], guidelines: Guidelines, width: int) -> list[str]:
    """Return the lines of a campaign, as long as `width`; no word is broken over two of them.
    `uses` says how its winners are put in use."""
    text = heading(report).splitlines()
    if report.winners:
        text += ["", "Winners, cold: function, bytes, times as fast [95 %], configuration"]
        text += _first(_winners(report.winners), _MOST_OF_WINNERS, width, "")
    violated = everywhere(report.before if report.after is None else report.after)
    if violated:
        still = "Still violated" if report.winners else "Violated"
        text += ["", f"{still}: at how many sizes, and the largest ratio [95 %]"]
        rows = _by_guideline(violated, guidelines)
        text += _first(rows, _MOST_OF_GUIDELINES, width, " guideline")
    if report.saving is not None:
        text += ["", saved(report.saving)]
    text += _factors(report.factors)
    text += ["", *summary(report, uses)]
    # A command must stay on one line, so that it can be pasted.
    return [
        part
        for line in text
        for part in ([line] if _COMMAND.match(line) else _wrapped(line, width))
    ]


def _factors(effects: Sequence[StoredEffect]) -> Iterator[str]:
    """Return the lines about the factors that were found to matter on this machine with this
    library; no line if none was measured."""
    if not effects:
        return
    yield ""
    yield f"Factors, as `{command_name()} reproducibility factors` has measured them here:"
    for effect in effects:
        if effect.verdict == "matters":
            where = f"{effect.function}, {counted(effect.nprocs, 'rank')}"
            yield f"  {where}, {effect.started[:10]}: {effect.text}"
    for verdict in ("idle", "undecided", "no result"):
        names = [effect.text.partition(":")[0] for effect in effects if effect.verdict == verdict]
        if names:
            yield f"  {verdict}: {', '.join(dict.fromkeys(names))}"


def summary(report: Report, uses: Sequence[str] = ()) -> Iterator[str]:
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
        yield from uses
    else:
        yield "no winners: nothing that was tried is known to be faster in every way of use"
    if report.cost_of_load:
        yield (
            f"other programs ran beside launches: {report.cost_of_load}; "
            "--wait-for-quiet waits until they have ended"
        )
    yield f"all tables:  {typed('results', '--all', '--campaign', id)}"


def _winners(winners: Sequence[Winner]) -> list[str]:
    cells = [
        (
            winner.function,
            bundle.sizes(winner, unit=""),
            with_interval(winner.speedup, winner.speedup_low, winner.speedup_high),
            common.short(label(winner.variant, winner.configuration)),
        )
        for winner in in_order(winners)
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    widths[-1] = 0
    return [
        "  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]


def _by_guideline(verdicts: Sequence[Verdict], guidelines: Guidelines) -> list[str]:
    """Return how often each is violated, the most often first, by its name."""
    counts = Counter((verdict.guideline, verdict.function) for verdict in verdicts)
    rows = []
    for key, count in counts.most_common():
        of_key = [verdict for verdict in verdicts if (verdict.guideline, verdict.function) == key]
        most = max(of_key, key=lambda verdict: verdict.ratio or 0.0)
        worst = with_interval(most.ratio, most.ratio_low, most.ratio_high)
        name = named(key[0], guidelines, key[1])
        rows.append(f"  {name}: {counted(count, 'size')}" + (f", {worst}" if worst else ""))
    return rows


def _first(rows: Sequence[str], most: int, width: int, name: str) -> Iterator[str]:
    """Return the rows that have room in `most` lines, then the number of the others."""
    used = 0
    for number, row in enumerate(rows):
        used += len(_wrapped(row, width))
        if used > most:
            more = len(rows) - number
            yield f"  and {counted(more, f'more{name}') if name else f'{more} more'}"
            return
        yield row


def _wrapped(line: str, width: int) -> list[str]:
    """No word of it is broken."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]


# --- sentences and names --------------------------------------------------------------------------


def heading(report: Report) -> str:
    campaign, machine = report.campaign, report.machine
    crowded = " (oversubscribed)" if campaign.oversubscribed else ""
    placed = layout(campaign)
    where = f", {placed}" if campaign.nodes > 1 or "," in placed else ""
    under = f"\nunder {fixed(campaign)}" if fixed(campaign) else ""
    return (
        f"{report.library.version_string} on {machine.host}, {machine.cpu_model}, "
        f"{counted(machine.processing_units, 'processing unit')}; "
        f"{campaign.nprocs} ranks{crowded}{where}\n"
        + "\n".join(
            [f"campaign {campaign.named}, {report.state}{under}", *report.placed, *covered(report)]
        )
    )


def covered(report: Report) -> Iterator[str]:
    """Name the least and the greatest size of the table, by block where a volume is made of
    blocks."""
    sizes: dict[bool, set[int]] = {True: set(), False: set()}
    for verdict in report.before:
        blocks = verdict.function in IN_BLOCKS
        sizes[blocks] |= {
            -(-size // report.campaign.nprocs) if blocks else size
            for size in (verdict.bytes, verdict.other_bytes)
            if size and not verdict.ranks
        }
    words = [
        f"from {min(covered_sizes)} to {max(covered_sizes)} B{what}"
        for blocks, what in ((False, ""), (True, " in blocks (Gather, Alltoall …)"))
        if (covered_sizes := sizes[blocks])
    ]
    if words:
        yield f"sizes {' and '.join(words)}"


def in_order(winners: Sequence[Winner]) -> list[Winner]:
    """Return by function and size; they are stored round by round."""
    return sorted(winners, key=lambda winner: (winner.function, winner.bytes_from))


def saved(saving: Saving) -> str:
    """Return what the winners save the application, in a sentence."""
    words = " ".join(saving.command)
    if saving.saving_seconds is None:
        return f"for {words}; what it saves is known at the end"
    return (
        f"expected saving a run of {words}: {in_unit(saving.saving_seconds)} "
        f"[{in_unit(saving.saving_low_seconds)}, {in_unit(saving.saving_high_seconds)}] of "
        f"{in_unit(saving.run_seconds)} ({saving.saving_seconds / (saving.run_seconds or 1):.2%}); "
        f"collectives took {in_unit(saving.collective_seconds)}, "
        f"{in_unit(saving.here_seconds)} of it on communicators of these ranks"
    )


def in_unit(value: float | None) -> str:
    """Return the time in the unit that people read."""
    if value is None:
        return ""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if abs(value) >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value * 1e6:.3g} µs"
