"""plumbline campaign"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import common


@click.command("campaign", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "campaign_file", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
@click.option("-n", "--nprocs", type=int, help="Ranks (default: all cores, at least four).")
@click.option("--sizes", help="Message sizes in bytes, with commas between.")
@click.option("--type", "type_", help="MPI datatype (default MPI_BYTE).")
@click.option("--op", help="MPI reduction operator (default MPI_BOR).")
@click.option("--root", type=int, help="Root of rooted functions (default 0).")
@click.option("--guidelines", help="Ids of guidelines, with commas between (default: all).")
@click.option("--launches", type=int, help="Launches of a first look (default 15).")
@click.option(
    "--budget", "budget_seconds", type=float, help="Seconds after which nothing is begun."
)
@click.option("--rounds", type=int, help="How often violations open searches (default 4).")
@click.option("--seed", type=int, help="Seed of orders and data (default 1).")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the exported files (default: beside the database).",
)
@click.option("--unsafe", is_flag=True, default=None, help="Also what some programs cannot bear.")
@click.option("--new", is_flag=True, help="Start afresh, though these settings were run before.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    campaign_file: Path | None,
    output: Path | None,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure, verify, search, confirm, export: the whole loop.

    The same settings on the same machine and library are the same campaign: run again, it
    continues, or reports what it found. Settings come from CAMPAIGN_FILE (TOML; keys in
    docs/campaign.md) and from options, which win.

    \b
    Example:
      plumbline campaign --nprocs 4 --sizes 1024,16384,65536 --guidelines GL12,GL13
    """
    from plumbline import guidelines, report

    campaign_id, database = run(
        campaign_file,
        options,
        new=new,
        mpi_prefix=mpi_prefix,
        database=common.database(db_path),
        output=output,
    )
    from plumbline_db.connection import Database

    from . import tables

    with Database.open(database) as db:
        found = report.read(db, campaign_id)
    if as_json:
        common.print_json(report.document(found))
    else:
        common.show(*tables.of(found, guidelines.load(), all_rows=False))


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
    from plumbline.workbench import workbench
    from plumbline_db.connection import Database

    settings = settings_file.load(campaign_file, overrides(options))
    bench = workbench(mpi_prefix)
    with Database.open(database, write=True) as db:
        campaign = loop.begin(db, bench, settings, new=new)
        if campaign.state == "finished":
            return campaign.id, database
        folder = output or database.parent / "exports" / campaign.id
        if campaign.oversubscribed:
            click.echo(
                f"plumbline: {campaign.nprocs} ranks on {bench.machine.processing_units} "
                "processing units: oversubscribed, and marked as such",
                err=True,
            )
        with common.Bar(settings.budget_seconds) as bar:
            lab = Laboratory(db, campaign.id, loop.starter(bench, settings), bar)
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
    if "guidelines" in values:
        values["guidelines"] = [word.strip() for word in values["guidelines"].split(",")]
    return values
