"""plumbline nrep"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import common

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.measure.nrep import RepetitionsCell
    from plumbline_db.records import Criterion


@click.command("nrep", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("functions", nargs=-1, required=True)
@click.option("--sizes", default="8,1024,16384,131072", show_default=True, help="Bytes.")
@click.option(
    "--rule",
    default="rse:0.025,cov_mean:0.01/20",
    show_default=True,
    help="criterion:threshold[/window], with commas between: all must be met.",
)
@click.option("--min", "least", type=click.IntRange(1), default=20, show_default=True)
@click.option("--step", type=click.IntRange(1), default=10, show_default=True)
@click.option("--max", "most", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--budget-ms", type=click.IntRange(1), help="Time limit for a cell in a launch.")
@click.option("-n", "--nprocs", type=int, default=0, help="Ranks (default: all cores, at least 4).")
@click.option("--launches", type=click.IntRange(1), default=3, show_default=True)
@click.option("--type", "type_", default="MPI_BYTE", show_default=True, help="MPI datatype.")
@click.option("--op", default="MPI_BOR", show_default=True, help="MPI reduction operator.")
@click.option("--root", type=int, default=0, show_default=True)
@click.option("--cache", default="warm", show_default=True, help="warm, cycle or overwrite.")
@click.option("--seed", type=int, default=1, show_default=True)
@common.records_option
@common.mpi_option
@common.json_option
def command(
    functions: tuple[str, ...],
    sizes: str,
    rule: str,
    least: int,
    step: int,
    most: int,
    budget_ms: int | None,
    nprocs: int,
    launches: int,
    type_: str,
    op: str,
    root: int,
    cache: str,
    seed: int,
    records: Path | None,
    mpi_prefix: Path | None,
    as_json: bool,
) -> int:
    """How many repetitions each function and size needs, by a stopping rule.

    The most that any launch took; criteria are rse, cov_mean, cov_median and median_ci
    (docs/measurement.md). Nothing is stored in the database. Exit code 1 if a cell could not be
    measured, or not every launch of it met the rule.

    \b
    Example:
      plumbline nrep MPI_Bcast MPI_Allreduce --sizes 8,16384 --rule median_ci:0.01
    """
    import msgspec
    from rich.text import Text

    from plumbline.campaign import loop as campaign
    from plumbline.core.plan import Data, Plan, PlanCase, StoppingRule, least_bytes, measurable
    from plumbline.measure import nrep
    from plumbline.settings import campaign_file
    from plumbline.settings.workbench import workbench
    from plumbline_db.errors import UsageError

    wanted = common.sizes_of(sizes)
    bench = workbench(mpi_prefix)
    common.require_functions(bench.catalogue, functions)
    settings = campaign_file.load(
        None, {"nprocs": nprocs or None, "type": type_, "op": op, "root": root, "seed": seed}
    )
    data = Data(type_, op, root)
    cases = [
        PlanCase(function, size)
        for function in dict.fromkeys(functions)
        for size in measurable(function, wanted, settings.ranks.nprocs, data)
    ]
    plan = Plan(
        "check",
        seed,
        tuple(cases),
        data,
        cache=cache,
        nrep=StoppingRule(rule, least, step, most),
        budget_ms=budget_ms or 0,
    )
    for function in functions:
        if not any(case.function == function for case in cases):
            smallest = least_bytes(function, settings.ranks.nprocs, data)
            raise UsageError(
                f"--sizes {sizes} names no cell of {function}: there is nothing to repeat without "
                f"data; its smallest size here is {smallest} bytes"
            )
    ranks = campaign.starter(bench, settings)
    refusal = ranks.refusal(plan.text())
    if refusal is not None:
        raise UsageError(f"the probe refuses this plan: {refusal}")
    found, raw = nrep.predict(ranks, plan, launches, {})
    common.write_records(records, "nrep", raw)
    if as_json:
        common.print_json([msgspec.to_builtins(cell) for cell in found])
    else:
        reasons = common.Reasons()
        common.show(_table(found, reasons), *map(Text, reasons.lines()))
    return 0 if all(cell.met for cell in found) else 1


def _table(found: list[RepetitionsCell], reasons: common.Reasons) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("function", "bytes", "nrep", "launches", "ended by", "criteria at the end"):
        table.add_column(name, justify="right" if name in ("bytes", "nrep") else "left")
    for cell in found:
        if cell.nrep is None:
            table.add_row(cell.function, str(cell.bytes), "", "", Text(reasons.mark(cell.outcome)))
            continue
        counts = " ".join(str(launch.nrep) for launch in cell.launches)
        ended = ", ".join(dict.fromkeys(launch.by for launch in cell.launches))
        worst = max(cell.launches, key=lambda one: one.nrep)
        values = "  ".join(map(_condition, worst.criteria))
        table.add_row(cell.function, str(cell.bytes), str(cell.nrep), counts, ended, values)
    return table


def _condition(one: Criterion) -> str:
    if one.value is None:
        return f"{one.name} unknown"
    return (
        f"{one.name} {one.value:.3g} {'<' if one.value < one.threshold else '≥'} {one.threshold:g}"
    )
