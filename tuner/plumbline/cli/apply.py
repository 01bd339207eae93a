"""plumbline apply"""

from __future__ import annotations

from pathlib import Path

import click

from . import applying, base, common, options
from .base import Program

_FOLDER = click.Path(path_type=Path, file_okay=False)


# Rollback has all of these options except those of a campaign.
@base.command("apply", gathers={"change": applying.ApplyRequest}, takes="mpi db json campaign")
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
    change: applying.ApplyRequest,
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
    from plumbline.results import putting_in_use
    from plumbline.settings import default_campaign, identity
    from plumbline_db.connection import Database

    scope = change.scope
    with Database.open(program.database) as db:
        choice = default_campaign.choose(db, campaign, program.mpi)
        chosen_campaign = choice.campaign
        wish = putting_in_use.wish(
            db, chosen_campaign, program.mpi, unsafe=unsafe, force=change.force
        )
    common.remark(choice.note)
    place = places.place(scope, wish.family, wish.installation, change.modules, change.store)
    done = apply.apply(place, wish, now=identity.now(), dry_run=change.dry_run)
    if not change.dry_run:
        done = applying.checked(program, done, place, wish, no_proof=no_proof)
    return applying.show(done, as_json=program.json)
