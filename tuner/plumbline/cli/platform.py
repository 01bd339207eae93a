"""plumbline platform"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import common

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.libraries.simgrid import Selector
    from plumbline.results.twin import Twin


@click.command("platform", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "campaign_file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("-n", "--nprocs", type=click.IntRange(2), help="Ranks (default: 32).")
@common.nodes_option
@common.simulate_option
@click.option("--output", type=click.Path(path_type=Path), help="Where the file goes.")
@click.option("--fit", help="Instead: fit a machine to the ping-pongs of this campaign.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    campaign_file: Path | None,
    nprocs: int | None,
    nodes: int | None,
    simulate: str | None,
    output: Path | None,
    fit: str | None,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
) -> int:
    """The platform file of a simulated machine, or a machine like a real one.

    The table `simulate` of CAMPAIGN_FILE says what the machine is like, and the file is SimGrid's
    (docs/simulated.md). With --fit the table itself is written: latency, bandwidth and the cost of
    a message are fitted to what `plumbline pingpong` has measured, and the simulated ping-pongs
    stand beside the measured ones.

    \b
    Example:
      plumbline platform campaign.toml --output fat-tree.xml
      plumbline pingpong && plumbline platform --fit openmpi-4.1.4-2pp3f2a
    """
    from plumbline.launch import simulation
    from plumbline.settings import campaign_file as files

    if fit is not None:
        selector = simulation.known(simulate or "ompi")
        return _fit(fit, selector, output, mpi_prefix, db_path, as_json)
    if simulate is None and campaign_file is None:
        simulate = "ompi"
    values = {"nprocs": nprocs, "nodes": nodes, "simulate": simulate}
    given = {name: value for name, value in values.items() if value is not None}
    asked = [task.settings for task in files.tasks(campaign_file, given, None)]
    texts = {
        simulation.platform(settings.ranks.simulate, settings.ranks.placement(None))
        for settings in asked
        if settings.ranks.simulate is not None
    }
    if not texts:
        raise click.UsageError("the campaign file has no table `simulate`")
    if len(texts) > 1:
        raise click.UsageError(
            "the campaign file has several layouts; choose one with --nprocs and --nodes"
        )
    _out(output, *texts)
    return 0


def _out(output: Path | None, text: str) -> None:
    if output is None:
        click.echo(text, nl=False)
    else:
        common.write(output, text)


def _fit(
    campaign: str,
    selector: Selector,
    output: Path | None,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
) -> int:
    import msgspec

    from plumbline.results import simulated_pingpong, twin
    from plumbline_db.connection import Database

    with Database.open(common.database(db_path)) as db:
        found = simulated_pingpong.twin_of(db, campaign, selector, mpi_prefix)
    if output is not None:
        common.write(output, twin.table(found.simulation))
    if as_json:
        common.print_json(msgspec.to_builtins(found))
        return 0
    if output is None:
        click.echo(twin.table(found.simulation))
    common.show(_beside(found), f"on average {100 * found.error:.1f} % off")
    return 0


def _beside(found: Twin) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("bytes", "measured µs", "simulated µs", "off by"):
        table.add_column(name, justify="right")
    for size in found.sizes:
        table.add_row(
            str(size.bytes),
            f"{1e6 * size.measured_seconds:.2f}",
            f"{1e6 * size.simulated_seconds:.2f}",
            f"{100 * size.error:+.0f} %",
        )
    return table
