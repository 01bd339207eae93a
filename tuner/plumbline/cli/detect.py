"""plumbline detect"""

from __future__ import annotations

from pathlib import Path

import click

from . import base, common, options
from .base import Program


@base.command("detect", takes="json")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.option("--patch", is_flag=True, help="Show what a replacement would look like.")
@options.option(
    "--graphs",
    type=options.NewFolder(),
    help="Folder for the communication graph of each finding (SVG).",
)
def command(program: Program, recording: Path, patch: bool, graphs: Path | None) -> int:
    """Find collectives that an application makes by hand of sends and receives.

    Reads what `plumbline record` has written, and looks at who had which content when, whatever
    way messages took. Says where in the source, among which ranks, how often, how long it took,
    and what to mind before MPI's own collective takes the place. Also names collectives that are
    called where another one, or none, would do.

    \b
    Example:
      plumbline record --output my-recording -- mpirun -np 4 ./application
      plumbline detect my-recording
    """
    from plumbline.detect import analysis, call_sites, graph, read, words
    from plumbline.detect import patch as patches

    found = analysis.analysis(call_sites.resolved(read.read(recording)))
    if graphs is not None:
        graphs.mkdir(parents=True, exist_ok=True)
        for number, finding in enumerate(found, 1):
            drawn = graph.graph(finding)
            if drawn:
                common.write(graphs / f"finding-{number:02d}.svg", drawn)
    if program.json:
        common.print_json(found)
        return 0
    for line in words.lines(found):
        click.echo(line)
    for finding in found if patch else ():
        sketch = patches.sketch(finding)
        if sketch:
            click.echo(f"\n{words.what(finding)}:\n{sketch}", nl=False)
    return 0
