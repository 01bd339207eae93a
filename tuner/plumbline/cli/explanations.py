"""plumbline results --explain: sentences a cell and a table of its candidates, JSON, a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from plumbline.core import guidelines
from plumbline.core.guidelines import Guidelines
from plumbline.explain import explain as explaining
from plumbline.explain.basis import Basis
from plumbline.explain.explain import WITHIN, Explained, Explanation, Priced
from plumbline.results import report
from plumbline.results.report import Report
from plumbline.system.words import counted
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError, typed

from . import campaign_texts, common, progress

_FEW = 6


def show(
    database: Path,
    reports: Sequence[Report],
    drawing: Path | None,
    all_rows: bool,
    measure: bool,
    as_json: bool,
) -> None:
    """Show the explanations of each campaign; `measure`: what is missing first. Raises UsageError
    for a picture of several campaigns."""
    if drawing is not None and len(reports) > 1:
        raise UsageError("a picture shows one campaign: name it with --campaign")
    if measure:
        from plumbline.explain import measuring

        with Database.open(database, write=True) as db:
            for run_report in reports:
                with progress.Bar(in_all=measuring.launches(run_report.campaign)) as bar:
                    measuring.measure(db, run_report.campaign, bar, database.parent)
    with Database.open(database) as db:
        explanations = [explaining.read(db, report) for report in reports]
    if drawing is not None:
        from plumbline.explain import picture

        run_report = reports[0]
        title = [
            run_report.library.version_string,
            f"{run_report.machine.host}, {run_report.machine.cpu_model}",
        ]
        title = textwrap.wrap("; ".join([*title, counted(run_report.campaign.nprocs, "rank")]), 80)
        common.draw(drawing, picture.specification(explanations[0], title))
        click.echo(str(drawing))
    elif as_json:
        documents = [
            report.document(one) | {"explanation": explanation}
            for one, explanation in zip(reports, explanations, strict=True)
        ]
        common.print_json(documents[0] if len(documents) == 1 else {"campaigns": documents})
    else:
        every_guideline = guidelines.load()
        for run_report, explanation in zip(reports, explanations, strict=True):
            shown = of(explanation, every_guideline, all_rows=all_rows)
            common.show(campaign_texts.heading(run_report), *shown, fit=True)


def of(
    explanation: Explanation, known_guidelines: Guidelines, *, all_rows: bool
) -> Iterator[RenderableType]:
    """Return what is violated; with `all_rows` every cell that was searched, with all its
    candidates."""
    yield Text()
    yield _basis(explanation.basis)
    shown = [cell for cell in explanation.cells if cell.violated or all_rows]
    if not shown:
        yield Text("\nNothing to explain: no guideline is violated by a call that can be replaced.")
        return
    for cell in shown:
        yield Text()
        yield Text("\n".join(_sentences(cell, known_guidelines)))
        if cell.candidates:
            yield _table(cell, all_rows=all_rows)
    yield Text()
    yield Text(_how_far_off(explanation))


def _basis(basis: Basis | None) -> Text:
    if basis is None:
        return Text(
            "no models: α and β are not known here; "
            f"{typed('results', '--explain', '--measure')} measures them, γ and the gaps "
            "(some seconds)"
        )
    network = basis.network
    lines = [
        "  ".join(
            [
                f"up to {piece.bytes_to:.0f} B:" if piece.bytes_to < float("inf") else "beyond:",
                f"α {_us(piece.alpha_seconds)} µs,",
                f"β {1e9 * piece.beta_seconds_per_byte:.3g} ns/B",
            ]
        )
        for piece in network.pieces
    ]
    if len(lines) == 1:
        lines = [lines[0].partition("  ")[2]]
    numbers = {
        "γ {:.3g} ns/B": network.gamma_seconds_per_byte,
        "gap between messages into one rank {:.3g} ns": network.receive_gap_seconds,
        "out of one {:.3g} ns": network.send_gap_seconds,
    }
    more = [text.format(1e9 * number) for text, number in numbers.items() if number is not None]
    lines += [", ".join(more)] if more else []
    lines += [
        f"from {basis.source} ({basis.pair.replace('_', ' ')}, "
        f"{counted(basis.launches, 'launch')}; the lines are off the messages by "
        f"{100 * basis.deviation:.0f} % on average)"
    ]
    lines += [f"not measured: {text}" for text in basis.missing]
    return Text("Models: " + "\n        ".join(lines))


def _sentences(cell: Explained, known_guidelines: Guidelines) -> Iterator[str]:
    yield (
        f"{cell.function} of {cell.bytes} B on {counted(cell.nprocs, 'rank')}: the default takes "
        f"{_us(cell.default_seconds)} µs"
    )
    for violated in cell.violated:
        times = f"{violated.ratio:.2f} times {violated.rhs} ({_us(violated.seconds)} µs)"
        yield f"  violates {campaign_texts.named(violated.guideline, known_guidelines)}: {times}"
    yield f"  {_what_the_default_is(cell)}"
    if cell.winner:
        won = cell.winner
        seconds = "" if won.seconds is None else f", {_us(won.seconds)} µs"
        yield (
            f"  winner: {won.configuration}{seconds}; confirmed cold {won.speedup:.2f} "
            f"[{won.speedup_low:.2f}, {won.speedup_high:.2f}] times as fast"
        )
    elif cell.candidates:
        yield "  no winner"
    if cell.floor and cell.floor_seconds and cell.default_over_floor:
        bound = cell.floor
        text = (
            f"  lower bound {_us(cell.floor_seconds)} µs, of {bound.term} "
            f"({bound.rounds} α = {_us(bound.rounds_seconds)} µs, "
        )
        if bound.latency_seconds < 0.999 * bound.rounds_seconds:
            text += f"with messages that overlap {_us(bound.latency_seconds)} µs; "
        text += f"{bound.bytes:.0f} B·β = {_us(bound.bandwidth_seconds)} µs"
        if bound.reduced_bytes:
            text += f", {bound.reduced_bytes:.0f} B·γ = {_us(bound.computation_seconds)} µs"
        text += f"): the default takes {cell.default_over_floor:.1f} times as long"
        if cell.winner_over_floor:
            text += f", the winner {cell.winner_over_floor:.1f} times"
        yield text


def _what_the_default_is(cell: Explained) -> str:
    if not cell.candidates:
        return "not searched: nothing to compare the default's time with"
    by_messages = cell.told_by == "messages"
    if not cell.default_is:
        reason = "sends what the default sends" if by_messages else "takes the default's time"
        return f"no algorithm that was tried {reason}"
    name, *others = cell.default_is
    text = f"sends the messages of {name}" if by_messages else f"takes the time of {name}"
    (default_candidate,) = [
        candidate for candidate in cell.candidates if candidate.configuration == name
    ]
    if default_candidate.schedule:
        text += f" ({default_candidate.schedule}: {default_candidate.formula})"
    if (
        by_messages
        and default_candidate.ratio is not None
        and abs(default_candidate.ratio - 1) > WITHIN
    ):
        text += (
            f", which took {default_candidate.ratio:.2f} of its time in the search: it is not the "
            "algorithm that "
            "differs"
        )
    if len(others) > 3:
        return f"{text}, and of {len(others)} others"
    return ", and of ".join([text, *others])


def _table(cell: Explained, *, all_rows: bool) -> Table:
    table = common.table(
        *("candidate", "µs", "of default", "by the model", "Hockney µs", "LogGP µs", "off"),
        left=("candidate", "by the model"),
    )
    for row in _rows(cell, all_rows=all_rows):
        table.add_row(
            common.short(f"  {row.configuration}"),
            _us(row.seconds),
            "" if row.ratio is None else f"{row.ratio:.2f}",
            row.formula or "",
            _us(row.hockney_seconds),
            _us(row.loggp_seconds),
            "" if row.off is None else f"{100 * row.off:+.0f} %",
        )
    return table


def _rows(cell: Explained, *, all_rows: bool) -> list[Priced]:
    """The fastest first; without `all_rows` these, what the default may be, and the winner."""
    ordered = sorted(
        cell.candidates, key=lambda candidate: (candidate.seconds is None, candidate.seconds or 0.0)
    )
    if all_rows:
        return ordered
    kept = set(cell.default_is[:1]) | ({cell.winner.configuration} if cell.winner else set())
    kept |= {priced.configuration for priced in ordered[:_FEW] if priced.seconds is not None}
    return [priced for priced in ordered if priced.configuration in kept]


def _how_far_off(explanation: Explanation) -> str:
    if explanation.typical_factor is None or explanation.worst_factor is None:
        return "no prediction can be compared with a measurement"
    return (
        f"how far to trust it: of {counted(explanation.predictions, 'prediction')} (LogGP) half "
        "are "
        f"off by a factor of {explanation.typical_factor:.2f} or more, the worst by "
        f"{explanation.worst_factor:.1f}; the candidate they take for the fastest is within 5 % "
        "of the "
        f"fastest of them in {explanation.fastest_named} of {counted(explanation.ranked, 'cell')}"
    )


def _us(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e6 * seconds:.4g}"
