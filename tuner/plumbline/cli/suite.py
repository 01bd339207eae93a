"""plumbline suite"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import base, common, options
from .base import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plumbline.suites.description import Description
    from plumbline.suites.report import MeasuredSuite
    from plumbline_db.connection import Database
    from plumbline_db.records import Campaign


@base.command("suite", takes="mpi db json")
@click.argument("name", metavar="FILE|NAME", required=False)
@options.keys("nprocs", "bind")
@options.simulate
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
      plumbline suite gather --nprocs 4 --picture gather.svg
      plumbline suite my-suites.toml --json
    """
    from plumbline.suites import description
    from plumbline_db.errors import UsageError

    if listing:
        _list(program, description.standard())
        return 0
    if name is None:
        raise UsageError("name a suite file, or one that ships (`plumbline suite --list`)")
    _run(program, description.named(name), name, asked, new=new, picture=picture)
    return 0


def _list(program: Program, known: dict[str, Description]) -> None:
    import msgspec

    if program.json:
        common.print_json(msgspec.to_builtins(known))
        return
    for name, each in known.items():
        click.echo(f"{name}: {each.title}")
        for suite in each.suite:
            over = f"over {suite.vary}" + (", refined" if suite.refine else "")
            click.echo(f"  {suite.name}: {suite.pattern}, {over}: {', '.join(suite.operations)}")


def _run(
    program: Program,
    of: Description,
    name: str,
    asked: dict[str, Any],
    *,
    new: bool,
    picture: Path | None,
) -> None:
    import msgspec

    from plumbline.measure import conditions
    from plumbline.measure.launches import LaunchStore
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain
    from plumbline.suites import report, run
    from plumbline.suites.cases import RanksThere
    from plumbline_db import machines, runs
    from plumbline_db.connection import Database
    from plumbline_db.errors import UsageError

    given = {key: value for key, value in asked.items() if value is not None}
    settings = campaign_file.load(None, given)
    database = program.database
    toolchain = find_toolchain(program.mpi, settings=settings, beside=database.parent)
    placement = settings.ranks.placement(toolchain.launcher.processing_units())
    simulated = settings.ranks.simulate
    asked_for = run.SuiteRun(
        placement.nprocs,
        of.title or name,
        of.suite,
        settings.sampling.seed,
        None if simulated is None else simulated.library,
    )
    every = run.prepare(asked_for, toolchain, placement)
    starter = starting.starter(toolchain, settings)
    ranks = RanksThere(placement.nprocs, placement.nodes)
    for suite in every:
        refusal = starter.refusal(run.whole_plan(suite, asked_for, ranks, suite.first).text())
        if refusal is not None:
            raise UsageError(f"suite {suite.suite.name}: the probe refuses it: {refusal}")
    with Database.open(database, write=True) as db:
        row = run.begin(db, toolchain, asked_for, placement, new=new)
        starter.keep_apart("".join(filter(str.isdigit, row.started))[:14])
        if row.state != "finished":
            in_all = sum(run.launches_of(suite.suite, asked_for) for suite in every)
            with common.Bar(in_all=in_all) as bar:
                run.measure(LaunchStore(db, row.id, starter, bar), row, asked_for, every)
        found = [report.of_suite(db, row, suite) for suite in every]
        weak = conditions.of_launches(runs.surroundings(db, row.id))
        library = machines.library(db, row.library_fingerprint)
        if picture is not None:
            _draw(db, row, found, picture)
    for weakness in weak:
        click.echo(f"plumbline: {weakness.text}", err=True)
    if program.json:
        told = {"id": row.id, "title": asked_for.title, "nprocs": row.nprocs}
        told |= {"library": library.id, "conditions": weak, "suites": found}
        common.print_json(msgspec.to_builtins(told))
        return
    click.echo(f"run {row.id}: {asked_for.title}")
    for measured in found:
        click.echo()
        for line in report.text(measured, f"{library.id}, {row.nprocs} ranks"):
            click.echo(line)
    if picture is not None:
        click.echo(picture)


def _draw(db: Database, row: Campaign, found: Sequence[MeasuredSuite], picture: Path) -> None:
    """A picture a suite, one below the other; of one with the times of ranks, one a size, rank by
    rank."""
    from plumbline.pages import curve, curves_chart, offered

    panels = []
    for suite in found:
        names = offered.of_suite(db, row.id, suite.name)
        sizes = {each.bytes for operation in suite.operations for each in operation.ranks}
        wanted: list[int | None] = [*sorted(sizes)] or [None]
        for size in wanted:
            curves = curve.read(db, names, "", curve.EVERYWHERE, size)
            drawn = curves_chart.specification(
                curves, x="log", y="linear" if sizes else "log", ratios=False, zoom=False
            )
            title = suite.name if size is None else f"{suite.name}: at {size} bytes, rank by rank"
            panels.append(drawn | {"title": title})
    common.draw(picture, curves_chart.below_each_other(panels))
