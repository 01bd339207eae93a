"""plumbline apply"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from plumbline_db.errors import PlumblineError, UsageError

from . import base, common, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.applied.apply import Wish
    from plumbline.applied.targets import AppliedOutcome, Place, Scope

_FOLDER = click.Path(path_type=Path, file_okay=False)
_LAST = "last"  # the value of --undo without one


class ApplyRequest(NamedTuple):
    """Whose files are changed, and how."""

    user: bool
    site: bool
    modules: Path | None
    store: Path | None
    dry_run: bool
    force: bool

    @property
    def scope(self) -> Scope:
        if self.user + self.site + (self.modules is not None) != 1:
            raise click.UsageError("name the place: one of --user, --site and --modules DIR")
        return "user" if self.user else "site" if self.site else "modules"


class ApplyChoice(NamedTuple):
    """The choice of winners, and how they are checked."""

    unsafe: bool
    no_proof: bool
    campaign: str | None


@base.command(
    "apply", gathers={"change": ApplyRequest, "kept": ApplyChoice}, takes="mpi db json campaign"
)
@click.option("--user", is_flag=True, help="For yourself alone.")
@click.option("--site", is_flag=True, help="For everybody.")
@click.option("--modules", type=_FOLDER, metavar="DIR", help="In a tree of modulefiles.")
@click.option("--store", type=_FOLDER, help="Folder of the files that these lines name.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option("--force", is_flag=True, help="Also where our lines were changed by hand.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value=_LAST,
    metavar="[NAME][,all]",
    help="Remove what was applied last (all: everything); NAME (openmpi, mpich …) is needed only "
    "if several are applied.",
)
@options.unsafe
@options.no_proof
def command(
    program: ProgramOptions, change: ApplyRequest, kept: ApplyChoice, undo: str | None
) -> int:
    """Apply the winners of a campaign for a user or a site.

    Copies them into a folder of their own, and puts a few marked lines into the files that the
    library or login shells read, which are shown as a diff. Campaigns for other numbers of ranks
    stay applied. Short launches check that the library uses what was written: it must reject a
    deliberately wrong setting. Exit code 3 if it does not. With --undo the lines are removed, and
    what was applied before is applied again; what others wrote into the same files stays.

    \b
    Example:
      plumbline apply --user --dry-run && plumbline apply --user
      plumbline apply --undo --user
    """
    if undo is None:
        return _apply(program, change, kept)
    if any(kept):
        raise UsageError("--undo removes what is applied: leave out --campaign and --unsafe")
    return _undo(program, change, undo)


def _apply(program: ProgramOptions, change: ApplyRequest, kept: ApplyChoice) -> int:
    from plumbline.applied import apply, targets
    from plumbline.results import putting_in_use
    from plumbline.settings import default_campaign, identity

    scope = change.scope
    with program.open() as db:
        choice = default_campaign.choose(db, kept.campaign, program.mpi)
        wish = putting_in_use.wish(
            db, choice.campaign, program.mpi, unsafe=kept.unsafe, force=change.force
        )
    common.remark(choice.note)
    place = targets.place(scope, wish.family, wish.installation, change.modules, change.store)
    done = apply.apply(place, wish, now=identity.now(), dry_run=change.dry_run)
    if not change.dry_run:
        done = _checked(program, done, place, wish, no_proof=kept.no_proof)
    return _show(done, as_json=program.json)


def _undo(program: ProgramOptions, change: ApplyRequest, text: str) -> int:
    from plumbline.applied import standing, targets

    words = text.split(",")
    everything = words[-1] == "all"
    names_asked = [word for word in words if word not in ("all", _LAST)]
    if len(names_asked) > 1 or "" in names_asked:
        raise UsageError(f"--undo {text}: give a name, all, or NAME,all")
    scope = change.scope
    root = targets.root_of(scope, change.modules, change.store) or targets.site_root(
        program.mpi, names_asked[0] if names_asked else None
    )
    names = standing.names_in(root)
    if not names:
        raise PlumblineError(
            f"nothing was applied there: {root} contains no generations (give the same --store "
            "or --mpi as to plumbline apply)"
        )
    if names_asked and names_asked[0] not in names:
        raise UsageError(f"{names_asked[0]} was not applied there; applied are: {', '.join(names)}")
    names = names_asked or names
    if len(names) > 1:
        names = [name for name in names if standing.is_in_force(scope, root, name)] or names[:1]
    if len(names) > 1:
        raise UsageError(f"several are applied: choose one with --undo NAME: {', '.join(names)}")
    done = standing.rollback(
        scope, root, names[0], everything=everything, force=change.force, dry_run=change.dry_run
    )
    return _show(done, as_json=program.json)


def _checked(
    program: ProgramOptions, done: AppliedOutcome, place: Place, wish: Wish, *, no_proof: bool
) -> AppliedOutcome:
    """Return `done` with what the library reports, and what tamper checks show."""
    from plumbline.applied import standing
    from plumbline.applied.generations import Store
    from plumbline.campaign import applied_proof

    done = standing.noted(done, place, wish.family, wish.installation)
    store = Store(place.root, place.name, shared=place.shared)
    generation = store.read(done.generation)
    if no_proof or generation is None or done.not_in_force:
        reasons = [] if done.not_in_force else [applied_proof.NOT_ASKED]
        return msgspec.structs.replace(done, not_checked=reasons)
    folder = store.path(generation.number)
    check = applied_proof.check(generation, folder, program.mpi, program.database)
    return msgspec.structs.replace(
        done, active=check.active, not_in_force=check.not_active, not_checked=check.not_checked
    )


def _show(done: AppliedOutcome, *, as_json: bool) -> int:
    """The exit status: 3 where the library does not use what was written."""
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
    common.remark(*(f"active: {text}" for text in done.active))
    common.remark(*(f"not checked: {text}" for text in done.not_checked))
    common.remark(*(f"NOT ACTIVE: {text}" for text in done.not_in_force))
    campaigns = ", ".join(done.campaigns) or "nothing"
    verb = "would be applied" if done.changes and done.dry_run else "applied"
    nothing = "" if done.changes else "nothing to change; "
    number = f" (generation {done.generation} of {done.name})" if done.generation else ""
    common.remark(f"{nothing}{verb}: {campaigns}{number}")
    return status
