"""plumbline overlap"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plumbline.core.configuration import AS_IT_IS

from . import common
from .lazy import Lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from plumbline.overlap.benches import Aid
    from plumbline.overlap.ranks import RankSpread
    from plumbline.overlap.suite import OverlapResult


# name -> what it does; the rest of a line without one measures.
COMMANDS = {
    "thresholds": "Where eager sending ends, to the byte.",
    "timeline": "What happens when on both ranks, for a cell.",
    "compare": "Difference maps of two libraries or configurations.",
    "tune": "Overlap as a guideline: verdicts, search, files.",
}


@click.group(
    "overlap",
    cls=Lazy,
    words=COMMANDS,
    prefix="plumbline.cli.overlap_",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@common.place_options
@click.option("--benches", help="Benchmarks, with commas between (default: the six of --quick).")
@click.option("--quick", is_flag=True, help="Steps of a factor of 2, one launch of each benchmark.")
@click.option("--full", is_flag=True, help="Every cell by √2, also where nothing changes.")
@click.option(
    "--sizes", help="Bytes, with commas between (default: 64 to 4 Mi, by √2); all are measured."
)
@click.option(
    "--work",
    help="Microseconds of work, with commas between (default: 2 to 4096, by √2); all are measured.",
)
@click.option(
    "--kernel",
    type=click.Choice(["registers", "memory"]),
    default="registers",
    show_default=True,
    help="What the work is.",
)
@click.option(
    "--aid",
    type=click.Choice(["none", "test", "library", "helper", "spare"]),
    help="What helps messages on: MPI_Test in the work, a thread of the library's own, one of ours "
    "beside the work or on a core to itself.",
)
@click.option("--test-us", type=click.IntRange(0), default=0, help="MPI_Test after so much work.")
@common.setting_option
@click.option("--triples", type=click.IntRange(1), default=50, show_default=True)
@click.option("--launches", type=click.IntRange(1), help="Of each benchmark (default: 5).")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--show",
    type=click.Choice(["ratio", "measured"]),
    default="ratio",
    show_default=True,
    help="What the tables hold: the overhead ratio, or the microseconds of both together.",
)
@click.option(
    "--picture",
    type=common.PictureFile(),
    help="Write the heat maps into this file: SVG, PNG or PDF, by its ending.",
)
@click.option("--dots", is_flag=True, help="In the picture, in cells that are not inferred.")
@click.option("--new", is_flag=True, help="Start afresh, though this was measured before.")
@common.mpi_option
@common.db_option
@common.json_option
@click.pass_context
def command(
    ctx: click.Context,
    nprocs: int | None,
    nodes: int | None,
    bind: str | None,
    map_by: str | None,
    campaign_file: Path | None,
    benches: str | None,
    quick: bool,
    full: bool,
    sizes: str | None,
    work: str | None,
    kernel: str,
    aid: Aid | None,
    test_us: int,
    pairs: tuple[str, ...],
    triples: int,
    launches: int | None,
    seed: int,
    show: str,
    picture: Path | None,
    dots: bool,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
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
      plumbline overlap --setting btl_vader_single_copy_mechanism=none --show measured
      plumbline overlap -n 4 --benches fan_in:4,ring,collective:MPI_Iallreduce --quick
      plumbline overlap --benches load,multiple:2 --quick
      plumbline overlap --benches receiver --aid test --test-us 20
    """
    if ctx.invoked_subcommand is not None:
        return 0
    import msgspec

    from plumbline.campaign import loop
    from plumbline.measure.launches import Laboratory
    from plumbline.overlap import (
        aids,
        classes,
        conditions,
        duration,
        place,
        suite,
        thresholds,
        words,
    )
    from plumbline.overlap import benches as names
    from plumbline.overlap import knobs as settings_of
    from plumbline.overlap.settings import LAUNCHES, OverlapSettings
    from plumbline.settings.workbench import workbench
    from plumbline_db.connection import Database
    from plumbline_db.errors import UsageError

    if quick and full:
        raise UsageError("--quick and --full are different grids; name one of them")
    every_size, every_work = suite.axes(quick=quick)
    microseconds = common.sizes_of(work, "--work") if work else []
    if 0 in microseconds:
        raise UsageError("--work 0 is nothing to overlap with; name whole microseconds from 1 on")
    chosen = names.names(benches, groups=True) if benches else names.QUICK
    settings = OverlapSettings(
        nprocs or place.NPROCS,
        chosen,
        tuple(sorted(set(common.sizes_of(sizes)))) if sizes else every_size,
        tuple(sorted({1000 * microsecond for microsecond in microseconds})) or every_work,
        kernel,
        aids.chosen(aid, test_us),
        1000 * test_us,
        AS_IT_IS,
        triples,
        launches or (1 if quick else LAUNCHES),
        seed,
        adaptive=not (quick or full or sizes or work),
    )
    asked = {"nprocs": nprocs, "nodes": nodes, "bind": bind, "map_by": map_by}
    where = place.settings(campaign_file, asked)
    database = common.database(db_path)
    bench = workbench(mpi_prefix, settings=where, beside=database.parent)
    settings = msgspec.structs.replace(
        settings,
        nprocs=where.ranks.nprocs,
        knobs=settings_of.given(bench, pairs, where),
        benches=names.expanded(chosen, [function.name for function in bench.catalogue.functions]),
    )
    settings = aids.in_force(suite.with_loads(settings, bench), bench, where)
    where = place.patient(where, duration.limit(suite.every_plan(settings)))
    starter = loop.starter(bench, where)
    for name in settings.benches:
        refusal = starter.refusal(suite.plan(settings, name).text())
        if refusal is not None:
            raise UsageError(f"the probe refuses {name}: {refusal}")
    with Database.open(database, write=True) as db:
        placement = where.ranks.placement(bench.launcher.processing_units())
        row = suite.begin(
            db, bench, settings, new=new, placement=placement, place=place.facts(where)
        )
        starter.keep_apart("".join(filter(str.isdigit, row.started))[:14])
        if row.state == "finished":
            found = suite.read(db, row, settings)
        else:
            click.echo(f"plumbline: {suite.announced(settings)}", err=True)
            settings_of.require_in_force(starter, settings.knobs)
            with common.Bar() as bar:
                lab = Laboratory(db, row.id, starter, bar)
                found = suite.run(lab, row, settings, bar.expect)
        weak = conditions.found(db, row)
        threshold = thresholds.stored(db, row, settings.knobs, place.facts(where))
    known = classes.of(found)
    said = words.of_library(known, threshold)
    for weakness in weak:
        click.echo(f"plumbline: {weakness.text}", err=True)
    if picture is not None:
        from plumbline.overlap import sheet
        from plumbline.system import chart

        title = suite.title(bench.installation.library, settings)
        common.write(picture, chart.drawn(sheet.of_one(title, found, dots=dots), picture))
    if as_json:
        head = {"id": row.id, "nprocs": settings.nprocs, "settings": settings.knobs.as_dict()}
        told = {"conditions": weak, "cells": found}
        told |= {"classes": known, "threshold": threshold, "words": said}
        common.print_json(head | {"nodes": row.nodes} | msgspec.to_builtins(told))
    else:
        common.show(*(_table(name, found, show) for name in settings.benches), *said)
        if settings.adaptive:
            click.echo("' not measured: inferred, for the cells around agree (--full measures all)")
        if picture is not None:
            click.echo(picture)
    return 0


def _table(bench: str, cells: Sequence[OverlapResult], show: str) -> Table:
    """A row an amount of work, the largest first, a column a size. Of `load` a row a number of
    threads, and slowdowns in place of ratios."""
    from rich.table import Table

    from plumbline.overlap import ranks
    from plumbline.overlap.benches import LOAD

    of = [cell for cell in cells if cell.bench == bench]
    sizes = sorted({result.bytes for result in of})
    table = Table(box=None, pad_edge=False, title=bench, title_justify="left")
    load = bench == LOAD
    heading = "threads" if load else "work µs"
    table.add_column(heading, justify="right", min_width=len(bench))
    for size in sizes:
        table.add_column(_short(size), justify="right")
    up = {result: result.threads if load else result.work_ns / 1000 for result in of}
    for amount in sorted(set(up.values()), reverse=True):
        row = {
            spread.median.bytes: spread
            for spread in ranks.spreads([result for result in of if up[result] == amount])
        }
        table.add_row(
            f"{amount:g}",
            *(_words(row[size], show) if size in row else "" for size in sizes),
        )
    return table


def _words(spread: RankSpread, show: str) -> str:
    """`'`: inferred. Of several ranks the one in the middle, the least and the largest ratio."""
    from plumbline.overlap import ranks

    mark = "" if spread.median.measured else "'"
    if show == "measured" and spread.median.ratio is not None:
        return f"{1e6 * spread.median.ratio.both:.0f}{mark}"
    return ranks.text(spread) + mark


def _short(size: int) -> str:
    for letter, unit in (("M", 1 << 20), ("k", 1 << 10)):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)
