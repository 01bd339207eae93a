"""plumbline apply"""

from __future__ import annotations

import os
from pathlib import Path

import click

from plumbline_db.errors import PlumblineError

from . import applying, base, common, options
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
@options.no_proof
def command(
    program: Program,
    user: bool,
    site: bool,
    modules: Path | None,
    store: Path | None,
    dry_run: bool,
    force: bool,
    unsafe: bool,
    no_proof: bool,
    campaign: str | None,
) -> int:
    """Apply the winners of a campaign for a user or a site.

    Copies them into a folder of their own, and puts a few marked lines into the files that the
    library or login shells read, which are shown as a diff; `plumbline rollback` takes them out.
    Campaigns for other numbers of ranks stay applied. Short launches check that the library uses
    what was written: it must reject a deliberately wrong setting. Exit code 3 if it does not.

    \b
    Example:
      plumbline apply --user --dry-run && plumbline apply --user
    """
    from plumbline.applied import apply, places
    from plumbline.applied.generations import Source
    from plumbline.libraries import fits, gate
    from plumbline.results import putting_in_use
    from plumbline.settings import default_campaign, identity
    from plumbline_db import command_lines
    from plumbline_db.connection import Database
    from plumbline_exporters.bundle import load_bundle

    scope = applying.scope_of(user, site, modules)
    with Database.open(program.database) as db:
        choice = default_campaign.choose(db, campaign, program.mpi)
        found = choice.campaign
        if found.state != "finished":
            raise PlumblineError(
                f"campaign {found.id} is not finished, so it has no winners to apply; "
                f"{command_lines.to_continue(db, found)}"
            )
        loaded = load_bundle(db, found.id, Path(), gate.of_library, created="")
        instead = putting_in_use.command(db, found, loaded.winners)
    if not loaded.winners:
        raise PlumblineError(f"campaign {found.id} found nothing better than the default")
    try:
        family, installation = fits.installed(loaded.library, program.mpi)
    except PlumblineError as error:
        raise PlumblineError(f"campaign {found.id} is not applied: {error}") from error
    common.remark(choice.note)
    place = places.place(scope, family, installation, modules, store)
    source = Source(found, loaded.winners, loaded.site_rules, loaded.started)
    what = (source, loaded.machine, family, installation)
    wish = apply.Wish(*what, dict(os.environ), unsafe=unsafe, force=force, instead=instead)
    done = apply.apply(place, wish, now=identity.now(), dry_run=dry_run)
    if not dry_run:
        done = applying.checked(program, done, place, wish, no_proof=no_proof)
    return applying.show(done, as_json=program.json)
