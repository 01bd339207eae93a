"""plumbline variants"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import common

if TYPE_CHECKING:
    from plumbline.results.best import BestOfCell
    from plumbline.settings import Settings
    from plumbline.settings.workbench import Workbench

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
@click.option("--heats", type=click.IntRange(1), help="Default 3; 1 on a simulated machine.")
@click.option("--launches", type=click.IntRange(1), help="Default 10; 1 on a simulated machine.")
@click.option("--type", "type_", default="MPI_BYTE", show_default=True, help="MPI datatype.")
@click.option("--op", default="MPI_BOR", show_default=True, help="MPI reduction operator.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--markdown", is_flag=True, help="Tables as a page of documentation has them.")
@common.simulate_option
@common.mpi_option
@common.json_option
def command(
    functions: tuple[str, ...],
    kind: str | None,
    measure: bool,
    sizes: str,
    nprocs: str,
    heats: int | None,
    launches: int | None,
    type_: str,
    op: str,
    seed: int,
    markdown: bool,
    simulate: str | None,
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

    from plumbline.settings import campaign_file
    from plumbline.settings.workbench import workbench
    from plumbline.system.words import counted

    from . import variant_tables

    if measure and kind == "naive":
        raise click.UsageError("--best: naive variants do not race; take another --kind, or none")
    try:
        counts = [int(word) for word in nprocs.split(",")] if nprocs else [0]
    except ValueError:
        raise click.UsageError("--nprocs takes whole numbers with commas between") from None
    asked = {"type": type_, "op": op, "seed": seed, "simulate": simulate}
    settings = [campaign_file.load(None, asked | {"nprocs": count or None}) for count in counts]
    bench = workbench(mpi_prefix, settings=settings[0])
    common.require_functions(bench.catalogue, functions)
    known = {variant.function for variant in bench.catalogue.variants}
    if measure and not known.issuperset(functions):
        bare = ", ".join(function for function in functions if function not in known)
        raise click.UsageError(f"--best: there are no variants of {bare} to race")
    chosen = [
        variant
        for variant in bench.catalogue.variants
        if (not functions or variant.function in functions) and kind in (None, variant.kind)
    ]
    if not measure:
        if as_json:
            common.print_json([msgspec.to_builtins(variant) for variant in chosen])
        elif markdown:
            click.echo(variant_tables.catalogue_page(chosen))
        else:
            common.show(variant_tables.catalogue(chosen), counted(len(chosen), "variant"))
        return 0
    wanted = functions or tuple(dict.fromkeys(variant.function for variant in chosen))
    bench = msgspec.structs.replace(
        bench, catalogue=msgspec.structs.replace(bench.catalogue, variants=chosen)
    )
    cells = [
        cell
        for setting in settings
        for cell in _best(bench, setting, wanted, common.sizes_of(sizes), heats, launches)
    ]
    if as_json:
        common.print_json([msgspec.to_builtins(cell) for cell in cells])
    elif markdown:
        click.echo(variant_tables.cells_page(cells))
    else:
        common.show(variant_tables.cells(cells))
    return 0


def _best(
    bench: Workbench,
    settings: Settings,
    functions: Sequence[str],
    sizes: Sequence[int],
    heats: int | None,
    launches: int | None,
) -> list[BestOfCell]:
    from plumbline.campaign import loop as campaign
    from plumbline.core.plan import Data, Plan, measurable
    from plumbline.measure.settling import until_settled
    from plumbline.results import best
    from plumbline.search.candidates import Menu
    from plumbline.search.cells import Target
    from plumbline.verify.statistics import exact_ratio, paired_ratio

    simulated = settings.ranks.simulate is not None
    data = Data(settings.cases.type, settings.cases.op)
    menu = Menu(
        bench.space,
        bench.installation.library,
        bench.knobs,
        bench.catalogue.variants,
        settings.ranks.nprocs,
        unsafe=True,
    )
    return best.find(
        campaign.starter(bench, settings),
        until_settled(
            Plan(
                "best",
                settings.sampling.seed,
                (),
                data,
                blocks=settings.sampling.blocks,
                reps=settings.sampling.reps,
                knobs=bench.space.switch,
            ),
            simulated=simulated,
        ),
        bench.space.hot_environment,
        {
            Target(function, size): best.field(
                menu, bench.catalogue, function, size, settings.ranks.nprocs
            )
            for function in functions
            for size in measurable(function, sizes, settings.ranks.nprocs, data)
        },
        first=heats or (1 if simulated else 3),
        finals=launches or (1 if simulated else 10),
        step=lambda text: click.echo(text, err=True),
        compare=exact_ratio if simulated else paired_ratio,
    )
