"""plumbline suite"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plumbline_db.errors import UsageError, command_name

from . import base, common, options
from .base import Program

if TYPE_CHECKING:
    from plumbline.suites.description import Description

    from .running_suites import SuitesRan


@base.command("suite", takes="mpi db json nprocs simulate")
@click.argument("name", metavar="FILE|NAME", required=False)
@options.listing
@options.new
@options.picture("Draw the suites, a curve an operation,")
def command(
    program: Program,
    name: str | None,
    listing: bool,
    new: bool,
    picture: Path | None,
    **asked: Any,
) -> int:
    """Run the suites of measurements that a file describes.

    A suite measures operations side by side, by one pattern, over bytes or over ranks; points are
    added where its curves ask for them. FILE is TOML (docs/suites.md); those that ship have a NAME.
    Everything is stored in the database; interrupted, the same command goes on. `plumbline serve`
    shows runs of suites in its curves.

    \b
    Example:
      plumbline suite --list
      plumbline suite gather-over-bytes --nprocs 4 --picture gather.svg
      plumbline suite my-suites.toml --json
    """
    from plumbline.settings import campaign_file
    from plumbline.suites import description

    from . import running_suites

    if listing:
        _list(program, description.standard())
        return 0
    if name is None:
        raise UsageError(f"name a suite file, or one that ships (`{command_name()} suite --list`)")
    described = description.named(name)
    settings = campaign_file.load(None, asked)
    ran = running_suites.run(program, settings, described.title or name, described.suite, new=new)
    common.remark(*(weakness.text for weakness in ran.conditions))
    _show(program, ran)
    if picture is not None:
        _draw(ran, picture)
        if not program.json:
            click.echo(picture)
    return 0


def _list(program: Program, descriptions: dict[str, Description]) -> None:
    import msgspec

    if program.json:
        common.print_json(msgspec.to_builtins(descriptions))
        return
    for name, described in descriptions.items():
        click.echo(f"{name}: {described.title}")
        for suite in described.suite:
            over = f"over {suite.vary}" + (", refined" if suite.refine else "")
            click.echo(f"  {suite.name}: {suite.pattern}, {over}: {', '.join(suite.operations)}")


def _show(program: Program, ran: SuitesRan) -> None:
    from plumbline.suites import report

    row = ran.campaign
    if program.json:
        common.print_json(ran.document())
        return
    click.echo(f"run {row.id}: {ran.title}")
    for measured in ran.suites:
        click.echo()
        for line in report.text(measured, f"{ran.library.id}, {row.nprocs} ranks"):
            click.echo(line)


def _draw(ran: SuitesRan, picture: Path) -> None:
    """A picture a suite, one below the other; of one with the times of ranks, one a size, rank by
    rank."""
    from plumbline.pages import curve, curves_chart
    from plumbline_db.connection import Database

    panels = []
    with Database.open(ran.database) as db:
        for suite in ran.suites:
            names = curve.of_suite(db, ran.campaign.id, suite.name)
            sizes = {
                operation_ranks.bytes
                for operation in suite.operations
                for operation_ranks in operation.ranks
            }
            picture_sizes: list[int | None] = [*sorted(sizes)] or [None]
            for size in picture_sizes:
                curves = curve.read(db, names, "", curve.EVERYWHERE, size)
                drawn = curves_chart.specification(
                    curves, x="log", y="linear" if sizes else "log", ratios=False, zoom=False
                )
                where = "" if size is None else f": at {size} bytes, rank by rank"
                panels.append(drawn | {"title": f"{suite.name}{where}"})
    common.draw(picture, curves_chart.below_each_other(panels))
