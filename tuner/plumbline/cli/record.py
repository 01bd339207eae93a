"""plumbline record"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import base, common, options
from .base import Program

if TYPE_CHECKING:
    from plumbline.detect.record import RecordingSummary

_SITES = 5


@base.command("record", takes="mpi json", context_settings={"allow_interspersed_args": False})
@click.argument("application", nargs=-1, type=click.UNPROCESSED, required=True)
@options.option(
    "--output",
    type=options.NewFolder(),
    default="recording",
    help="Folder for the recording, empty or new, that all nodes see.",
)
@options.option(
    "--limit",
    type=options.Count(1, 1 << 20),
    default=256,
    help="MiB a rank; events behind that are counted, not kept.",
)
def command(program: Program, application: tuple[str, ...], output: Path, limit: int) -> int:
    """Record what an application sends and receives, message by message.

    Starts the application's mpirun as it is, with a library in front of MPI in its ranks that
    writes down each message: when, between whom, how much, from which line of the source, and
    hashes of its content. Contents of up to 64 bytes are kept as they are. The exit status is the
    application's.

    \b
    Example:
      plumbline record --output my-recording -- mpirun -np 4 ./application
    """
    from plumbline.detect import call_sites, read, record

    binary = common.launcher(application)
    about = record.record(application, binary, program.mpi, output, limit << 20)
    recording = call_sites.resolved(read.read(output))
    recorded = record.summary(recording, str(output), about.status)
    if program.json:
        common.print_json(recorded)
    else:
        common.remark(*_lines(recorded))
    return about.status


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
