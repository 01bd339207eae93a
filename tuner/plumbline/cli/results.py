"""plumbline results"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from plumbline.system.words import counted
from plumbline_db.errors import PlumblineError, UsageError, command_name, typed

from . import base, common, options, progress, rules, site
from .base import ProgramOptions
from .site import AskedCall

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from plumbline.core.guidelines import Guidelines
    from plumbline.explain.basis import Basis
    from plumbline.explain.explain import Explained, Explanation, Priced
    from plumbline.results.counters import VariantCounts
    from plumbline.results.report import Report
    from plumbline_db.connection import Database
    from plumbline_db.records import Campaign


_SILENT_SECONDS = 10.0


class ShownResults(NamedTuple):
    """The results that are shown of the campaigns."""

    all_rows: bool
    picture: Path | None
    guidelines: list[str] | None
    explain: bool
    measure: bool
    rules: str | None
    listing: bool


@base.command(
    "results",
    gathers={"asked": ShownResults, "call": AskedCall},
    takes="db json campaign rules nprocs",
    told={
        "campaign": {"unset": "the one started last"},
        "nprocs": {"help": "With a function: ranks of the call.", "unset": ""},
    },
)
@click.argument(
    "campaign_file",
    required=False,
    metavar="[CAMPAIGN_FILE|FUNCTION]",
    type=click.Path(path_type=Path, dir_okay=False),
    shell_complete=options.complete_functions,
)
@click.option("--bytes", type=options.Bytes(), help="With a function: volume of the call.")
@click.option(
    "--map",
    "as_map",
    is_flag=True,
    help="Functions and numbers of ranks by bytes: violations before and after, speed-ups.",
)
@options.all_rows
@options.listing
@options.picture("Draw the tables before and after, or what explains them,")
@options.option(
    "--guidelines",
    type=options.Words(),
    help="With --picture: both sides of these guidelines, before and after, marked where they are "
    "violated.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Why: what the default does, what cost models say, how far it is from a lower bound.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="With --explain: measure what the models need (some seconds, once a campaign).",
)
@click.option(
    "--report",
    "folder",
    type=options.NewFolder(),
    help="Write pages that open without a server, and a PDF, into this folder; with --all a page "
    "for each cell, not only for the worst one of each function (minutes, many files).",
)
def command(
    program: ProgramOptions,
    campaign_file: Path | None,
    asked: ShownResults,
    call: AskedCall,
    folder: Path | None,
    campaign: str | None,
) -> None:
    """What a campaign found, in short; with --all its violation tables, searches and costs.

    FUNCTION (MPI_Allreduce): what the exported files do for its calls, and on what evidence.

    The campaigns of a file with several libraries or layouts are shown side by side:
    those of CAMPAIGN_FILE, or of the file that was run last. Pages of --report are those of
    `plumbline serve`; begin with `index.html`. Chromium, if it is installed, makes `report.pdf`.

    \b
    Example:
      plumbline results --json | jq '.winners[] | {function, bytes_from, speedup}'
      plumbline results --all
      plumbline results --explain --picture why.svg
      plumbline results --guidelines GL3 --picture pair.svg
      plumbline results --rules paper
      plumbline results MPI_Allreduce --bytes 16k --ranks 12
      plumbline results --map --picture map.svg
      plumbline results --report pages
    """
    if asked.guidelines is not None and (asked.picture is None or asked.explain):
        raise UsageError("--guidelines draws a picture of its own: name its file with --picture")
    function = str(campaign_file) if site.is_function(str(campaign_file or "")) else ""
    if not function and call[:2] != (None, None):
        raise UsageError("--bytes and --ranks are of a call: name its function, as MPI_Allreduce")
    if call.as_map:
        site.show_map(program, function, asked.picture, campaign)
    elif function:
        site.answer(program, function, call, campaign)
    elif asked.listing:
        _list(program)
    elif folder is not None:
        _report(program, folder, (campaign_file, campaign), all_cells=asked.all_rows)
    elif asked.rules is not None:
        with program.open() as db:
            ids = _wanted(db, campaign_file, campaign)
            _refuse_imports(db, ids)
        rules.show(program, ids, asked.rules, all_rows=asked.all_rows)
    else:
        _show(program, campaign_file, campaign, asked)


def _show(
    program: ProgramOptions, campaign_file: Path | None, campaign: str | None, asked: ShownResults
) -> None:
    from plumbline.results import report

    explained = asked.explain or asked.measure
    in_short = not (explained or program.json or asked.picture or asked.all_rows)
    with program.open() as db:
        shown_campaigns = _wanted(db, campaign_file, campaign)
        _refuse_imports(db, shown_campaigns)
        in_tables = (asked.all_rows or len(shown_campaigns) > 1) and not explained
        conditions = (program.json or in_tables) and asked.picture is None
        reports = [report.read(db, campaign, conditions=conditions) for campaign in shown_campaigns]
        if campaign is None:
            common.remark(*_in_use(db, shown_campaigns))
        if in_short and len(reports) == 1:
            from . import digest

            click.echo("\n".join(digest.read(db, reports[0])))
            return
    if explained:
        _explain(program, reports, asked)
    elif program.json and asked.picture is None:
        common.print_json(report.documents(reports, all_cells=asked.all_rows))
    elif asked.picture is not None:
        _draw(program, reports, asked.picture, asked.guidelines)
    else:
        from plumbline.core import guidelines

        from . import tables

        own_guidelines = guidelines.of_settings(reports[0].campaign.settings)
        shown = tables.of_all(reports, own_guidelines, all_rows=asked.all_rows)
        common.show(*shown, fit=True)


def _refuse_imports(db: Database, ids: Sequence[str]) -> None:
    """Raises UsageError for what another program has printed: it has no tables of violations."""
    from plumbline_db import campaigns

    for id in ids:
        if campaigns.get(db, id).foreign:
            raise UsageError(
                f"{id} was imported from another program's output, so it has no guidelines, "
                f"searches or winners: `{typed('db', 'table', 'medians', id)}` prints its numbers, "
                f"`{typed('results', '--campaign', id, '--report', 'pages')}` writes its pages"
            )


def _list(program: ProgramOptions) -> None:
    from plumbline_db import campaigns

    with program.open() as db:
        every = campaigns.all_campaigns(db) + campaigns.tuned_overlap(db) + campaigns.foreign(db)
        if program.json:
            common.print_json(every)
            return
        for campaign in every:
            state = "imported" if campaign.foreign else campaigns.state(db, campaign)
            started = f"  started {campaign.started}" if campaign.started else ""
            click.echo(f"{campaign.id}  {state}  {campaign.nprocs} ranks{started}")


def _draw(
    program: ProgramOptions, reports: list[Report], picture: Path, guidelines: list[str] | None
) -> None:
    """Draw the tables, or both sides of guidelines. Raises UsageError for guidelines of several
    campaigns, or one that was not tested."""
    from plumbline.explain.picture import (
        before_after_specification,
        guideline_specification,
        read,
        read_tables,
    )

    if guidelines is not None and len(reports) > 1:
        raise UsageError("a picture shows one campaign: name it with --campaign")
    with program.open() as db:
        if guidelines is None:
            drawn = before_after_specification([read_tables(db, report) for report in reports])
        else:
            panels = read(db, reports[0], guidelines)
            drawn = guideline_specification(panels, _title(reports[0]))
    common.draw(picture, drawn)
    click.echo(str(picture))


def _title(report: Report) -> list[str]:
    """Return the lines above a picture: library, machine and ranks."""
    machine = f"{report.machine.host}, {report.machine.cpu_model}"
    ranks = counted(report.campaign.nprocs, "rank")
    return textwrap.wrap("; ".join([report.library.version_string, machine, ranks]), 80)


def _in_use(db: Database, shown: list[str]) -> list[str]:
    """Name the campaigns with winners in use on the machines, and with the libraries, of those
    that are shown, where they are others."""
    from plumbline_db import campaigns

    def place(campaign: Campaign) -> tuple[str, str]:
        return campaign.machine, campaign.library_fingerprint

    last = {
        place(winners_campaign): winners_campaign for winners_campaign in campaigns.with_winners(db)
    }
    places = dict.fromkeys(place(campaigns.get(db, id)) for id in shown)
    others = [last[where] for where in places if where in last and last[where].id not in shown]
    if not others:
        return []
    from plumbline.settings import default_campaign

    return [
        f"the winners in use (`{command_name()} run`, `export`, `apply`) are those of "
        f"{default_campaign.described(db, other_campaign)}; "
        f"`{typed('results', '--campaign', other_campaign.id)}` "
        "shows it"
        for other_campaign in others
    ]


def _wanted(db: Database, file: Path | None, campaign: str | None) -> list[str]:
    """Ids of the campaigns to show: the one that is named, else those of the file that is named,
    else the one started last with those that were asked for together with it."""
    from plumbline_db import campaigns

    if campaign is not None and file is not None:
        raise UsageError("name a campaign file or --campaign, not both")
    if file is not None:
        together = campaigns.get_batch(db, str(file.absolute()))
        if not together:
            raise UsageError(
                f"{file} has run no several campaigns in this database; "
                f"`{typed('campaign', file)}` runs it, "
                f"`{command_name()} results --list` shows what there is"
            )
        return [campaign.id for campaign in together]
    last = campaigns.get(db, campaign).id
    batch = None if campaign is not None else campaigns.of(db, last)
    return [last] if batch is None else [campaign.id for campaign in campaigns.get_batch(db, batch)]


# --- pages without a server -----------------------------------------------------------------------


class _WrittenFiles:
    """Print how many files are written: on a terminal each, else now and then."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._told = time.monotonic()

    def tell(self, done: int, known: int) -> None:
        if self._live:
            click.echo(f"\r{done} of {known} files", nl=False, err=True)
        elif time.monotonic() - self._told >= _SILENT_SECONDS:
            self._told = time.monotonic()
            progress.say(f"{done} of {known} files")

    def tell_pdf(self) -> None:
        if self._live:
            click.echo("\r\x1b[K", nl=False, err=True)
        progress.say("printing report.pdf")


def _report(
    program: ProgramOptions, folder: Path, asked: tuple[Path | None, str | None], *, all_cells: bool
) -> None:
    from plumbline.pages import frozen

    with program.open() as db:
        names = _wanted(db, *asked)
    written_so_far = _WrittenFiles()
    written = frozen.write(
        program.database, names, folder, written_so_far.tell, all_cells=all_cells
    )
    written_so_far.tell_pdf()
    pdf, missing = folder / "report.pdf", ""
    try:
        frozen.print_page(written.first, pdf)
    except PlumblineError as error:
        missing = str(error)
        common.remark(missing)
    if program.json:
        common.print_json(
            {
                "campaigns": names,
                "index": str(written.first),
                **{
                    name: getattr(written, name) for name in ("pages", "files", "bytes", "left_out")
                },
                "pdf": None if missing else str(pdf),
                "pdf_missing": missing,
            }
        )
        return
    left_out = f"; {written.left_out} were too many and are left out" if written.left_out else ""
    click.echo(
        f"{written.first}: {written.pages} pages, {written.bytes / 1e6:.1f} MB in "
        f"{written.files} files{left_out}"
    )
    if not missing:
        click.echo(str(pdf))


# --- why: --explain -------------------------------------------------------------------------------

_FEW = 6


def _explain(program: ProgramOptions, reports: Sequence[Report], asked: ShownResults) -> None:
    """Show the explanations of each campaign. Raises UsageError for a picture of several
    campaigns."""
    from plumbline.core import guidelines
    from plumbline.explain import explain as explaining
    from plumbline.results import counters, report

    from . import digest

    if asked.picture is not None and len(reports) > 1:
        raise UsageError("a picture shows one campaign: name it with --campaign")
    if asked.measure:
        from plumbline.explain.measuring import launches, measure

        with program.open(write=True) as db:
            for run_report in reports:
                with progress.Bar(in_all=launches(run_report.campaign)) as bar:
                    measure(db, run_report.campaign, bar, program.database.parent)
    with program.open() as db:
        explanations = [explaining.read(db, report) for report in reports]
        counted_variants = [
            counters.of_table(
                db,
                run_report.campaign.id,
                run_report.before,
                [(cell.function, cell.bytes) for cell in explanation.cells if cell.violated],
            )
            for run_report, explanation in zip(reports, explanations, strict=True)
        ]
    if asked.picture is not None:
        from plumbline.explain import picture

        common.draw(asked.picture, picture.specification(explanations[0], _title(reports[0])))
        click.echo(str(asked.picture))
    elif program.json:
        documents = [
            report.document(one) | {"explanation": explanation, "counters": counts}
            for one, explanation, counts in zip(
                reports, explanations, counted_variants, strict=True
            )
        ]
        common.print_json(documents[0] if len(documents) == 1 else {"campaigns": documents})
    else:
        for run_report, explanation, counts in zip(
            reports, explanations, counted_variants, strict=True
        ):
            own_guidelines = guidelines.of_settings(run_report.campaign.settings)
            shown = _explanation(explanation, own_guidelines, counts, all_rows=asked.all_rows)
            common.show(digest.heading(run_report), *shown, fit=True)


def _explanation(
    explanation: Explanation,
    known_guidelines: Guidelines,
    counted_variants: Sequence[VariantCounts],
    *,
    all_rows: bool,
) -> Iterator[RenderableType]:
    """Return what is violated; with `all_rows` every cell that was searched, with all its
    candidates."""
    yield ""
    yield _basis(explanation.basis)
    shown = [cell for cell in explanation.cells if cell.violated or all_rows]
    if not shown:
        yield "\nNothing to explain: no guideline is violated by a call that can be replaced."
        return
    for cell in shown:
        yield ""
        yield "\n".join([*_sentences(cell, known_guidelines), *_counts(cell, counted_variants)])
        if cell.candidates:
            yield _table(cell, all_rows=all_rows)
    yield ""
    yield _how_far_off(explanation)


def _basis(basis: Basis | None) -> str:
    if basis is None:
        return (
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
    return "Models: " + "\n        ".join(lines)


def _sentences(cell: Explained, known_guidelines: Guidelines) -> Iterator[str]:
    from plumbline.verify import grid

    yield (
        f"{cell.function} of {cell.bytes} B on {counted(cell.nprocs, 'rank')}: the default takes "
        f"{_us(cell.default_seconds)} µs"
    )
    for violated in cell.violated:
        times = f"{violated.ratio:.2f} times {violated.rhs} ({_us(violated.seconds)} µs)"
        yield f"  violates {grid.named(violated.guideline, known_guidelines)}: {times}"
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


def _counts(cell: Explained, counted_variants: Sequence[VariantCounts]) -> Iterator[str]:
    """Yield the counters of the default, and of the right sides that it is slower than."""
    sides = {"default", *(violated.rhs for violated in cell.violated)}
    for each in counted_variants:
        is_of_cell = (each.function, each.bytes) == (cell.function, cell.bytes)
        if is_of_cell and each.variant in sides and each.counts:
            numbers = ", ".join(f"{value:.3g} {name}" for name, value in each.counts.items())
            yield f"  counted for a call of {each.variant}, over all ranks: {numbers}"


def _what_the_default_is(cell: Explained) -> str:
    from plumbline.explain.explain import WITHIN

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
    columns = ("candidate", "µs", "of default", "by the model", "Hockney µs", "LogGP µs", "off")
    rows = [
        (
            common.short(f"  {row.configuration}"),
            _us(row.seconds),
            row.ratio and f"{row.ratio:.2f}",
            row.formula,
            _us(row.hockney_seconds),
            _us(row.loggp_seconds),
            None if row.off is None else f"{100 * row.off:+.0f} %",
        )
        for row in _rows(cell, all_rows=all_rows)
    ]
    return common.table(*columns, left=("candidate", "by the model"), rows=rows)


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
