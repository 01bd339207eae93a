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

    A campaign that searches nothing. Exit code 3 if a guideline is violated or a result is wrong.

    \b
    Example:
      plumbline verify --guidelines GL3,GL8 --json
    """
    from plumbline.core import guidelines
    from plumbline.results import report

    from . import tables

    ran = running.run(
        campaign_file,
        options | {"rounds": 0},
        new=new,
        mpi_prefix=mpi_prefix,
        database=common.database(db_path),
        output=None,
    )
    found = ran.reports()
    if as_json:
        common.print_json(report.documents(found, all_cells=True))
    elif len(found) == 1:
        common.show(*tables.of(found[0], guidelines.load(), all_rows=all_rows))
    elif found:
        common.show(*tables.side_by_side(found, guidelines.load(), all_rows=all_rows))
    ran.require_all()
    violated = any(verdict.verdict == "violated" for each in found for verdict in each.before)
    wrong = any(each.wrong for each in found)
    return common.VIOLATIONS_FOUND if violated or wrong else 0
