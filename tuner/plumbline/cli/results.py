"""plumbline results"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from plumbline_db.errors import UsageError, command_name, typed

from . import base, common, options
from .base import Program

if TYPE_CHECKING:
    from plumbline.results.report import Report
    from plumbline_db.connection import Database
    from plumbline_db.records import Campaign


class ShownResults(NamedTuple):
    """The results that are shown of the campaigns."""

    all_rows: bool
    picture: Path | None
    explain: bool
    measure: bool


@base.command(
    "results",
    gathers={"asked": ShownResults},
    takes="db json campaign",
    told={"campaign": {"unset": "the one started last"}},
)
@click.argument(
    "campaign_file",
    required=False,
    type=click.Path(path_type=Path, dir_okay=False),
)
@options.all_rows
@options.listing
@options.picture("Draw the tables before and after, or what explains them,")
@click.option(
    "--explain",
    is_flag=True,
    help="Why: what the default does, what cost models say, how far it is from a lower bound.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="With --explain: measure what the models need (some seconds, once a campaign).",
)
def command(
    program: Program,
    campaign_file: Path | None,
    asked: ShownResults,
    listing: bool,
    campaign: str | None,
) -> None:
    """What a campaign found, in short; with --all its violation tables, searches and costs.

    The campaigns of a file with several libraries or layouts are shown side by side:
    those of CAMPAIGN_FILE, or of the file that was run last.

    \b
    Example:
      plumbline results --json | jq '.winners[] | {function, bytes_from, speedup}'
      plumbline results --all
      plumbline results --explain --picture why.svg
    """
    from plumbline_db.connection import Database

    if listing:
        _list(program)
        return
    from plumbline.results import report

    in_short = not (
        asked.explain or asked.measure or program.json or asked.picture or asked.all_rows
    )
    with Database.open(program.database) as db:
        shown_campaigns = _wanted(db, campaign_file, campaign)
        in_tables = (asked.all_rows or len(shown_campaigns) > 1) and not (
            asked.explain or asked.measure
        )
        conditions = (program.json or in_tables) and asked.picture is None
        reports = [report.read(db, campaign, conditions=conditions) for campaign in shown_campaigns]
        if campaign is None:
            common.remark(*_in_use(db, shown_campaigns))
        if in_short and len(reports) == 1:
            from . import digest

            click.echo("\n".join(digest.read(db, reports[0])))
            return
    if asked.explain or asked.measure:
        from . import explanations

        explanations.show(
            program.database, reports, asked.picture, asked.all_rows, asked.measure, program.json
        )
    elif program.json and asked.picture is None:
        common.print_json(report.documents(reports, all_cells=asked.all_rows))
    elif asked.picture is not None:
        _draw(program.database, reports, asked.picture)
    else:
        from plumbline.core import guidelines

        from . import tables

        shown = tables.of_all(reports, guidelines.load(), all_rows=asked.all_rows)
        common.show(*shown, fit=True)


def _list(program: Program) -> None:
    from plumbline_db import campaigns
    from plumbline_db.connection import Database

    with Database.open(program.database) as db:
        every = campaigns.all_campaigns(db) + campaigns.tuned_overlap(db)
        if program.json:
            common.print_json(every)
            return
        for campaign in every:
            state, ranks = campaigns.state(db, campaign), f"{campaign.nprocs} ranks"
            click.echo(f"{campaign.id}  {state}  {ranks}  started {campaign.started}")


def _draw(database: Path, reports: list[Report], picture: Path) -> None:
    from plumbline.explain import before_after
    from plumbline_db.connection import Database

    with Database.open(database) as db:
        drawn = before_after.specification([before_after.read(db, report) for report in reports])
    common.draw(picture, drawn)
    click.echo(str(picture))


def _in_use(db: Database, shown: list[str]) -> list[str]:
    """Name the campaigns with winners in use on the machines, and with the libraries, of those
    that are shown, where they are others."""
    from plumbline_db import campaigns

    def place(campaign: Campaign) -> tuple[str, str]:
        return campaign.machine, campaign.library_fingerprint

    last = {
        place(winners_campaign): winners_campaign for winners_campaign in campaigns.with_winners(db)
    }
    places = dict.fromkeys(place(campaigns.get(db, id)) for id in shown)
    others = [last[where] for where in places if where in last and last[where].id not in shown]
    if not others:
        return []
    from plumbline.settings import default_campaign

    return [
        f"the winners in use (`{command_name()} run`, `export`, `apply`) are those of "
        f"{default_campaign.described(db, other_campaign)}; "
        f"`{typed('results', '--campaign', other_campaign.id)}` "
        "shows it"
        for other_campaign in others
    ]


def _wanted(db: Database, file: Path | None, campaign: str | None) -> list[str]:
    """Ids of the campaigns to show: the one that is named, else those of the file that is named,
    else the one started last with those that were asked for together with it."""
    from plumbline_db import campaigns

    if campaign is not None and file is not None:
        raise UsageError("name a campaign file or --campaign, not both")
    if file is not None:
        together = campaigns.get_batch(db, str(file.absolute()))
        if not together:
            raise UsageError(
                f"{file} has run no several campaigns in this database; "
                f"`{typed('campaign', file)}` runs it, "
                f"`{command_name()} results --list` shows what there is"
            )
        return [campaign.id for campaign in together]
    last = campaigns.get(db, campaign).id
    batch = None if campaign is not None else campaigns.of(db, last)
    return [last] if batch is None else [campaign.id for campaign in campaigns.get_batch(db, batch)]
