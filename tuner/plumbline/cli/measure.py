"""plumbline measure"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plumbline.core.configuration import Configuration
from plumbline.core.variant_spec import variant_name

from . import common

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.measure.side_by_side import MeasuredCase


@click.command("measure", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("function")
@click.option(
    "--sizes",
    default="16384",
    show_default=True,
    help="Bytes, with commas between; 0: the call without data.",
)
@click.option(
    "--variants",
    default="",
    help="Variants beside the default (`plumbline variants`), with commas between; or 'all'.",
)
@click.option(
    "--knob", "settings", multiple=True, help="NAME=VALUE: the library with this setting."
)
@click.option("-n", "--nprocs", type=int, default=0, help="Ranks (default: all cores, at least 4).")
@common.nodes_option
@common.bind_option
@common.map_option
@click.option(
    "--launches", type=click.IntRange(1), help="Default 8; 1 on a simulated machine, as all repeat."
)
@common.simulate_option
@click.option("--type", "type_", default="MPI_BYTE", show_default=True, help="MPI datatype.")
@click.option("--op", default="MPI_BOR", show_default=True, help="MPI reduction operator.")
@click.option("--root", type=int, default=0, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--nrep",
    help="A stopping rule (see `plumbline nrep`) in place of a fixed number of repetitions.",
)
@click.option("--cache", default="warm", show_default=True, help="warm, cycle or overwrite.")
@click.option(
    "--sync",
    default="barrier",
    show_default=True,
    help="How ranks start: barrier, dissemination, window, roundtime or none.",
)
@click.option(
    "--use",
    default="",
    help="Way of use: synchronised, loop, stream, after_barrier or late (in place of --sync and "
    "--runtime).",
)
@click.option(
    "--arrival",
    default="",
    help="Who comes late with --use late: one:NS, uniform:NS or list:NS,NS,… (a number a rank).",
)
@click.option(
    "--runtime",
    default="local",
    show_default=True,
    help="local: the largest of the ranks' own times; global: first start to last end.",
)
@click.option(
    "--clock",
    default="monotonic_raw",
    show_default=True,
    help="Timer: monotonic_raw, monotonic, wtime, tsc or papi.",
)
@click.option(
    "--clock-sync",
    default="hca3",
    show_default=True,
    help="How the global clock is learnt, where one is needed: hca3, hca2, hca, jk, …",
)
@click.option(
    "--window-us",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Window of --sync window; 0: from a short measurement of each case.",
)
@common.records_option
@common.mpi_option
@common.json_option
def command(
    function: str,
    sizes: str,
    variants: str,
    settings: tuple[str, ...],
    nprocs: int,
    nodes: int | None,
    bind: str | None,
    map_by: str | None,
    launches: int | None,
    simulate: str | None,
    type_: str,
    op: str,
    root: int,
    seed: int,
    nrep: str | None,
    cache: str,
    sync: str,
    use: str,
    arrival: str,
    runtime: str,
    clock: str,
    clock_sync: str,
    window_us: int,
    records: Path | None,
    mpi_prefix: Path | None,
    as_json: bool,
) -> int:
    """Measure one function side by side in several variants.

    All cases run in the same launches, in random order; the ratio to the default is paired by
    launch. Knobs that the library reads when it starts have launches of their own, which take turns
    with those; what they are read under is set with them. Nothing is stored in the database. Exit
    code 1 if a case could not be measured.

    \b
    Example:
      plumbline measure MPI_Allreduce --sizes 1024,16384 --variants all \\
        --knob coll_tuned_allreduce_algorithm=ring
    """
    import msgspec
    from rich.text import Text

    from plumbline.campaign import loop as campaign
    from plumbline.core.plan import Data, Plan, PlanCase, StoppingRule
    from plumbline.measure import at_start, conditions, settling
    from plumbline.settings import campaign_file
    from plumbline.settings.workbench import workbench
    from plumbline.verify.statistics import exact_ratio, paired_ratio
    from plumbline_db.errors import UsageError

    wanted = common.sizes_of(sizes)
    asked = {"nprocs": nprocs or None, "type": type_, "op": op, "root": root, "seed": seed}
    layout = {"nodes": nodes, "bind": bind, "map_by": map_by}
    all_settings = campaign_file.load(None, asked | layout | {"simulate": simulate})
    bench = workbench(mpi_prefix, settings=all_settings)
    known = bench.catalogue.variants_of()
    common.require_functions(bench.catalogue, [function])
    chosen = known.get(function, []) if variants == "all" else common.specs_of(variants)
    unknown = (
        {variant_name(word) for word in chosen}
        - set(known.get(function, []))
        - {"library", "empty"}
    )
    if unknown:
        raise UsageError(
            f"{function} has no variant {', '.join(sorted(unknown))}; "
            f"it has {', '.join(known.get(function, [])) or 'none'}"
        )
    hot: list[Configuration] = []
    cold: list[Configuration] = []
    for name, value in map(_knob, settings):
        if bench.knobs and name not in bench.knobs:
            raise UsageError(f"{bench.installation.library.id} reports no parameter {name}")
        writable = name not in bench.knobs or bench.knobs[name].writable
        kind = hot if writable and bench.space.is_hot(name) else cold
        kind.append(Configuration.of(bench.space.with_needs(name, value)))
    cases = [
        case
        for size in wanted
        for case in (
            PlanCase(function, size),
            *(PlanCase(function, size, configuration=configuration) for configuration in hot),
            *(PlanCase(function, size, variant) for variant in chosen),
        )
    ]
    simulated = all_settings.ranks.simulate is not None
    plan = Plan(
        "check",
        seed,
        tuple(dict.fromkeys(cases)),
        Data(type_, op, root),
        blocks=all_settings.sampling.blocks,
        reps=all_settings.sampling.reps,
        cache=cache,
        nrep=StoppingRule(nrep) if nrep is not None else None,
        sync=sync,
        use=use,
        arrival=arrival,
        clock=clock,
        clock_sync=clock_sync,
        runtime=runtime,
        window_us=window_us,
        knobs=bench.space.switch,
    )
    if not (simulated and nrep is not None):
        plan = settling.until_settled(plan, simulated=simulated)
    environment = bench.space.hot_environment if hot else {}
    ranks = campaign.starter(bench, all_settings)
    refusal = ranks.refusal(plan.text())
    if refusal is not None:
        raise UsageError(f"the probe refuses this plan: {refusal}")
    lines, raw = at_start.run(
        ranks,
        plan,
        cold,
        launches or (1 if simulated else 8),
        environment,
        exact_ratio if simulated else paired_ratio,
    )
    common.write_records(records, "measure", raw)
    told = conditions.of_starts(settling.starts(raw), simulated=simulated)
    for weakness in [*conditions.of_records(raw), *told]:
        click.echo(f"plumbline: {weakness.text}", err=True)
    if as_json:
        common.print_json([msgspec.to_builtins(line) for line in lines])
    else:
        reasons = common.Reasons()
        common.show(
            _table(lines, reasons, tested=not simulated),
            *map(Text, [*reasons.lines(), *_remarks(lines)]),
        )
    return 0 if all(line.outcome == "ok" for line in lines) else 1


def _knob(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise click.UsageError(f"--knob takes NAME=VALUE, not {word!r}")
    return name, value


def _remarks(lines: list[MeasuredCase]) -> list[str]:
    """What start scheme and global clock left out or add: nothing where neither was asked for."""
    remarks = []
    if dropped := sum(line.dropped for line in lines):
        remarks.append(f"{dropped} repetitions were late or overran their window, and were dropped")
    error = lines[0].clock_error_seconds
    if error is not None:
        remarks.append(f"global clock: residual error at most {1e6 * error:.2f} µs")
    return remarks


def _table(lines: list[MeasuredCase], reasons: common.Reasons, *, tested: bool) -> Table:
    """`tested`: ratios have a p; those of a simulated machine are as they are."""
    import statistics

    from rich.table import Table
    from rich.text import Text

    from plumbline.search.outcome import label

    table = Table(box=None, pad_edge=False)
    for name in ("bytes", "configuration", "median µs", "launches µs", "over default", "p"):
        table.add_column(name, justify="left" if name == "configuration" else "right")
    for line in lines:
        name = label(line.variant, line.knobs)
        if not line.seconds:
            table.add_row(str(line.bytes), name, Text(reasons.mark(line.outcome)))
            continue
        low, high = min(line.seconds), max(line.seconds)
        found = line.ratio
        table.add_row(
            str(line.bytes),
            name,
            f"{1e6 * statistics.median(line.seconds):.2f}",
            f"{1e6 * low:.2f}–{1e6 * high:.2f}",
            common.ratio_words(found),
            f"{found.p:.2g}" if found is not None and tested else "",
        )
    return table
