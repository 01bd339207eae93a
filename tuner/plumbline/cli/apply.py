"""plumbline apply"""

from __future__ import annotations

import os
from pathlib import Path

import click

from plumbline.applied import apply as applying
from plumbline.applied import places, readback
from plumbline.applied.generations import Source
from plumbline.applied.outcome import AppliedOutcome
from plumbline.applied.places import Scope
from plumbline.libraries import fits
from plumbline.settings import default_campaign, identity
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_exporters.bundle import load_bundle

from . import base, common, options
from .base import Program

_FOLDER = click.Path(path_type=Path, file_okay=False)


# Rollback has all of them but those of a campaign.
@base.command("apply", takes="mpi db json campaign")
@click.option("--user", is_flag=True, help="For yourself alone.")
@click.option("--site", is_flag=True, help="For everybody.")
@click.option("--modules", type=_FOLDER, metavar="DIR", help="In a tree of modulefiles.")
@click.option("--store", type=_FOLDER, help="Folder of the files that these lines name.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option("--force", is_flag=True, help="Also where our lines were changed by hand.")
@options.unsafe
def command(
    program: Program,
    user: bool,
    site: bool,
    modules: Path | None,
    store: Path | None,
    dry_run: bool,
    force: bool,
    unsafe: bool,
    campaign: str | None,
) -> int:
    """Put the winners of a campaign in force for a user or a site.

    Copies them into a folder of their own, and puts a few marked lines into the files that the
    library or login shells read, which are shown as a diff; `plumbline rollback` takes them out.
    Campaigns for other numbers of ranks that were applied before stay in force. Exit code 3 if
    the library says that it does not read what was written.

    \b
    Example:
      plumbline apply --user --dry-run && plumbline apply --user
    """
    scope = scope_of(user, site, modules)
    with Database.open(program.database) as db:
        choice = default_campaign.choose(db, campaign, program.mpi)
        found = choice.campaign
        loaded = load_bundle(db, found.id, Path(), created="")
    if found.state != "finished":
        raise PlumblineError(
            f"campaign {found.id} is not finished, so it has no winners to apply; "
            "`plumbline campaign` goes on with it"
        )
    if not loaded.winners:
        raise PlumblineError(f"campaign {found.id} found nothing better than the default")
    try:
        family, installation = fits.installed(loaded.library, program.mpi)
    except PlumblineError as error:
        raise PlumblineError(f"campaign {found.id} is not applied: {error}") from error
    common.remark(choice.note)
    place = places.place(scope, family, installation, modules, store)
    wish = applying.Wish(
        source=Source(found, loaded.winners, loaded.site_rules, loaded.started),
        machine=loaded.machine,
        family=family,
        installation=installation,
        environment=dict(os.environ),
        unsafe=unsafe,
        force=force,
    )
    done = applying.apply(place, wish, now=identity.now(), dry_run=dry_run)
    if not dry_run:
        done = readback.noted(done, place, family, installation)
    return show(done, as_json=program.json)


def scope_of(user: bool, site: bool, modules: Path | None) -> Scope:
    if user + site + (modules is not None) != 1:
        raise click.UsageError("say for whom: one of --user, --site and --modules DIR")
    return "user" if user else "site" if site else "modules"


def show(done: AppliedOutcome, *, as_json: bool) -> int:
    """The exit status: 3 where the library does not read what was written."""
    status = common.VIOLATIONS_FOUND if done.not_in_force else 0
    if as_json:
        common.print_json(done)
        return status
    for change in done.changes:
        click.echo(change.diff, nl=False)
    would = "would be " if done.dry_run else ""
    for change in done.changes:
        past = {"create": "made", "change": "changed", "remove": "removed"}[change.action]
        link = f" (a link to {change.real})" if change.real else ""
        common.remark(f"{change.path}{link} {would or 'was '}{past}")
    common.remark(*done.left_out, *done.notes)
    common.remark(*(f"NOT IN FORCE: {text}" for text in done.not_in_force))
    campaigns = ", ".join(done.campaigns) or "nothing"
    if not done.changes:
        said = "nothing to change; in force is"
    else:
        said = "in force would be" if done.dry_run else "in force is"
    number = f" (generation {done.generation} of {done.name})" if done.generation else ""
    common.remark(f"{said} {campaigns}{number}")
    return status
