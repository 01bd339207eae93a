"""plumbline run"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from . import base, options
from .base import Program


@base.command("run", takes="mpi db campaign", context_settings={"allow_interspersed_args": False})
@click.argument("application", nargs=-1, type=click.UNPROCESSED, required=True)
@options.no_proof
def command(
    program: Program, application: tuple[str, ...], no_proof: bool, campaign: str | None
) -> None:
    """Start an application with the winners in force.

    Sources the files that the campaign exported and confirmed, shows with canaries that they are
    in force, and then becomes the application's mpirun, srun or the like. At the end rank 0 says in
    a line which calls were replaced (not with PLUMBLINE_SAY=nothing in the environment).

    \b
    Example:
      plumbline run -- mpirun -np 4 ./application
    """
    from plumbline.campaign import in_force
    from plumbline.settings import ranks_asked

    binary = shutil.which(application[0])
    if binary is None:
        raise click.UsageError(f"{application[0]} is not on PATH")
    files = in_force.files(program.database, campaign, program.mpi)
    if files.note:
        click.echo(f"plumbline: {files.note}", err=True)
    environment = in_force.environment(files)
    if not no_proof:
        for statement in in_force.proven(files, environment):
            click.echo(f"plumbline: {statement}", err=True)
    environment = in_force.for_program(environment, Path(binary))
    asked = ranks_asked.of(application, os.environ, Path(binary)).ranks
    click.echo(f"plumbline: {in_force.applying(files, asked)}", err=True)
    elsewhere = in_force.elsewhere(files, application)
    if elsewhere:
        click.echo(f"plumbline: {elsewhere}", err=True)
    os.execve(binary, list(application), environment)  # noqa: S606 - becomes the user's command
