"""The parts that `plumbline apply` and `plumbline rollback` share: the place that is meant, what is
shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from . import common

if TYPE_CHECKING:
    from plumbline.applied.apply import Wish
    from plumbline.applied.places import Place, Scope
    from plumbline.applied.targets import AppliedOutcome

    from .base import Program


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


def checked(
    program: Program, done: AppliedOutcome, place: Place, wish: Wish, *, no_proof: bool
) -> AppliedOutcome:
    """Return `done` with what the library reports, and what tamper checks show."""
    from plumbline.applied import readback
    from plumbline.applied.generations import Store
    from plumbline.campaign import applied_proof

    done = readback.noted(done, place, wish.family, wish.installation)
    store = Store(place.root, place.name, shared=place.shared)
    generation = store.read(done.generation)
    if no_proof or generation is None or done.not_in_force:
        reasons = [] if done.not_in_force else [applied_proof.NOT_ASKED]
        return msgspec.structs.replace(done, not_checked=reasons)
    folder = store.path(generation.number)
    check = applied_proof.check(generation, folder, program.mpi, program.database)
    return msgspec.structs.replace(
        done,
        active=check.active,
        not_in_force=check.not_active,
        not_checked=check.not_checked,
    )


def show(done: AppliedOutcome, *, as_json: bool) -> int:
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
