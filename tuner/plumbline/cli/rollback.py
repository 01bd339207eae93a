"""plumbline rollback"""

from __future__ import annotations

import click

from plumbline_db.errors import PlumblineError, UsageError

from . import apply, applying, base
from .base import Program


@base.command(
    "rollback",
    gathers={"change": applying.ApplyRequest},
    takes="mpi json",
    also=apply.command.but("unsafe", "no_proof", "campaign"),
)
@click.option("--all", "everything", is_flag=True, help="Take out everything, not the last alone.")
@click.option("--name", help="Whose (openmpi, mpich …), where there are several.")
def command(
    program: Program,
    change: applying.ApplyRequest,
    everything: bool,
    name: str | None,
) -> int:
    """Take out what `plumbline apply` applied last.

    What was applied before is applied again. What others have written into the same files stays.

    \b
    Example:
      plumbline rollback --user --dry-run && plumbline rollback --user
    """
    from plumbline.applied import places, rollback

    scope = change.scope
    root = places.root_of(scope, change.modules, change.store) or places.site_root(
        program.mpi, name
    )
    names = rollback.names_in(root)
    if names and name is not None:
        if name not in names:
            raise UsageError(f"{name} was not applied there; applied are: {', '.join(names)}")
        names = [name]
    if not names:
        raise PlumblineError(
            f"nothing was applied there: {root} contains no generations (give the same --store "
            "or --mpi as to plumbline apply)"
        )
    if len(names) > 1:
        names = [name for name in names if rollback.is_in_force(scope, root, name)] or names[:1]
    if len(names) > 1:
        raise UsageError(f"several are applied: choose one with --name: {', '.join(names)}")
    done = rollback.rollback(
        scope, root, names[0], everything=everything, force=change.force, dry_run=change.dry_run
    )
    return applying.show(done, as_json=program.json)
