"""plumbline record"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plumbline_db.errors import UsageError

from . import base, common, options
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.detect.record import RecordingSummary

_SITES = 5


@base.command("record", takes="mpi json", context_settings={"allow_interspersed_args": False})
@click.argument(
    "application",
    metavar="APPLICATION...|RECORDING",
    nargs=-1,
    type=click.UNPROCESSED,
    required=True,
)
@options.option(
    "--output",
    type=options.NewFolder(),
    unset="recording",
    help="Folder for the recording, empty or new, that all nodes see.",
)
@options.option(
    "--limit",
    type=options.CountType(1, 1 << 20),
    default=256,
    help="MiB a rank; events behind that are counted, not kept.",
)
@click.option(
    "--convert",
    "form",
    type=click.Choice(["otf2", "simgrid"]),
    help="Write this RECORDING into the folder --output, in the format of another tool.",
)
def command(
    program: ProgramOptions,
    application: tuple[str, ...],
    output: Path | None,
    limit: int,
    form: str | None,
) -> int:
    """Record what an application sends and receives, message by message.

    Starts the application's mpirun as it is, with a library in front of MPI in its ranks that
    writes down each message: when, between whom, how much, from which line of the source, and
    hashes of its content. Contents of up to 64 bytes are kept as they are. The exit status is the
    application's.

    --convert starts nothing, and takes the folder of a recording. otf2: an archive for Vampir,
    otf2-print and others; each message carries its hash, its address and its call site. simgrid:
    what each rank does, for `smpirun -replay`.

    \b
    Example:
      plumbline record --output my-recording -- mpirun -np 4 ./application
      plumbline record --convert simgrid --output my-trace my-recording
      smpirun -np 4 -platform p.xml -hostfile hosts -replay my-trace/simgrid.txt
    """
    if form is not None:
        return _convert(program, form, application, output)
    output = output or Path("recording")
    from plumbline.detect import read, record

    binary = common.launcher(application)
    about = record.record(application, binary, program.mpi, output, limit << 20)
    recording = record.resolved(read.read(output))
    recorded = record.summary(recording, str(output), about.status)
    if program.json:
        common.print_json(recorded)
    else:
        common.remark(*_lines(recorded))
    return about.status


def _convert(
    program: ProgramOptions, form: str, words: tuple[str, ...], output: Path | None
) -> int:
    if output is None or len(words) != 1:
        raise UsageError("--convert needs the folder of one recording, and --output")
    recording = Path(words[0])
    if not recording.is_dir():
        raise UsageError(f"{recording}: no folder of that name; name a recording")
    from plumbline.detect import read, record, traces

    resolved = record.resolved(read.read(recording))
    if form == "otf2":
        archive = traces.write_otf2(resolved, output)
        if program.json:
            common.print_json(archive)
        else:
            click.echo(f"{archive.path}: {archive.events} events")
        return 0
    trace = traces.write_simgrid(resolved, output)
    if program.json:
        common.print_json(trace)
        return 0
    click.echo(f"{trace.path}: {trace.actions} actions of {resolved.nprocs} ranks")
    for name, count in sorted(trace.left_out.items()):
        common.remark(f"{count} calls of {name} are left out")
    return 0


def _lines(recorded: RecordingSummary) -> list[str]:
    lines = [
        f"{recorded.folder}: {recorded.ranks} ranks, "
        f"{recorded.seconds:.3g} s, {recorded.sent} messages of "
        f"{recorded.sent_bytes} bytes, {recorded.collectives} calls of "
        "collectives"
    ]
    lines += [
        f"{site.bytes} bytes in {site.messages} messages from {site.place}"
        for site in recorded.sites[:_SITES]
    ]
    if recorded.unmatched or recorded.verified < recorded.matched:
        lines.append(
            f"{recorded.unmatched} messages have one side alone; contents of "
            f"{recorded.matched - recorded.verified} could not be compared"
        )
    if recorded.lost:
        lines.append(f"{recorded.lost} events did not fit into the recording: raise --limit")
    if recorded.finished < recorded.ranks:
        lines.append(
            f"{recorded.ranks - recorded.finished} of {recorded.ranks} "
            "ranks did not reach MPI_Finalize; "
            "what they had sent and received until then is there"
        )
    return lines
