"""plumbline overlap compare"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plumbline.system.words import counted
from plumbline_db.errors import UsageError, command_name

from . import base, common
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.overlap.difference import Between, MeasuredCampaign, Stored, Total


ALL = "all"


@base.command(
    "compare", takes="db json benches picture", context_settings={"default_map": {"benches": ALL}}
)
@click.argument("campaigns", nargs=-1, metavar="[[FILE#]CAMPAIGN]...")
@click.option(
    "--sheet",
    is_flag=True,
    help="In the picture the heat maps of all campaigns, a row each; else the difference of two.",
)
def command(
    program: ProgramOptions,
    campaigns: tuple[str, ...],
    benches: str,
    picture: Path | None,
    sheet: bool,
) -> None:
    """Difference maps of two libraries or configurations.

    CAMPAIGN is what `plumbline overlap` has stored, FILE another database. Without one, those that
    are stored are listed. Of two, cell by cell: whose ratio is lower, and whose time is shorter,
    for a ratio alone misleads. They were measured apart: what changed in the machine between them
    is in the differences. Of any number, one page of heat maps.

    \b
    Example:
      plumbline overlap compare
      plumbline overlap compare openmpi-4.1.4-2ov788e55 mpich-5.0.2-2ov1b2c3d --picture both.svg
      plumbline overlap compare openmpi-4.1.4-2ov788e55 mpich-5.0.2-2ov1b2c3d \\
        --sheet --picture page.pdf
    """
    from plumbline.overlap.difference import about, campaigns_apart, document

    if not campaigns:
        _list(program)
        return
    if len(campaigns) != 2 and not (sheet and picture):
        raise UsageError("name two campaigns to compare, or any number with --sheet --picture FILE")
    read_campaigns = [_read(campaign, program.database) for campaign in campaigns]
    chosen = [] if benches == ALL else benches.split(",")
    _require_benches(chosen, read_campaigns)
    compared = (
        campaigns_apart(read_campaigns[0], read_campaigns[1], chosen)
        if len(read_campaigns) == 2
        else None
    )
    if picture is not None and sheet:
        _draw_sheet(picture, read_campaigns, chosen)
    elif picture is not None and compared is not None:
        from plumbline.overlap.sheet import difference_sheet

        names = compared.a.stored.label, compared.b.stored.label
        common.draw(picture, difference_sheet(compared.found, *names))
    if program.json:
        every = {"campaigns": [about(measured.stored) for measured in read_campaigns]}
        common.print_json(every if compared is None else document(compared))
        return
    if compared is not None:
        for text in _heading(compared):
            click.echo(text)
        common.show(_table(compared.found.totals))
        click.echo(_summary(compared))
    if picture is not None:
        click.echo(picture)


def _read(text: str, database: Path) -> MeasuredCampaign:
    from plumbline.overlap import difference
    from plumbline_db.connection import Database

    file, _, id = text.rpartition("#")
    with Database.open(Path(file) if file else database) as db:
        return difference.measured(db, difference.one(db, id))


def _require_benches(chosen: Sequence[str], read_campaigns: Sequence[MeasuredCampaign]) -> None:
    known_benches = list(
        dict.fromkeys(
            name for measured in read_campaigns for name in measured.stored.settings.benches
        )
    )
    strangers = [name for name in chosen if name not in known_benches]
    if strangers:
        raise UsageError(
            f"no benchmark {', '.join(strangers)} in these campaigns; they have: "
            f"{', '.join(known_benches)}"
        )


def _draw_sheet(
    file: Path, read_campaigns: Sequence[MeasuredCampaign], chosen: Sequence[str]
) -> None:
    from plumbline.overlap import sheet

    rows = [
        (
            measured.stored.label,
            [cell for cell in measured.cells if not chosen or cell.bench in chosen],
        )
        for measured in read_campaigns
    ]
    title = "Overlap of communication and computation"
    common.draw(file, sheet.of_several(title, rows))


def _list(program: ProgramOptions) -> None:
    from plumbline.overlap import difference
    from plumbline.overlap.difference import about

    with program.open() as db:
        every = difference.every(db)
    if program.json:
        common.print_json({"campaigns": [about(stored) for stored in every]})
    elif every:
        common.show(_listing(every))
    else:
        click.echo(f"no overlap campaign is stored yet: run `{command_name()} overlap`")


def _listing(every: Sequence[Stored]) -> Table:

    names = ("campaign", "library", "ranks", "settings", "benchmarks", "state", "started")
    rows = [
        (
            stored.campaign.id,
            stored.library.id,
            stored.campaign.nprocs,
            ", ".join(stored.configuration()) or "default",
            ",".join(stored.settings.benches),
            stored.campaign.state,
            stored.campaign.started,
        )
        for stored in every
    ]
    return common.table(*names, left=names, wrap=False, rows=rows)


def _heading(compared: Between) -> Iterator[str]:
    from .compare import apart, differing

    sides = (compared.a, compared.b)
    for letter, side, fewest in zip("AB", sides, compared.launches, strict=True):
        stored = side.stored
        unfinished = "" if stored.campaign.state == "finished" else ", not finished"
        yield (
            f"{letter}  {stored.campaign.named}: {stored.name}, on {stored.machine.host}, "
            f"{counted(fewest, 'launch')} of each benchmark{unfinished}"
        )
        if fewest == 1:
            yield "   one launch: its intervals do not include the spread between launches"
    yield from apart(*compared.conditions)
    yield from differing(compared.differences, together=False)


def _table(totals: Sequence[Total]) -> Table:
    from plumbline.overlap.benches import LOAD

    columns = (
        *("benchmark", "cells", "A shorter", "B shorter", "time A / B", "work alone A / B"),
        *("regret A / B", "A overlaps more", "B overlaps more", "furthest apart"),
    )
    rows = [
        (
            total.bench,
            *(total.cells, total.a_shorter, total.b_shorter),
            f"{total.times:.3g}",
            total.work and f"{total.work:.3g}",
            "" if total.bench == LOAD else f"{total.regret_a:.2f} / {total.regret_b:.2f}",
            *(total.a_overlaps_more, total.b_overlaps_more),
            _furthest(total),
        )
        for total in totals
    ]
    return common.table(*columns, left=("benchmark", "furthest apart"), wrap=False, rows=rows)


def _furthest(total: Total) -> str:
    from plumbline.overlap.benches import LOAD

    line = total.furthest
    if line is None:
        return ""
    beside = f"{line.threads} threads" if line.bench == LOAD else f"{line.work_ns / 1000:g} µs"
    rank = f", rank {line.rank}" if line.rank else ""
    return f"A / B {line.times:.3g} at {line.bytes} B, {beside}{rank}"


def _summary(compared: Between) -> str:
    from .compare import only_on_one_side

    totals, differences = compared.found.totals, compared.found
    cells = sum(total.cells for total in totals)
    shorter_in_a, shorter_in_b = (
        sum(total.a_shorter for total in totals),
        sum(total.b_shorter for total in totals),
    )
    text = (
        f"of {counted(cells, 'cell')} measured on both sides, the time of communication and "
        f"computation together is shorter in A in {shorter_in_a}, in B in {shorter_in_b}, not "
        "told apart in "
        f"{cells - shorter_in_a - shorter_in_b} (95 % intervals)"
    )
    return text + only_on_one_side(differences.only_a, differences.only_b)
