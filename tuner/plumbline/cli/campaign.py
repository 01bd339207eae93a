"""plumbline campaign"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import common, running


@click.command("campaign", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--budget", "budget_seconds", type=float, help="Seconds after which nothing is begun."
)
@click.option("--rounds", type=int, help="How often violations open searches (default 4).")
@click.option(
    "--output",
    type=common.NewFolder(),
    help="Folder of the exported files (default: beside the database).",
)
@click.option("--variants", help="Variants to try, with commas between (default: all of ours).")
@click.option("--unsafe", is_flag=True, default=None, help="Also what some programs cannot bear.")
@running.settings_options
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

    from . import tables

    campaign_id, database = running.run(
        campaign_file,
        options,
        new=new,
        mpi_prefix=mpi_prefix,
        database=common.database(db_path),
        output=output,
    )
    found = running.report_of(database, campaign_id)
    if as_json:
        common.print_json(report.document(found))
    else:
        common.show(*tables.of(found, guidelines.load(), all_rows=False))
