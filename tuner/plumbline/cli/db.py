"""plumbline db"""

from __future__ import annotations

from pathlib import Path

import click

from . import common


@click.group("db", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Check the database, or back it up.

    \b
    Example:
      plumbline db check && plumbline db backup /safe/plumbline.db
    """


@command.command("check")
@common.db_option
@common.json_option
def check(db_path: Path | None, as_json: bool) -> int:
    """Say whether the file is whole, and how to get it back if not. Exit code 1 if it is not.

    \b
    Example:
      plumbline db check --json
    """
    from plumbline_db import connection, way_back

    path = common.database(db_path)
    problems = connection.check(path)
    if as_json:
        remedy = way_back.remedy(path) if problems else ""
        common.print_json({"path": str(path), "problems": problems, "remedy": remedy})
    else:
        for problem in problems:
            click.echo(problem)
        click.echo(f"{path}: {f'not whole; {way_back.remedy(path)}' if problems else 'whole'}")
    return 1 if problems else 0


@command.command("backup")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@common.db_option
@common.json_option
def backup(target: Path, db_path: Path | None, as_json: bool) -> None:
    """Copy the database to TARGET while it is in use.

    \b
    Example:
      plumbline db backup /safe/plumbline.db
    """
    from plumbline_db import connection

    connection.backup(common.database(db_path), target)
    common.print_json({"path": str(target)}) if as_json else click.echo(str(target))
