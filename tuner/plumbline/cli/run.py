"""plumbline run"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import base, common, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.campaign.in_force import ActiveFiles
    from plumbline.results.saving import SavedCalls, Saving

_MOST_NAMED = 4  # functions, or volumes that nobody has measured, in a line


@base.command(
    "run", takes="mpi db campaign json", context_settings={"allow_interspersed_args": False}
)
@click.argument("application", nargs=-1, type=click.UNPROCESSED, required=True)
@options.option(
    "--output",
    type=options.NewFile(),
    help="Also say what the winners save; the calls go into this file, as of `plumbline profile`.",
)
@click.option(
    "--tune",
    type=options.Duration(),
    help="First measure what is unknown of the application's calls, for so long at most: 90s, "
    "2m, 2m30s (docs/application.md).",
)
@options.no_proof
def command(
    program: ProgramOptions,
    application: tuple[str, ...],
    output: Path | None,
    tune: float | None,
    no_proof: bool,
    campaign: str | None,
) -> int:
    """Start an application with the winners in force.

    Sources the files that the campaign exported and confirmed, shows with canaries that they are
    in force where the application's own launcher puts its ranks, and then becomes that mpirun, srun
    or the like. At the end rank 0 says in a line which calls were replaced (not with
    PLUMBLINE_SAY=nothing in the environment). With --output every rank counts and times its calls,
    and what is saved is said behind it, on the ground of the campaign's paired launches.

    \b
    Example:
      plumbline run -- mpirun -np 4 ./application
      plumbline run --output calls.json -- srun -n 64 ./application
    """
    from plumbline.campaign import in_force
    from plumbline.settings import ranks_asked

    binary = common.launcher(application)
    if tune is not None:
        if campaign is not None or output is not None or program.json:
            raise click.UsageError("--tune takes neither --campaign, --output nor --json")
        return _tuned(program, application, binary, tune, no_proof=no_proof)
    files = in_force.files(program.database, campaign, program.mpi)
    common.remark(files.note)
    environment = in_force.environment(files)
    start = ranks_asked.of(application, os.environ, binary)
    shown = in_force.unproven(start)
    if not no_proof:
        shown = in_force.shown(files, environment, start, program.database.absolute().parent)
    common.remark(*shown.statements, in_force.applying(files, environment, shown))
    common.remark(in_force.elsewhere(files, application))
    environment = in_force.for_program(environment, binary)
    if output is None:
        os.execve(binary, list(application), environment)  # noqa: S606 - becomes the user's command
    return _recorded(program, application, output, files, environment)


def _tuned(
    program: ProgramOptions,
    application: Sequence[str],
    binary: Path,
    seconds: float,
    *,
    no_proof: bool,
) -> int:
    """Tune within the seconds, then run the application; return its exit status. Nothing that
    fails before, not even an error in Plumbline, keeps the application from being started."""
    try:
        from plumbline.results import tuning

        request = tuning.TunedCommand(
            program.database, program.mpi, application, binary, seconds, proves=not no_proof
        )
        prepared = tuning.prepare(request, common.remark)
        return tuning.run(request, prepared, common.remark)
    except Exception as error:
        words = str(error) or type(error).__name__
        common.remark(f"not tuned: {words}; the application runs as it is")
        os.execve(binary, list(application), dict(os.environ))  # noqa: S606 - the user's command


def _recorded(
    program: ProgramOptions,
    application: Sequence[str],
    output: Path,
    files: ActiveFiles,
    environment: dict[str, str],
) -> int:
    """Runs it to its end, and says what was saved; the application's exit status."""
    from plumbline.core.application import write
    from plumbline.results import profiling, saving

    toolchain = files.toolchain
    beside = output.absolute().parent
    profile = profiling.profile_with(
        application, toolchain.family, toolchain.installation, beside, environment
    )
    write(output, profile)
    saved = saving.of_finished(program.database, files.campaign.id, profile)
    if program.json:
        common.print_json(saved)
    common.remark(*_lines(saved, files))
    return profile.status


def _lines(saved: Saving, files: ActiveFiles) -> Iterator[str]:
    if not saved.decided and not saved.unmeasured:
        yield f"saved: nothing; no winner of {files.campaign.id} decides a call that was made"
        return
    if saved.decided:
        low, high = saved.saving_low_seconds or 0.0, saved.saving_high_seconds or 0.0
        yield (
            f"saved, a rank on the average: {saved.saving_seconds:.3g} s [{low:.3g}, {high:.3g}], "
            f"in {saved.run_seconds:.3g} s, by paired launches of {files.campaign.id}: "
            + _few([f"{name} {gain}" for name, gain in _by_function(saved.decided)])
        )
    if saved.unmeasured:
        volumes = [
            f"{row.calls:.6g} of {row.function} at {row.bytes} B" for row in saved.unmeasured
        ]
        yield f"no measurement of this size: {_few(volumes)}"


def _by_function(rows: Sequence[SavedCalls]) -> Iterator[tuple[str, str]]:
    """Return the savings by function, the function with most saved calls first."""
    calls: dict[str, tuple[float, float]] = {}
    for row in rows:
        number, seconds = calls.get(row.function, (0.0, 0.0))
        calls[row.function] = (number + row.calls, seconds + (row.saving_seconds or 0.0))
    for name, (number, seconds) in sorted(calls.items(), key=lambda item: -item[1][1]):
        yield name, f"{seconds:.3g} s in {number:.6g} call{'s' if number != 1 else ''}"


def _few(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return ", ".join(words[:_MOST_NAMED]) + more
