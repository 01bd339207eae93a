"""plumbline overlap"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import click
import msgspec

from plumbline.core.configuration import AS_IT_IS
from plumbline.overlap import benches
from plumbline.overlap.benches import LAUNCHES, LOAD, QUICK, Aid, OverlapSettings, axes
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline.system.words import MOST
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import Campaign

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.launch.starter import Starter
    from plumbline.measure.conditions import Weakness
    from plumbline.overlap.classes import Thresholds
    from plumbline.overlap.suite import OverlapResult, RankSpread


# The help of each subcommand, by its name; `overlap` without a subcommand measures.
COMMANDS = {
    "thresholds": "Where eager sending ends, to the byte.",
    "timeline": "What happens when on both ranks, for a cell.",
    "compare": "Difference maps of two libraries or configurations.",
    "tune": "Overlap as a guideline: verdicts, search, files.",
}


# Options of every command that measures.
MEASURING = "mpi db json nprocs nodes bind map_by campaign_file seed new"
RANKS = {"help": "Ranks.", "unset": str(benches.NPROCS)}
_USUAL = OverlapSettings(benches.NPROCS)


def _axis(number: int, unit: int) -> str:
    steps = axes(quick=False)[number]
    return f"{steps[0] // unit} to {steps[-1] // unit}, by √2; what is named is all measured"


class ChosenAid(click.ParamType[tuple[Aid, int]]):
    """An aid, and the microseconds of work between two MPI_Test (0: none)."""

    name = "test:us|library|helper|spare|none"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Aid, int]:
        words: list[Any] = str(value).split(":", 1)
        name, colon = words[0], len(words) > 1
        for aid in get_args(Aid):
            if aid == name and (aid == "test") == colon:
                return aid, options.CountType().convert(words[1], param, ctx) if colon else 0
        self.fail(f"{value} is none of test:US, library, helper, spare and none", param, ctx)


class OverlapOptions(NamedTuple):
    """Options that say what is measured, and with what in force."""

    knobs: tuple[str, ...]
    benches: str | None
    sizes: list[int] | None
    work: list[int] | None
    kernel: str
    aid: tuple[Aid, int]
    triples: int
    launches: int | None
    seed: int
    quick: bool
    full: bool


@click.group(
    "overlap",
    cls=base.Lazy,
    groups={"Commands": COMMANDS},
    prefix="plumbline.cli.overlap_",
    takes="mpi db json nprocs nodes bind map_by sizes seed",
    gathers={"wanted": OverlapOptions},
    invoke_without_command=True,
    context_settings={"default_map": options.usual("seed")},
    told={"nprocs": RANKS, "sizes": {"unset": lambda: _axis(0, 1)}},
)
@click.option(
    "--campaign-file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Where ranks are: nprocs, nodes, bind, map_by, environment and the tables hosts "
    "and job of a campaign file.",
)
@options.knob
@options.option("--benches", unset=", ".join(QUICK), help="Benchmarks, with commas between.")
@options.option(
    "--work",
    type=options.Numbers(least=1, most=MOST),
    unset=lambda: _axis(1, 1000),
    help="Microseconds of work, with commas between.",
)
@options.option(
    "--kernel",
    type=click.Choice(["registers", "memory"]),
    default=_USUAL.kernel,
    help="What the work is.",
)
@click.option(
    "--aid",
    type=ChosenAid(),
    default="none",
    help="What helps messages on: MPI_Test after so many µs of work (test:20), a thread of the "
    "library's own, one of ours beside the work (helper) or on a core to itself (spare).",
)
@options.option(
    "--triples",
    type=options.CountType(),
    default=_USUAL.triples,
    help="Communication, work and both, so often in a launch.",
)
@options.launches("Launches of each benchmark.", unset=f"{LAUNCHES}; 1 with --quick")
@options.picture("Draw")
@options.new
@click.option("--quick", is_flag=True, help="Steps of a factor of 2, one launch of each benchmark.")
@click.option("--full", is_flag=True, help="Every cell by √2, also where nothing changes.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    program: ProgramOptions,
    campaign_file: Path | None,
    wanted: OverlapOptions,
    picture: Path | None,
    new: bool,
    **asked: Any,
) -> int:
    """How much of a message goes on beside computation.

    Messages between the first and the last rank beside fixed amounts of work, and the overhead
    ratio of each cell: 0 is perfect overlap, 1 one after the other (docs/overlap.md). By default
    cells are measured where something changes. Interrupted, the same command goes on. Everything is
    stored in the database.

    \b
    Example:
      plumbline overlap --quick --picture overlap.svg
      plumbline overlap --benches sender --sizes 4096,1048576 --work 50,500 --json
      plumbline overlap --knob btl_vader_single_copy_mechanism=none
      plumbline overlap -n 4 --benches fan_in:4,ring,collective:MPI_Iallreduce --quick
      plumbline overlap --benches load,multiple:2 --quick
      plumbline overlap --benches receiver --aid test:20
    """
    from plumbline.settings.toolchain import find_toolchain

    if ctx.invoked_subcommand is not None:
        return 0
    from plumbline.overlap import benches, classes, suite
    from plumbline.settings import starting

    if wanted.quick and wanted.full:
        raise UsageError("--quick and --full are different grids; name one of them")
    every_size, every_work = axes(quick=wanted.quick)
    chosen = benches.usual(wanted.aid[0])
    if wanted.benches:
        chosen = benches.names(wanted.benches, groups=True)
    settings = OverlapSettings(
        benches.NPROCS,
        chosen,
        tuple(sorted(set(wanted.sizes or every_size))),
        tuple(sorted({1000 * microseconds for microseconds in wanted.work or ()})) or every_work,
        wanted.kernel,
        wanted.aid[0],
        1000 * wanted.aid[1],
        AS_IT_IS,
        wanted.triples,
        wanted.launches or (1 if wanted.quick else LAUNCHES),
        wanted.seed,
        adaptive=not (wanted.quick or wanted.full or wanted.sizes or wanted.work),
    )
    where = benches.settings(campaign_file, asked)
    toolchain = find_toolchain(program.mpi, settings=where, beside=program.database.parent)
    settings = _of_library(settings, toolchain, where, wanted.knobs)
    where = benches.patient(where, benches.launch_limit(suite.every_plan(settings)))
    starter = starting.starter(toolchain, where)
    for bench in settings.benches:
        starter.require(suite.plan(settings, bench).text(), bench)
    with program.open(write=True) as db:
        row, results, weak, threshold = _measured(db, settings, toolchain, starter, where, new=new)
    library_classes = classes.of(results)
    sentences = classes.library_words(library_classes, threshold)
    common.remark(*(weakness.text for weakness in weak))
    if picture is not None:
        from plumbline.overlap import sheet

        title = suite.title(toolchain.installation.library, settings)
        common.draw(picture, sheet.of_one(title, results, dots=settings.adaptive))
    if program.json:
        head = {"id": row.id, "nprocs": settings.nprocs, "settings": settings.knobs.as_dict()}
        document = {"conditions": weak, "cells": results}
        document |= {"classes": library_classes, "threshold": threshold, "words": sentences}
        common.print_json(head | {"nodes": row.nodes} | document)
    else:
        common.show(*(_table(name, results) for name in settings.benches), *sentences)
        if settings.adaptive:
            click.echo("' not measured: inferred, for the cells around agree (--full measures all)")
        if picture is not None:
            click.echo(picture)
    return 0


def _of_library(
    settings: OverlapSettings, toolchain: Toolchain, where: Settings, knobs: tuple[str, ...]
) -> OverlapSettings:
    """Return the settings with what only the library, and where its ranks are, can say."""

    from plumbline.overlap import benches, suite

    functions = [function.name for function in toolchain.catalogue.functions]
    settings = msgspec.structs.replace(
        settings,
        nprocs=where.ranks.nprocs,
        knobs=benches.given(toolchain, knobs, where),
        benches=benches.expanded(settings.benches, functions),
    )
    return benches.aid_in_force(suite.with_loads(settings, toolchain), toolchain, where)


def _measured(
    db: Database,
    settings: OverlapSettings,
    toolchain: Toolchain,
    starter: Starter,
    where: Settings,
    *,
    new: bool,
) -> tuple[Campaign, list[OverlapResult], list[Weakness], Thresholds | None]:
    """The cells of the campaign, which goes on unless it is finished, and what is known of it."""
    from plumbline.measure.launches import LaunchStore
    from plumbline.overlap import classes, suite

    placement = where.ranks.placement(toolchain.launcher.processing_units())
    facts = benches.facts(where)
    row = suite.begin(db, toolchain, settings, new=new, placement=placement, place=facts)
    if row.state == "finished":
        results = suite.read(db, row, settings)
    else:
        common.remark(suite.announced(settings))
        benches.require_in_force(starter, settings.knobs)
        with progress.Bar() as bar:
            store = LaunchStore(db, row.id, starter, bar)
            results = suite.run(store, row, settings, bar.expect)
    return (
        row,
        results,
        suite.conditions_of(db, row),
        classes.stored(db, row, settings.knobs, facts),
    )


def _table(bench: str, cells: Sequence[OverlapResult]) -> Table:
    """A row an amount of work, the largest first, a column a size. Of `load` a row a number of
    threads, and slowdowns in place of ratios."""
    from plumbline.overlap import suite
    from plumbline.verify.grid import size_heads

    of = [cell for cell in cells if cell.bench == bench]
    sizes = sorted({result.bytes for result in of})
    table = common.table(title=bench)
    load = bench == LOAD
    heading = "threads" if load else "work µs"
    table.add_column(heading, justify="right", min_width=len(bench))
    for head in size_heads(sizes):
        table.add_column(head, justify="right")
    up = {result: result.threads if load else result.work_ns / 1000 for result in of}
    for amount in sorted(set(up.values()), reverse=True):
        row = {
            spread.median.bytes: spread
            for spread in suite.spreads([result for result in of if up[result] == amount])
        }
        table.add_row(f"{amount:g}", *(_words(row[size]) if size in row else "" for size in sizes))
    return table


def _words(spread: RankSpread) -> str:
    """`'`: inferred. Of several ranks the one in the middle, the least and the largest ratio."""
    from plumbline.overlap import suite

    return suite.spread_text(spread) + ("" if spread.median.measured else "'")


# --- overlap thresholds ---------------------------------------------------------------------------

LEAST_TRIPLES = 4


@command.command(
    "thresholds",
    takes=f"{MEASURING} knobs triples",
    context_settings={"default_map": {"triples": 15} | options.usual("seed")},
    told={"nprocs": RANKS},
)
def thresholds(
    program: ProgramOptions,
    campaign_file: Path | None,
    knobs: tuple[str, ...],
    triples: int,
    seed: int,
    new: bool,
    **asked: Any,
) -> int:
    """Find where eager sending ends and rendezvous begins, to the byte.

    Blocking sends from the first to the last rank, which is late to post its receive: an eager send
    returns before that (docs/overlap.md). Everything is stored in the database.

    \b
    Example:
      plumbline overlap thresholds
      plumbline overlap thresholds --knob btl_vader_eager_limit=16384 \\
        --knob btl_vader_max_send_size=32768 --json
    """
    from plumbline.measure.launches import LaunchStore
    from plumbline.overlap import classes
    from plumbline.settings import starting
    from plumbline.settings.toolchain import find_toolchain

    if triples < LEAST_TRIPLES:
        raise UsageError(f"--triples {triples}: fewer than {LEAST_TRIPLES} show no threshold")
    where = benches.settings(campaign_file, asked)
    toolchain = find_toolchain(program.mpi, settings=where, beside=program.database.parent)
    chosen = benches.given(toolchain, knobs, where)
    facts = tuple(benches.facts(where))
    settings = classes.ThresholdSettings(where.ranks.nprocs, chosen, triples, seed, facts)
    starter = starting.starter(toolchain, where)
    starter.require(classes.first(settings).text())
    with program.open(write=True) as db:
        placement = where.ranks.placement(toolchain.launcher.processing_units())
        row = classes.begin(db, toolchain, settings, placement, new=new)
        if row.state != "finished":
            benches.require_in_force(starter, settings.knobs)
        with progress.Bar(in_all=classes.USUAL_LAUNCHES) as bar:
            measured = classes.run(LaunchStore(db, row.id, starter, bar), row, settings)
    if program.json:
        common.print_json(
            {"id": row.id, "nprocs": where.ranks.nprocs, **msgspec.to_builtins(measured)}
        )
    else:
        for line in classes.threshold_words(measured):
            click.echo(line)
    return 0
