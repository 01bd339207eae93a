"""plumbline suite"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from plumbline_db.errors import UsageError, command_name

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.measure.conditions import Weakness
    from plumbline.settings import Settings
    from plumbline.suites.description import AskedSuite, Description
    from plumbline.suites.report import MeasuredSuite
    from plumbline_db.records import Campaign, Library


@base.command("suite", takes="mpi db json nprocs simulate")
@click.argument("name", metavar="FILE|NAME", required=False)
@options.listing
@options.new
@options.picture("Draw the suites, a curve an operation,")
def command(
    program: ProgramOptions,
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

    if listing:
        _list(program, description.standard())
        return 0
    if name is None:
        raise UsageError(f"name a suite file, or one that ships (`{command_name()} suite --list`)")
    described = description.named(name)
    settings = campaign_file.load(None, asked)
    ran = run(program, settings, described.title or name, described.suite, new=new)
    common.remark(*(weakness.text for weakness in ran.conditions))
    _show(program, ran)
    if picture is not None:
        _draw(program, ran, picture)
        if not program.json:
            click.echo(picture)
    return 0


def _list(program: ProgramOptions, descriptions: dict[str, Description]) -> None:
    if program.json:
        common.print_json(msgspec.to_builtins(descriptions))
        return
    for name, described in descriptions.items():
        click.echo(f"{name}: {described.title}")
        for suite in described.suite:
            over = f"over {suite.vary}" + (", refined" if suite.refine else "")
            click.echo(f"  {suite.name}: {suite.pattern}, {over}: {', '.join(suite.operations)}")


def _show(program: ProgramOptions, ran: SuitesRan) -> None:
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


def _draw(program: ProgramOptions, ran: SuitesRan, picture: Path) -> None:
    """A picture a suite, one below the other; of one with the times of ranks, one a size, rank by
    rank."""
    from plumbline.pages import curve
    from plumbline.pages.curves import below_each_other, specification

    panels = []
    with program.open() as db:
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
                drawn = specification(
                    curves, x="log", y="linear" if sizes else "log", ratios=False, zoom=False
                )
                where = "" if size is None else f": at {size} bytes, rank by rank"
                panels.append(drawn | {"title": f"{suite.name}{where}"})
    common.draw(picture, below_each_other(panels))


# --- runs that are brought to their end -----------------------------------------------------------


class SuitesRan(msgspec.Struct, frozen=True):
    campaign: Campaign
    title: str
    library: Library
    suites: list[MeasuredSuite]
    conditions: list[Weakness]

    def document(self) -> dict[str, Any]:
        head = {"id": self.campaign.id, "title": self.title, "nprocs": self.campaign.nprocs}
        measured = {"conditions": self.conditions, "suites": self.suites}
        document: dict[str, Any] = msgspec.to_builtins(
            head | {"library": self.library.id} | measured
        )
        return document


def run(
    program: ProgramOptions,
    settings: Settings,
    title: str,
    suites: Sequence[AskedSuite],
    *,
    new: bool,
) -> SuitesRan:
    """Measures what is missing. Raises UsageError for what cannot be measured, before a launch."""
    from plumbline.measure import conditions
    from plumbline.measure.launches import LaunchStore
    from plumbline.settings import starting
    from plumbline.settings.toolchain import find_toolchain
    from plumbline.suites import report
    from plumbline.suites import run as running
    from plumbline.suites.cases import RanksThere
    from plumbline_db import machines, runs

    toolchain = find_toolchain(program.mpi, settings=settings, beside=program.database.parent)
    placement = settings.ranks.placement(toolchain.launcher.processing_units())
    simulated = settings.ranks.simulate
    asked = running.SuiteRun(
        placement.nprocs,
        title,
        tuple(suites),
        settings.sampling.seed,
        None if simulated is None else simulated.library,
    )
    every = running.prepare(asked, toolchain, placement)
    starter = starting.starter(toolchain, settings)
    ranks = RanksThere(placement.nprocs, placement.nodes)
    for of in every:
        refusal = starter.refusal(running.whole_plan(of, asked, ranks, of.first).text())
        if refusal is not None:
            raise UsageError(f"suite {of.suite.name}: the probe refuses it: {refusal}")
    with program.open(write=True) as db:
        row = running.begin(db, toolchain, asked, placement, new=new)
        if row.state != "finished":
            in_all = sum(running.launches_of(of.suite, asked) for of in every)
            with progress.Bar(in_all=in_all) as bar:
                running.measure(LaunchStore(db, row.id, starter, bar), row, asked, every)
        return SuitesRan(
            row,
            title,
            machines.library(db, row.library_fingerprint),
            [report.of_suite(db, row, of) for of in every],
            conditions.of_launches(runs.surroundings(db, row.id)),
        )
