"""plumbline results"""

from __future__ import annotations

from pathlib import Path

import click

from . import common


@click.command("results", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--all", "all_rows", is_flag=True, help="All rows, also where everything holds.")
@click.option("--list", "listing", is_flag=True, help="List the campaigns.")
@click.option(
    "--svg",
    type=common.NewFile(),
    help="Write the tables as a picture into this file instead.",
)
@common.campaign_option
@common.db_option
@common.json_option
def command(
    all_rows: bool,
    listing: bool,
    svg: Path | None,
    campaign: str | None,
    db_path: Path | None,
    as_json: bool,
) -> None:
    """Violation tables, winners and costs of a campaign.

    \b
    Example:
      plumbline results --json | jq '.winners[] | {function, bytes_from, speedup}'
    """
    import msgspec

    from plumbline import guidelines, report
    from plumbline_db import campaigns
    from plumbline_db.connection import Database

    from . import tables

    with Database.open(common.database(db_path)) as db:
        if listing:
            found = campaigns.all_campaigns(db)
            if as_json:
                common.print_json([msgspec.to_builtins(one) for one in found])
            for one in [] if as_json else found:
                click.echo(f"{one.id}  {one.state}  {one.nprocs} ranks  started {one.started}")
            return
        report_ = report.read(db, campaign)
    if svg is not None:
        from . import picture

        shown = tables.of(report_, guidelines.load(), all_rows=all_rows, paths=False)
        picture.write_svg(svg, shown, columns=150)
        click.echo(str(svg))
    elif as_json:
        common.print_json(report.document(report_, all_cells=all_rows))
    else:
        common.show(*tables.of(report_, guidelines.load(), all_rows=all_rows))
