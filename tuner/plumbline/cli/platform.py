"""plumbline platform"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from . import base, common, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.core.selectors import Selector
    from plumbline.results.twin import Twin


class MachineOptions(NamedTuple):
    """The machine and its ranks."""

    nprocs: int | None
    nodes: int | None
    simulate: str | None


@base.command(
    "platform", gathers={"ranks": MachineOptions}, takes="mpi db json nprocs nodes simulate"
)
@options.campaign_file
@click.option("--output", type=options.NewFile(), help="File to write in place of the terminal.")
@click.option("--fit", help="Instead: fit a machine to the ping-pongs of this campaign.")
def command(
    program: ProgramOptions,
    campaign_file: Path | None,
    ranks: MachineOptions,
    output: Path | None,
    fit: str | None,
) -> int:
    """The platform file of a simulated machine, or a machine like a real one.

    The table `simulate` of CAMPAIGN_FILE says what the machine is like, and the file is SimGrid's
    (docs/simulated.md). With --fit the table itself is written: latency, bandwidth and the cost of
    a message are fitted to what `plumbline measure pingpong` has measured, and the simulated
    ping-pongs stand beside the measured ones.

    \b
    Example:
      plumbline platform campaign.toml --output fat-tree.xml
      plumbline measure pingpong && plumbline platform --fit openmpi-4.1.4-2pp3f2a
    """
    from plumbline.launch import simulation
    from plumbline.settings import campaign_file as files

    if fit is not None:
        selector = simulation.known(ranks.simulate or "ompi")
        return _fit(program, fit, selector, output)
    if ranks.simulate is None and campaign_file is None:
        ranks = ranks._replace(simulate="ompi")
    ranks_given = {name: value for name, value in ranks._asdict().items() if value is not None}
    every_settings = [task.settings for task in files.tasks(campaign_file, ranks_given, None)]
    texts = {
        simulation.platform(settings.ranks.simulate, settings.ranks.placement(None))
        for settings in every_settings
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


def _fit(program: ProgramOptions, campaign: str, selector: Selector, output: Path | None) -> int:
    from plumbline.results import twin

    with program.open() as db:
        fitted = twin.twin_of(db, campaign, selector, program.mpi)
    if output is not None:
        common.write(output, twin.table(fitted.simulation))
    if program.json:
        common.print_json(fitted)
        return 0
    if output is None:
        click.echo(twin.table(fitted.simulation))
    common.show(_beside(fitted), f"on average {100 * fitted.error:.1f} % off")
    return 0


def _beside(fitted: Twin) -> Table:
    rows = [
        (
            size.bytes,
            f"{1e6 * size.measured_seconds:.2f}",
            f"{1e6 * size.simulated_seconds:.2f}",
            f"{100 * size.error:+.0f} %",
        )
        for size in fitted.sizes
    ]
    return common.table("bytes", "measured µs", "simulated µs", "off by", rows=rows)
