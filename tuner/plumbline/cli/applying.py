"""What `plumbline apply` and `plumbline rollback` share: the place that is meant, what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import common

if TYPE_CHECKING:
    from plumbline.applied.outcome import AppliedOutcome
    from plumbline.applied.places import Scope


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
