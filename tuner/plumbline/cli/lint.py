"""plumbline lint"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import base, common, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline_exporters.lint.formats import Linted


@base.command("lint", takes="mpi json")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@options.option("--format", "format_name", default="", unset="seen", help="What the files are.")
@options.option(
    "--library",
    default="",
    unset="that of --mpi, else all versions that are known",
    help="Whom they are for, as openmpi-5.0.11.",
)
@options.listing
def command(
    program: ProgramOptions, files: tuple[Path, ...], format_name: str, library: str, listing: bool
) -> int:
    """What is wrong with files that set an MPI library's collectives.

    Rules files, parameter files, tables and environments, whoever wrote them; rules files and
    tables that one of them names are looked at too. Nothing is started. Exit code 3 if there is
    anything to say.

    \b
    Example:
      plumbline lint --library openmpi-5.0.11 decision.file ~/.openmpi/mca-params.conf
    """
    from plumbline import libraries
    from plumbline.libraries import space_file
    from plumbline.system import paths
    from plumbline_exporters.families import Context, check_library
    from plumbline_exporters.lint.formats import formats, lint

    if listing:
        for format in formats().values():
            click.echo(f"{format.name:15} {format.summary}")
        return 0
    if not files:
        raise click.UsageError("name a file")
    if program.mpi is not None:
        if library:
            raise click.UsageError("--library and --mpi both name the library: use one of them")
        library = libraries.find(program.mpi)[1].library.id
    if library:
        check_library(library)
    context = Context(library, space_file.known_parameters(paths.layout().search_spaces))
    linted = [linted for path in files for linted in lint(path, context, format_name)]
    if program.json:
        common.print_json(linted)
    else:
        for checked in linted:
            _show(checked)
    return common.VIOLATIONS_FOUND if any(checked.wrong for checked in linted) else 0


def _show(linted: Linted) -> None:
    named = f", named in {linted.named_in}" if linted.named_in else ""
    click.echo(f"{linted.path}: {linted.format}{named}: {_count(linted)}")
    for finding in linted.findings:
        where = f"{linted.path}:{finding.line}" if finding.line else linted.path
        click.echo(f"{where}: {finding.effect}: {finding.reason} [{finding.trap}]")
        click.echo(f"    repair: {finding.repair}")


def _count(linted: Linted) -> str:
    wrong, unchecked = len(linted.wrong), len(linted.findings) - len(linted.wrong)
    words = f"{wrong} finding{'s' * (wrong > 1)}" if wrong else "nothing to say"
    return f"{words}, {unchecked} not checked" if unchecked else words
