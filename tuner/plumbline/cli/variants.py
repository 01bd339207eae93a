"""plumbline variants"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.system.words import counted

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.results.best import BestOfCell, FastestOfSide
    from plumbline.settings import Settings
    from plumbline.settings.toolchain import Toolchain, Variant

KINDS = ("algorithm", "mockup", "naive")
LAUNCHES = 10  # as results/best.py has it, which the help does not load


class RaceOptions(NamedTuple):
    """The race that is measured with --best."""

    measure: bool
    sizes: list[int]
    nprocs: list[int] | None
    launches: int | None


@base.command(
    "variants",
    gathers={"race": RaceOptions},
    takes="mpi json nprocs nodes sizes type op seed simulate",
    several="nprocs",
    context_settings={"default_map": {"sizes": "8,1024,16384,131072"}},
    told={"sizes": {"help": "Bytes, with commas between, with --best."}},
)
@click.argument("functions", nargs=-1, shell_complete=options.complete_functions)
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
def command(
    program: ProgramOptions,
    functions: tuple[str, ...],
    kind: str | None,
    race: RaceOptions,
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
        shown = (_catalogue(chosen), counted(len(chosen), "variant"))
        common.answer(program, chosen, shown)
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
    common.answer(program, cells, (_cells_table(cells),))
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
    from plumbline.results import best
    from plumbline.search.space.candidates import CandidateSpace

    candidate_space = CandidateSpace(toolchain, settings.ranks.nprocs, unsafe=True)
    fields = {
        Target(function, size): best.field(
            candidate_space, toolchain.catalogue, function, size, settings.ranks.nprocs
        )
        for function in functions
        for size in measurable(function, sizes, settings.ranks.nprocs, settings.cases.data)
    }
    names = {target.function for target in fields}
    with progress.Bar(in_all=len(names) * sum(best.launches(settings, launches))) as bar:
        cells = best.race(toolchain, settings, fields, launches, bar)
    compared = {(cell.function, cell.bytes) for cell in cells}
    for target in fields:
        if (target.function, target.bytes) not in compared:
            common.remark(
                f"{target.function} at {target.bytes} bytes is left out: the library's own call "
                "was not timed (a simulation that takes too long is given up)"
            )
    return cells


# --- what is shown --------------------------------------------------------------------------------

VARIANT_COLUMNS = (
    *("variant", "kind", "parameters (worth a try)", "not for", "scratch", "what it is"),
)
CELL_COLUMNS = (
    *("function", "ranks", "bytes", "default µs", "library's best", "µs", "over default"),
    *("our best", "µs", "over default", "ours over library's best"),
)


def _scratch_of(variant: Variant) -> str:
    if variant.scratch_volumes < 0:
        return "(p + 1) n"
    return f"{variant.scratch_volumes} n" if variant.scratch_volumes else ""


def _columns_of_variant(variant: Variant) -> list[str]:
    parameters = ", ".join(
        f"{parameter.name}={parameter.standard} ({', '.join(map(str, parameter.tries))})"
        for parameter in variant.parameters
    )
    return [
        variant.name,
        variant.kind,
        parameters,
        ", ".join(variant.restrictions),
        _scratch_of(variant),
        variant.summary,
    ]


def _catalogue(variants: Sequence[Variant]) -> Table:
    names = ("function", *VARIANT_COLUMNS)
    table = common.table(*names, left=names)
    previous = ""
    for variant in sorted(variants, key=lambda variant_listed: variant_listed.function):
        table.add_row(
            "" if variant.function == previous else variant.function, *_columns_of_variant(variant)
        )
        previous = variant.function
    return table


def _columns_of_cell(cell: BestOfCell) -> list[object]:
    def side(fastest: FastestOfSide | None) -> list[str]:
        if fastest is None:
            return ["none", "", ""]
        return [
            _short(fastest.name),
            f"{1e6 * fastest.seconds:.2f}",
            common.ratio_words(fastest.ratio),
        ]

    return [
        cell.function,
        cell.nprocs,
        cell.bytes,
        f"{1e6 * cell.default_seconds:.2f}",
        *side(cell.library),
        *side(cell.ours),
        common.ratio_words(cell.ours_over_library),
    ]


def _cells_table(measured: Sequence[BestOfCell]) -> Table:
    rows = map(_columns_of_cell, measured)
    return common.table(*CELL_COLUMNS, left=("library's best", "our best"), rows=rows)


def _short(name: str) -> str:
    """A configuration without what the names of its knobs have in common."""
    knobs = [word.partition("=") for word in name.split() if "=" in word and ":" not in word]
    shared = min((knob for knob, _, _ in knobs), key=len, default="")
    words = [f"{knob.removeprefix(shared).strip('_')}={value}" for knob, _, value in knobs]
    return " ".join(word.removeprefix("=") for word in words) or name
