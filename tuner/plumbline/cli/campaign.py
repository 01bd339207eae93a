"""plumbline campaign"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import common, running


@click.command("campaign", context_settings={"help_option_names": ["-h", "--help"]})
@running.key_option("budget_seconds", "--budget", "budget_seconds", type=float)
@running.key_option("rounds", type=int)
@click.option(
    "--output",
    type=common.NewFolder(),
    help="Folder of the exported files (default: beside the database).",
)
@running.key_option("variants")
@running.key_option("all", is_flag=True, default=None)
@running.key_option("settings", is_flag=True, default=None)
@running.key_option("unsafe", is_flag=True, default=None)
@click.option(
    "--against-loops",
    is_flag=True,
    help="Then check the winners by programs that are not the campaign's own (plumbline check).",
)
@running.settings_options
def command(
    campaign_file: Path | None,
    against_loops: bool,
    output: Path | None,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure, verify, search, confirm, export: the whole loop.

    The same settings on the same machine and library are the same campaign: run again, it
    continues, or reports what it found. Settings come from CAMPAIGN_FILE (TOML; keys in
    docs/campaign.md) and from options, which win. A file that names several libraries
    or layouts is several campaigns, shown side by side. Exit code 3 if a result was wrong.

    \b
    Example:
      plumbline campaign --nprocs 4 --sizes 1024,16384,65536 --guidelines GL12,GL13
    """
    from plumbline.core import guidelines
    from plumbline.results import report

    from . import tables

    if as_json and against_loops:
        raise click.UsageError("--against-loops shows tables; use `plumbline check --json` then")
    ran = running.run(
        campaign_file,
        options,
        new=new,
        mpi_prefix=mpi_prefix,
        database=common.database(db_path),
        output=output,
    )
    found = ran.reports()
    if as_json:
        common.print_json(report.documents(found))
    elif len(found) == 1:
        common.show(*tables.of(found[0], guidelines.load(), all_rows=False))
    elif found:
        common.show(*tables.side_by_side(found, guidelines.load(), all_rows=False))
    ran.require_all()
    status = common.VIOLATIONS_FOUND if any(each.wrong for each in found) else 0
    if not against_loops:
        return status
    pairs = zip(ran.ids, ran.prefixes, strict=True)
    return max(status, *(_check(id, prefix, ran.database) for id, prefix in pairs))


def _check(campaign: str, mpi_prefix: Path | None, database: Path) -> int:
    """The exit code of an acceptance test of a campaign's winners, which is shown."""
    from plumbline.campaign import in_force
    from plumbline.check import acceptance, installed

    from . import check_tables

    files = in_force.files(database, campaign, mpi_prefix)
    if not files.winners or files.settings.ranks.simulate is not None:
        click.echo(f"plumbline: {campaign} has no winners that a program could check", err=True)
        return 0
    programs = installed.programs(files, None, None, acceptance.ITERATIONS)
    with common.Bar() as bar:
        found = acceptance.run(files, programs=programs, progress=bar)
    common.show(*check_tables.of(found))
    return common.VIOLATIONS_FOUND if found.slower() else 0
