"""plumbline verify"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import common


@click.command("verify", context_settings={"help_option_names": ["-h", "--help"]})
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
@click.option("--seed", type=int, help="Seed of orders and data (default 1).")
@click.option("--all", "all_rows", is_flag=True, help="All rows, also where everything holds.")
@click.option("--new", is_flag=True, help="Measure afresh, though it was measured before.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    campaign_file: Path | None,
    all_rows: bool,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure the library as it is and print its violation table.

    A campaign that searches nothing. Exit code 3 if a guideline is violated.

    \b
    Example:
      plumbline verify --guidelines GL3,GL8 --json
    """
    from plumbline import guidelines, report
    from plumbline_db.connection import Database

    from . import campaign, tables

    campaign_id, database = campaign.run(
        campaign_file,
        options | {"rounds": 0},
        new=new,
        mpi_prefix=mpi_prefix,
        database=common.database(db_path),
        output=None,
    )
    with Database.open(database) as db:
        found = report.read(db, campaign_id)
    if as_json:
        common.print_json(report.document(found, all_cells=True))
    else:
        common.show(*tables.of(found, guidelines.load(), all_rows=all_rows))
    violated = any(one.verdict == "violated" for one in found.before)
    return common.VIOLATIONS_FOUND if violated else 0
