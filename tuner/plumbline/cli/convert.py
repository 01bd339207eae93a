"""plumbline convert"""

from __future__ import annotations

from pathlib import Path

import click

from . import base, common, options
from .base import Program


@base.command("convert", takes="json")
@click.argument("form", metavar="FORMAT", type=click.Choice(["otf2", "simgrid"]))
@click.argument("recording", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("output", type=options.NewFolder())
def command(program: Program, form: str, recording: Path, output: Path) -> int:
    """Write a recording in the format of another tool.

    otf2: an archive for Vampir, otf2-print and others; each message carries its hash, its address
    and its call site. simgrid: what each rank does, for `smpirun -replay`. OUTPUT is a folder.

    \b
    Example:
      plumbline convert simgrid my-recording my-trace
      smpirun -np 4 -platform p.xml -hostfile hosts -replay my-trace/simgrid.txt
    """
    from plumbline.detect import call_sites, otf2_trace, read, simgrid_trace

    resolved = call_sites.resolved(read.read(recording))
    if form == "otf2":
        archive = otf2_trace.write(resolved, output)
        if program.json:
            common.print_json(archive)
        else:
            click.echo(f"{archive.path}: {archive.events} events")
        return 0
    trace = simgrid_trace.write(resolved, output)
    if program.json:
        common.print_json(trace)
        return 0
    click.echo(f"{trace.path}: {trace.actions} actions of {resolved.nprocs} ranks")
    for name, count in sorted(trace.left_out.items()):
        common.remark(f"{count} calls of {name} are left out")
    return 0
