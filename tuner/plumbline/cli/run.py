"""plumbline run"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from . import common


@click.command(
    "run",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "allow_interspersed_args": False,
    },
)
@click.argument("application", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("--no-proof", is_flag=True, help="Do not spend a second on the canaries.")
@common.winners_option
@common.mpi_option
@common.db_option
def command(
    application: tuple[str, ...],
    no_proof: bool,
    campaign: str | None,
    mpi_prefix: Path | None,
    db_path: Path | None,
) -> None:
    """Start an application with the winners in force.

    Sources the files that the campaign exported and confirmed, shows with canaries that they are
    in force, and then becomes the application's mpirun.

    \b
    Example:
      plumbline run -- mpirun -np 4 ./application
    """
    from plumbline.campaign import in_force
    from plumbline.settings import ranks_asked

    program = shutil.which(application[0])
    if program is None:
        raise click.UsageError(f"{application[0]} is not on PATH")
    files = in_force.files(common.database(db_path), campaign, mpi_prefix)
    if files.note:
        click.echo(f"plumbline: {files.note}", err=True)
    environment = in_force.environment(files)
    if not no_proof:
        for statement in in_force.proven(files, environment):
            click.echo(f"plumbline: {statement}", err=True)
    asked = ranks_asked.ranks(application)
    click.echo(f"plumbline: {in_force.applying(files, asked)}", err=True)
    elsewhere = in_force.elsewhere(files, application)
    if elsewhere:
        click.echo(f"plumbline: {elsewhere}", err=True)
    os.execve(program, list(application), environment)  # noqa: S606 - becomes the user's command
