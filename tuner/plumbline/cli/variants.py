"""plumbline variants"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.system.words import counted

from . import base, common, completing, options, progress
from .base import Program

if TYPE_CHECKING:
    from plumbline.results.best import BestOfCell
    from plumbline.settings import Settings
    from plumbline.settings.toolchain import Toolchain

KINDS = ("algorithm", "mockup", "naive")
FIRST, LAUNCHES = 3, 10


class Race(NamedTuple):
    """The race that is measured with --best."""

    measure: bool
    sizes: list[int]
    nprocs: list[int] | None
    launches: int | None


@base.command(
    "variants",
    gathers={"race": Race},
    takes="mpi json nprocs nodes sizes type op seed simulate",
    several="nprocs",
    context_settings={"default_map": {"sizes": "8,1024,16384,131072"}},
    told={"sizes": {"help": "Bytes, with commas between, with --best."}},
)
@click.argument("functions", nargs=-1, shell_complete=completing.functions)
@click.option("--kind", type=click.Choice(KINDS), help="Only these.")
@click.option(
    "--best",
    "measure",
    is_flag=True,
    help="Measure: our best variant beside the library's best algorithm and its default.",
)
@options.launches(
    "Launches in which the fastest meet.", unset=f"{LAUNCHES}; 1 on a simulated machine"
)
@click.option("--markdown", is_flag=True, help="Tables as a page of documentation has them.")
def command(
    program: Program,
    functions: tuple[str, ...],
    kind: str | None,
    race: Race,
    markdown: bool,
    **asked: Any,
) -> int:
    """The catalogue: mock-ups, algorithms and naive versions of each function.

    A variant is written `name` or `name:parameter=value`, in plans, profiles and options. With
    --best every variant and every algorithm of the library races for each function and size in 3
    launches (1 on a simulated machine); the three fastest of either side then meet the default in
    --launches fresh launches. Nothing is stored in the database.

    \b
    Example:
      plumbline variants MPI_Bcast
      plumbline variants --best MPI_Reduce MPI_Allreduce --nprocs 4,8 --sizes 8,131072
    """
    import msgspec

    from plumbline.core.plan import rounding
    from plumbline.settings import campaign_file
    from plumbline.settings.toolchain import find_toolchain

    from . import variant_tables

    if race.measure and kind == "naive":
        raise click.UsageError("--best: naive variants do not race; take another --kind, or none")
    counts: Sequence[int | None] = race.nprocs or [None]
    settings = [campaign_file.load(None, asked | {"nprocs": count}) for count in counts]
    toolchain = find_toolchain(program.mpi, settings=settings[0])
    known_functions = {variant.function for variant in toolchain.catalogue.variants}
    if race.measure or not known_functions.issuperset(
        functions
    ):  # the probe does not call each of them
        functions = tuple(common.functions(toolchain.catalogue, functions))
    if race.measure and not known_functions.issuperset(functions):
        bare = ", ".join(function for function in functions if function not in known_functions)
        raise click.UsageError(f"--best: there are no variants of {bare} to race")
    chosen = [
        variant
        for variant in toolchain.catalogue.variants
        if (not functions or variant.function in functions) and kind in (None, variant.kind)
    ]
    if not race.measure:
        if program.json:
            common.print_json(chosen)
        elif markdown:
            click.echo(variant_tables.catalogue_page(chosen))
        else:
            common.show(variant_tables.catalogue(chosen), counted(len(chosen), "variant"))
        return 0
    raced_functions = functions or tuple(dict.fromkeys(variant.function for variant in chosen))
    toolchain = msgspec.structs.replace(
        toolchain, catalogue=msgspec.structs.replace(toolchain.catalogue, variants=chosen)
    )
    common.remark(rounding(dict.fromkeys(raced_functions, race.sizes), settings[0].cases.data))
    cells = [
        cell
        for setting in settings
        for cell in _best(toolchain, setting, raced_functions, race.sizes, race.launches)
    ]
    if program.json:
        common.print_json(cells)
    elif markdown:
        click.echo(variant_tables.cells_page(cells))
    else:
        common.show(variant_tables.cells(cells))
    return 0


def _best(
    toolchain: Toolchain,
    settings: Settings,
    functions: Sequence[str],
    sizes: Sequence[int],
    launches: int | None,
) -> list[BestOfCell]:
    from plumbline.core.cell import Target
    from plumbline.core.plan import measurable
    from plumbline.measure import unkept
    from plumbline.results import best
    from plumbline.search.space.candidates import CandidateSpace
    from plumbline.settings import starting

    simulated = settings.ranks.simulate is not None
    data = settings.cases.data
    candidate_space = CandidateSpace(toolchain, settings.ranks.nprocs, unsafe=True)
    first = 1 if simulated else FIRST
    finals = launches or (1 if simulated else LAUNCHES)
    fields = {
        Target(function, size): best.field(
            candidate_space, toolchain.catalogue, function, size, settings.ranks.nprocs
        )
        for function in functions
        for size in measurable(function, sizes, settings.ranks.nprocs, data)
    }
    names = {target.function for target in fields}
    with (
        progress.Bar(in_all=len(names) * (first + finals)) as bar,
        unkept.store_for(toolchain, starting.starter(toolchain, settings), "best", bar) as store,
    ):
        cells = best.find(
            store,
            best.plan_of(settings, data, toolchain.space.switch),
            toolchain.space.hot_environment,
            fields,
            first=first,
            finals=finals,
        )
    compared = {(cell.function, cell.bytes) for cell in cells}
    for target in fields:
        if (target.function, target.bytes) not in compared:
            common.remark(
                f"{target.function} at {target.bytes} bytes is left out: the library's own call "
                "was not timed (a simulation that takes too long is given up)"
            )
    return cells
