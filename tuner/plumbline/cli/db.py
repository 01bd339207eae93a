"""plumbline db"""

from __future__ import annotations

from pathlib import Path

import click

from . import base, common
from .base import Program


@click.group("db", cls=base.Group)
def command() -> None:
    """Check the database, or back it up.

    \b
    Example:
      plumbline db check && plumbline db backup /safe/plumbline.db
    """


@command.command("check", takes="db json")
def check(program: Program) -> int:
    """Say whether the file is whole, and how to get it back if not. Exit code 1 if it is not.

    \b
    Example:
      plumbline db check --json
    """
    from plumbline_db import connection, way_back

    path = program.database
    problems = connection.check(path)
    if program.json:
        remedy = way_back.remedy(path) if problems else ""
        common.print_json({"path": str(path), "problems": problems, "remedy": remedy})
    else:
        for problem in problems:
            click.echo(problem)
        click.echo(f"{path}: {f'not whole; {way_back.remedy(path)}' if problems else 'whole'}")
    return 1 if problems else 0


@command.command("backup", takes="db json")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def backup(program: Program, target: Path) -> None:
    """Copy the database to TARGET while it is in use.

    \b
    Example:
      plumbline db backup /safe/plumbline.db
    """
    from plumbline_db import connection

    connection.backup(program.database, target)
    common.print_json({"path": str(target)}) if program.json else click.echo(str(target))
