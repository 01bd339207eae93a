"""plumbline variants"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import common

if TYPE_CHECKING:
    from plumbline.best import Cell
    from plumbline.workbench import Workbench

KINDS = ("algorithm", "mockup", "naive")


@click.command("variants", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("functions", nargs=-1)
@click.option("--kind", type=click.Choice(KINDS), help="Only these.")
@click.option(
    "--best",
    "measure",
    is_flag=True,
    help="Measure: our best variant beside the library's best algorithm and its default.",
)
@click.option(
    "--sizes", default="8,1024,16384,131072", show_default=True, help="Bytes, with --best."
)
@click.option(
    "-n",
    "--nprocs",
    default="",
    help="Ranks, with commas between, with --best (default: all cores, at least 4).",
)
@click.option("--heats", type=click.IntRange(1), default=3, show_default=True)
@click.option("--launches", type=click.IntRange(1), default=10, show_default=True)
@click.option("--type", "type_", default="MPI_BYTE", show_default=True, help="MPI datatype.")
@click.option("--op", default="MPI_BOR", show_default=True, help="MPI reduction operator.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--markdown", is_flag=True, help="Tables as a page of documentation has them.")
@common.mpi_option
@common.json_option
def command(
    functions: tuple[str, ...],
    kind: str | None,
    measure: bool,
    sizes: str,
    nprocs: str,
    heats: int,
    launches: int,
    type_: str,
    op: str,
    seed: int,
    markdown: bool,
    mpi_prefix: Path | None,
    as_json: bool,
) -> int:
    """The catalogue: mock-ups, algorithms and naive versions of each function.

    A variant is written `name` or `name:parameter=value`, in plans, profiles and options. With
    --best every variant and every algorithm of the library races for each function and size
    (--heats launches); the three fastest of either side then meet the default in --launches fresh
    launches. Nothing is stored in the database.

    \b
    Example:
      plumbline variants MPI_Bcast
      plumbline variants --best MPI_Reduce MPI_Allreduce --nprocs 4,8 --sizes 8,131072
    """
    import msgspec

    from plumbline.workbench import workbench

    from . import variant_tables

    bench = workbench(mpi_prefix)
    common.require_functions(bench.catalogue, functions)
    chosen = [
        one
        for one in bench.catalogue.variants
        if (not functions or one.function in functions) and kind in (None, one.kind)
    ]
    if not measure:
        if as_json:
            common.print_json([msgspec.to_builtins(one) for one in chosen])
        elif markdown:
            click.echo(variant_tables.catalogue_page(chosen))
        else:
            common.show(variant_tables.catalogue(chosen), f"{len(chosen)} variants")
        return 0
    wanted = functions or tuple(dict.fromkeys(one.function for one in chosen))
    cells = _measure(bench, wanted, sizes, nprocs, heats, launches, type_, op, seed, kind)
    if as_json:
        common.print_json([msgspec.to_builtins(cell) for cell in cells])
    elif markdown:
        click.echo(variant_tables.cells_page(cells))
    else:
        common.show(variant_tables.cells(cells))
    return 0


def _measure(
    bench: Workbench,
    functions: Sequence[str],
    sizes: str,
    nprocs: str,
    heats: int,
    launches: int,
    type_: str,
    op: str,
    seed: int,
    kind: str | None,
) -> list[Cell]:
    import msgspec

    from plumbline import best, campaign
    from plumbline import settings as settings_file
    from plumbline.plan import Data, Plan, measurable
    from plumbline.search.candidates import Menu

    try:
        counts = [int(word) for word in nprocs.split(",")] if nprocs else [0]
    except ValueError:
        raise click.UsageError("--nprocs takes whole numbers with commas between") from None
    catalogue = msgspec.structs.replace(
        bench.catalogue,
        variants=[one for one in bench.catalogue.variants if kind in (None, one.kind)],
    )
    data = Data(type_, op)
    cells = []
    for count in counts:
        settings = settings_file.load(
            None, {"nprocs": count or None, "type": type_, "op": op, "seed": seed}
        )
        menu = Menu(
            bench.space,
            bench.installation.library,
            bench.knobs,
            catalogue.variants,
            settings.nprocs,
            unsafe=True,
        )
        fields = {
            (function, size): best.field(menu, catalogue, function, size)
            for function in functions
            for size in measurable(function, common.sizes_of(sizes), settings.nprocs, data)
        }
        cells += best.find(
            campaign.starter(bench, settings),
            Plan("best", seed, (), data),
            bench.space.hot.environment,
            fields,
            heats=heats,
            finals=launches,
            step=lambda text: click.echo(text, err=True),
        )
    return cells
