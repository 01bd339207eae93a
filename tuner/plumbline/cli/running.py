"""What `campaign` and `verify` share: the options that are settings, and running to the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import common

if TYPE_CHECKING:
    from plumbline.report import Report

_SETTINGS = (
    click.argument(
        "campaign_file",
        required=False,
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
    ),
    common.simulate_option,
    click.option("-n", "--nprocs", type=int, help="Ranks (default: all cores, at least four)."),
    common.nodes_option,
    common.bind_option,
    common.map_option,
    click.option("--sizes", help="Message sizes in bytes, with commas between."),
    click.option("--type", "type_", help="MPI datatype (default MPI_BYTE)."),
    click.option("--op", help="MPI reduction operator (default MPI_BOR)."),
    click.option("--root", type=int, help="Root of rooted functions (default 0)."),
    click.option(
        "--guidelines",
        help="Ids of guidelines, with commas between, or all (default: most of them).",
    ),
    click.option(
        "--functions",
        help="Also verify monotony and split-robustness of these, with commas between.",
    ),
    click.option(
        "--sync",
        help="How ranks start: barrier (default), dissemination, window, roundtime or none.",
    ),
    click.option("--launches", type=int, help="Launches of the first look (default 9)."),
    click.option(
        "--launches-max", type=int, help="Launches of what stays undecided, at most (default 30)."
    ),
    click.option("--seed", type=int, help="Seed of orders and data (default 1)."),
    click.option(
        "--new", is_flag=True, help="Start afresh, though these settings were run before."
    ),
    common.mpi_option,
    common.db_option,
    common.json_option,
)


def settings_options(function: common.Function) -> common.Function:
    """The options of a command that runs a campaign, in the order of its help."""
    for option in reversed(_SETTINGS):
        function = option(function)
    return function


def report_of(database: Path, campaign_id: str) -> Report:
    from plumbline import report
    from plumbline_db.connection import Database

    with Database.open(database) as db:
        return report.read(db, campaign_id)


def run(
    campaign_file: Path | None,
    options: dict[str, Any],
    *,
    new: bool,
    mpi_prefix: Path | None,
    database: Path,
    output: Path | None,
) -> tuple[str, Path]:
    """Runs or continues a campaign; returns its id and the database it is in."""
    from plumbline import campaign as loop
    from plumbline import settings as settings_file
    from plumbline.measure import Laboratory
    from plumbline.words import counted
    from plumbline.workbench import set_by_site, workbench
    from plumbline_db.connection import Database
    from plumbline_db.errors import PlumblineError

    settings = settings_file.load(campaign_file, overrides(options))
    bench = workbench(mpi_prefix, settings=settings, beside=database.parent)
    site = set_by_site(bench)
    if site:
        raise PlumblineError(f"{'; '.join(site)}: take it out of that file while a campaign runs")
    ranks = loop.starter(bench, settings)
    loop.check(bench, settings, ranks)
    with Database.open(database, write=True) as db:
        campaign = loop.begin(db, bench, settings, new=new)
        if campaign.state == "finished":
            if output is not None:
                click.echo(
                    f"plumbline: campaign {campaign.id} is finished already; its files are written "
                    f"elsewhere with `plumbline export env json --output {output}`",
                    err=True,
                )
            return campaign.id, database
        folder = output or database.parent / "exports" / campaign.id
        if campaign.oversubscribed:
            click.echo(
                f"plumbline: {campaign.nprocs} ranks on "
                f"{counted(bench.machine.processing_units, 'processing unit')}: oversubscribed, "
                "and marked as such",
                err=True,
            )
        with common.Bar(settings.budget_seconds) as bar:
            lab = Laboratory(db, campaign.id, ranks, bar)
            loop.Loop(lab, bench, campaign, settings, folder).run()
    return campaign.id, database


def overrides(options: dict[str, Any]) -> dict[str, Any]:
    """Options under the names of the campaign file, lists split."""
    values = {name.rstrip("_"): value for name, value in options.items() if value is not None}
    try:
        if "sizes" in values:
            values["sizes"] = [int(word) for word in values["sizes"].split(",")]
    except ValueError:
        raise click.UsageError("--sizes takes whole numbers with commas between") from None
    for name in ("guidelines", "functions", "variants"):
        if name in values:
            values[name] = [word.strip() for word in values[name].split(",")]
    return values
