"""plumbline overlap"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import common

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from plumbline.overlap.suite import Cell


# name -> what it does; the rest of a line without one measures.
COMMANDS = {
    "thresholds": "Where eager sending ends, to the byte.",
    "timeline": "What happens when on both ranks, for a cell.",
    "compare": "Difference maps of two libraries or configurations.",
    "tune": "Overlap as a guideline: verdicts, search, files.",
}


class Parts(click.Group):
    """The module of a command is imported when it runs (cli/overlap_NAME.py)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"plumbline.cli.overlap_{cmd_name}")
        found: click.Command = module.command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    "overlap",
    cls=Parts,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("-n", "--nprocs", type=click.IntRange(2), default=2, show_default=True, help="Ranks.")
@click.option("--benches", help="Benchmarks, with commas between (default: all).")
@click.option("--quick", is_flag=True, help="Steps of a factor of 2, one launch of each benchmark.")
@click.option("--sizes", help="Bytes, with commas between (default: 64 to 4 Mi, by √2).")
@click.option(
    "--work", help="Microseconds of work, with commas between (default: 2 to 4096, by √2)."
)
@click.option(
    "--kernel",
    type=click.Choice(["registers", "memory"]),
    default="registers",
    show_default=True,
    help="What the work is.",
)
@click.option("--test-us", type=click.IntRange(0), default=0, help="MPI_Test after so much work.")
@click.option("--triples", type=click.IntRange(1), default=50, show_default=True)
@click.option("--launches", type=click.IntRange(1), help="Of each benchmark (default: 5).")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--svg", type=common.NewFile(), help="Write the heat maps into this file.")
@click.option("--new", is_flag=True, help="Start afresh, though this was measured before.")
@common.mpi_option
@common.db_option
@common.json_option
@click.pass_context
def command(
    ctx: click.Context,
    nprocs: int,
    benches: str | None,
    quick: bool,
    sizes: str | None,
    work: str | None,
    kernel: str,
    test_us: int,
    triples: int,
    launches: int | None,
    seed: int,
    svg: Path | None,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
) -> int:
    """How much of a message goes on beside computation.

    Messages between the first and the last rank beside fixed amounts of work, and the overhead
    ratio of each cell: 0 is perfect overlap, 1 one after the other (docs/overlap.md). Interrupted,
    the same command goes on. Everything is stored in the database.

    \b
    Example:
      plumbline overlap --quick --svg overlap.svg
      plumbline overlap --benches sender --sizes 4096,1048576 --work 50,500 --json
    """
    if ctx.invoked_subcommand is not None:
        return 0
    import msgspec

    from plumbline import campaign as loop
    from plumbline import settings as settings_file
    from plumbline.measure import Laboratory
    from plumbline.overlap import benches as names
    from plumbline.overlap import classes, suite, thresholds, words
    from plumbline.workbench import workbench
    from plumbline_db.connection import Database
    from plumbline_db.errors import UsageError

    every_size, every_work = suite.axes(quick=quick)
    microseconds = common.sizes_of(work, "--work") if work else []
    if 0 in microseconds:
        raise UsageError("--work 0 is nothing to overlap with; name whole microseconds from 1 on")
    chosen = tuple(benches.split(",")) if benches else names.QUICK
    for name in chosen:
        names.of(name)
    settings = suite.Settings(
        nprocs,
        tuple(dict.fromkeys(chosen)),
        tuple(sorted(set(common.sizes_of(sizes)))) if sizes else every_size,
        tuple(sorted({1000 * one for one in microseconds})) or every_work,
        kernel,
        "test" if test_us else "none",
        1000 * test_us,
        (),
        triples,
        launches or (1 if quick else 5),
        seed,
    )
    bench = workbench(mpi_prefix)
    starter = loop.starter(bench, settings_file.load(None, {"nprocs": nprocs}))
    refusal = starter.refusal(suite.plan(settings, chosen[0]).text())
    if refusal is not None:
        raise UsageError(f"the probe refuses this: {refusal}")
    with Database.open(common.database(db_path), write=True) as db:
        row = suite.begin(db, bench, settings, new=new)
        if row.state == "finished":
            found = suite.read(db, row, settings)
        else:
            with common.Bar(in_all=settings.launches * len(settings.benches)) as bar:
                found = suite.run(Laboratory(db, row.id, starter, bar), row, settings)
        threshold = thresholds.stored(db, row, settings.knobs)
    known = classes.of(found)
    said = words.of_library(known, threshold)
    if svg is not None:
        from plumbline import chart
        from plumbline.overlap import heatmap

        library = bench.installation.library
        title = f"{library.version_string.partition(',')[0]}, {nprocs} ranks, {kernel}"
        common.write(svg, chart.render(heatmap.sheet(title, found)))
    if as_json:
        told = {"cells": found, "classes": known, "threshold": threshold, "words": said}
        common.print_json({"id": row.id, "nprocs": nprocs} | msgspec.to_builtins(told))
    else:
        common.show(*(_table(name, found) for name in settings.benches), *said)
        if svg is not None:
            click.echo(svg)
    return 0


def _table(bench: str, cells: Sequence[Cell]) -> Table:
    """Ratios: a row an amount of work, the largest first, a column a size."""
    from rich.table import Table

    of = [one for one in cells if one.bench == bench]
    sizes = sorted({one.bytes for one in of})
    table = Table(box=None, pad_edge=False, title=bench, title_justify="left")
    table.add_column("work µs", justify="right")
    for size in sizes:
        table.add_column(_short(size), justify="right")
    for work in sorted({one.work_ns for one in of}, reverse=True):
        row = {one.bytes: one.ratio for one in of if one.work_ns == work}
        table.add_row(
            f"{work / 1000:g}",
            *(
                ""
                if (found := row.get(size)) is None
                else "~"
                if found.noisy
                else f"{found.value:.1f}"
                for size in sizes
            ),
        )
    return table


def _short(size: int) -> str:
    for letter, unit in (("M", 1 << 20), ("k", 1 << 10)):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)
