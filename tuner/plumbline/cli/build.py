"""plumbline build"""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from plumbline_db.errors import PlumblineError, typed

from . import base, common
from .base import ProgramOptions


@base.command("build", takes="mpi json")
@click.argument("mpicc", required=False)
def command(program: ProgramOptions, mpicc: str | None) -> None:
    """Build the C programs for an MPI library: probe, preload library, recorder.

    They are made for the library behind MPICC, a compiler wrapper, else for that of --mpi, else for
    that on PATH. A C compiler, make, hwloc and xxHash must be there; what is missing is named. They
    go into the user's state folder, in a checkout into its build folder. MPICC=smpicc: for
    simulated machines.

    JSON: mpi_id, mpicc, programs (paths), seconds.

    \b
    Example:
      plumbline build --mpi /opt/openmpi-5.0.9
    """
    from plumbline.settings import building
    from plumbline.system import paths

    wrapper, environment = _wrapper(program.mpi, mpicc)
    click.echo(f"building with {wrapper}; this takes half a minute", err=True)
    built = building.build(paths.layout(), wrapper, environment)
    if program.json:
        common.print_json(built)
        return
    click.echo(f"built for {built.mpi_id} in {built.seconds:.0f} s:")
    for path in built.programs:
        click.echo(f"  {path}")
    click.echo(f"next: {typed('doctor')}, {typed('campaign')}")


def _wrapper(prefix: Path | None, mpicc: str | None) -> tuple[Path, dict[str, str]]:
    """The compiler wrapper, and what the library's module sets."""
    from plumbline import libraries

    if mpicc is not None:
        wrapper = shutil.which(mpicc)
        if wrapper is None:
            raise PlumblineError(f"{mpicc} does not exist: name the mpicc of an installation")
        return Path(wrapper).absolute(), {}
    _, installation = libraries.find(prefix)
    if installation.mpicc is None:
        raise PlumblineError(
            f"{installation.library.version_string} has no mpicc beside {installation.mpirun}: "
            "install what it needs for compiling (Debian: libopenmpi-dev), or name MPICC"
        )
    return installation.mpicc, installation.environment
