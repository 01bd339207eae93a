"""plumbline profile"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plumbline.system.words import counted

from . import base, common, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.table import Table

    from plumbline.core.application import Application

_ROWS = 15


@base.command("profile", takes="mpi", context_settings={"allow_interspersed_args": False})
@click.argument("application", nargs=-1, type=click.UNPROCESSED)
@options.option(
    "--output",
    type=options.NewFile(),
    default="application.json",
    help="File for the profile, in a folder that all nodes see.",
)
@click.option(
    "--show",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Print what is read of a profile, also of mpiP, mpisee or Score-P, and start nothing.",
)
def command(
    program: ProgramOptions, application: tuple[str, ...], output: Path, show: Path | None
) -> int:
    """Record which collectives an application calls, with what sizes, and how long they take.

    Starts the application's mpirun as it is, with the preload library in its ranks, which counts
    and times calls by function, volume and communicator; what is sent is not looked at. A campaign
    with this file (--profile) spends its budget where the application spends its time. The exit
    status is the application's. The folder of a recording (plumbline record) in the place of the
    command is counted instead, and nothing is started.

    \b
    Example:
      plumbline profile --output my.json -- mpirun -np 4 ./application
      plumbline profile --output my.json my-recording
      plumbline campaign -n 4 --profile my.json
      plumbline profile --show app.4.12345.1.mpiP
    """
    if (show is None) == (not application):
        raise click.UsageError("name either a command to record, or a profile with --show")
    if show is not None:
        _show(show)
        return 0
    from plumbline.core.application import write

    profiled = _found(program, application, output)
    write(output, profiled)
    console = common.console(stderr=True)
    console.print(_table(profiled))
    kinds = counted(len(profiled.calls), "kind")
    common.remark(*_remarks(profiled), f"{output}: {kinds} of calls")
    return 0 if _is_recording(application) else profiled.status


def _show(path: Path) -> None:
    """Print the calls of a profile, whoever has written it, and what could not be read."""
    from plumbline.core import profile_file

    profile, left_out = profile_file.read_with_remarks(path)
    common.console().print(_table(profile))
    command = f", {' '.join(profile.command)}" if profile.command else ""
    click.echo(f"{path}: {profile.version}, {counted(profile.nprocs, 'rank')}{command}")
    common.remark(*_remarks(profile), *(f"{path}: {sentence}" for sentence in left_out))


def _is_recording(application: tuple[str, ...]) -> bool:
    return len(application) == 1 and Path(application[0]).is_dir()


def _found(program: ProgramOptions, application: tuple[str, ...], output: Path) -> Application:
    """Return the profile of a recording, or of a run."""
    if _is_recording(application):
        from plumbline.detect import calls as of_recording

        return of_recording.application(Path(application[0]))
    from plumbline.results import profiling

    binary = common.launcher(application)
    return profiling.profile(application, binary, program.mpi, output.absolute().parent)


def _table(profiled: Application) -> Table:
    spent, seconds = profiled.collective_seconds, profiled.seconds
    title = f"{spent:.3g} s of {seconds:.3g} s in collectives, a rank on the average"
    words = ("function", "bytes", "ranks", "nodes")
    numbers = ("calls", "seconds", "share", "not waiting")
    table = common.table(*words, *numbers, left=words, title=title)
    ranked = sorted(profiled.calls, key=lambda call_kind: -call_kind.seconds)
    for calls in ranked[:_ROWS]:
        table.add_row(
            calls.function,
            "?" if calls.bytes is None else str(calls.bytes),
            str(calls.nprocs),
            "?" if calls.nodes is None else str(calls.nodes),
            f"{calls.calls:.6g}",
            f"{calls.seconds:.3g}",
            f"{calls.seconds / (spent or 1):.1%}",
            f"{calls.work_seconds:.3g}",
        )
    if len(ranked) > _ROWS:
        rest = sum(calls.seconds for calls in ranked[_ROWS:])
        table.add_row(f"{len(ranked) - _ROWS} more", "", "", "", "", f"{rest:.3g}")
    return table


def _remarks(profiled: Application) -> list[str]:
    from plumbline.core.application import shapes

    lines = []
    shares = [f"{share:.0%} on {name}" for name, share in shapes(profiled) if share >= 0.01]
    if len(shares) > 1:
        lines.append(f"not waiting: {', '.join(shares)}; each is a campaign of its own")
    if profiled.finished < profiled.ranks:
        lines.append(
            f"{profiled.ranks - profiled.finished} of "
            f"{profiled.ranks} ranks did not reach MPI_Finalize; "
            "what they had called until then is counted"
        )
    if profiled.lost:
        lines.append(f"{profiled.lost} calls had no room in the record")
    return lines
