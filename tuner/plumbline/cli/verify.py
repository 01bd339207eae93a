"""plumbline verify"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import common, running


@click.command("verify", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--all", "all_rows", is_flag=True, help="All rows, also where everything holds.")
@running.settings_options
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

    from . import tables

    campaign_id, database = running.run(
        campaign_file,
        options | {"rounds": 0},
        new=new,
        mpi_prefix=mpi_prefix,
        database=common.database(db_path),
        output=None,
    )
    found = running.report_of(database, campaign_id)
    if as_json:
        common.print_json(report.document(found, all_cells=True))
    else:
        common.show(*tables.of(found, guidelines.load(), all_rows=all_rows))
    violated = any(one.verdict == "violated" for one in found.before)
    return common.VIOLATIONS_FOUND if violated else 0
