"""plumbline nrep"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.core.plan import (
    Plan,
    PlanCase,
    StoppingRule,
    least_bytes,
    measurable,
    rounding,
)
from plumbline_db.errors import UsageError

from . import base, common, completing, options, progress
from .base import Program

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.measure.nrep import RepetitionsCell
    from plumbline_db.probe_records import Criterion


_RULE = StoppingRule()


def _count(name: str, option: str, help: str) -> options.Wrap:
    default = getattr(_RULE, name)
    return options.option(option, name, type=options.Count(), default=default, help=help)


class Stop(NamedTuple):
    """Options that say when a cell has enough repetitions, and what is cached before each."""

    rule: str
    least: int
    step: int
    most: int
    budget: float | None
    cache: str


@base.command(
    "nrep",
    gathers={"stop": Stop},
    takes=f"mpi json nprocs sizes {options.DATA} seed",
    context_settings={"default_map": {"sizes": "8,1024,16384,131072"}},
)
@click.argument("functions", nargs=-1, required=True, shell_complete=completing.functions)
@options.option(
    "--rule",
    default=_RULE.criteria,
    help="criterion:threshold[/window], with commas between: all must be met.",
)
@_count("least", "--min", "Repetitions before the rule is asked.")
@_count("step", "--step", "Repetitions from one question to the next.")
@_count("most", "--max", "Repetitions at most.")
@options.option(
    "--budget", type=options.Real(0.001), help="Seconds for a cell in a launch, at most."
)
@options.launches(default=3)
@options.cache()
@options.raw_records
def command(
    program: Program,
    functions: tuple[str, ...],
    sizes: list[int],
    stop: Stop,
    launches: int,
    output: Path | None,
    **asked: Any,
) -> int:
    """How many repetitions each function and size needs, by a stopping rule.

    The most that any launch took; criteria are rse, cov_mean, cov_median, median_ci, block_medians
    (docs/measurement.md). Nothing is stored in the database. Exit code 1 if a cell could not be
    measured, or not every launch of it met the rule.

    \b
    Example:
      plumbline nrep MPI_Bcast MPI_Allreduce --sizes 8,16384 --rule median_ci:0.01
    """
    from rich.text import Text

    from plumbline.measure import nrep, unkept
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain

    toolchain = find_toolchain(program.mpi)
    functions = tuple(common.functions(toolchain.catalogue, functions))
    settings = campaign_file.load(None, asked)
    data = settings.cases.data
    common.remark(rounding(dict.fromkeys(functions, sizes), data))
    cases = [
        PlanCase(function, size)
        for function in dict.fromkeys(functions)
        for size in measurable(function, sizes, settings.ranks.nprocs, data)
    ]
    plan = Plan(
        "check",
        settings.sampling.seed,
        tuple(cases),
        data,
        cache=stop.cache,
        nrep=StoppingRule(stop.rule, stop.least, stop.step, stop.most),
        budget_ms=math.ceil(1000 * (stop.budget or 0)),
    )
    for function in functions:
        if not any(case.function == function for case in cases):
            smallest = least_bytes(function, settings.ranks.nprocs, data)
            raise UsageError(
                f"--sizes {','.join(map(str, sizes))} names no cell of {function}: a call without "
                f"data is not measured; its smallest size here is {smallest} bytes"
            )
    ranks = starting.starter(toolchain, settings)
    ranks.require(plan.text(), "this plan")
    with (
        progress.Bar(in_all=launches) as bar,
        unkept.store_for(toolchain, ranks, "nrep", bar) as store,
    ):
        store.progress.step("repeating until the rule is met")
        predicted_cells = nrep.predict(store, plan, launches)
        raw = unkept.records(store)
    common.write_records(output, "nrep", raw)
    if program.json:
        common.print_json(predicted_cells)
    else:
        reasons = common.Reasons()
        common.show(_table(predicted_cells, reasons), *map(Text, reasons.lines()))
    return 0 if all(cell.met for cell in predicted_cells) else 1


def _table(cells: list[RepetitionsCell], reasons: common.Reasons) -> Table:
    from rich.text import Text

    words = ("launches", "ended by", "criteria at the end")
    table = common.table("function", "bytes", "nrep", *words, left=("function", *words))
    for cell in cells:
        if cell.nrep is None:
            table.add_row(cell.function, str(cell.bytes), "", "", Text(reasons.mark(cell.outcome)))
            continue
        counts = " ".join(str(launch.nrep) for launch in cell.launches)
        ended = ", ".join(dict.fromkeys(launch.by for launch in cell.launches))
        worst = max(cell.launches, key=lambda launch: launch.nrep)
        values = "  ".join(map(_condition, worst.criteria))
        table.add_row(cell.function, str(cell.bytes), str(cell.nrep), counts, ended, values)
    return table


def _condition(criterion: Criterion) -> str:
    if criterion.value is None:
        return f"{criterion.name} unknown"
    return (
        f"{criterion.name} {criterion.value:.3g} "
        f"{'<' if criterion.value < criterion.threshold else '≥'} {criterion.threshold:g}"
    )
