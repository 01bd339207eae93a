"""plumbline detect"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import base, common, options
from .base import Program

if TYPE_CHECKING:
    from plumbline.detect.findings import HandMade


@base.command("detect", takes="json")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.option(
    "--output",
    type=options.NewFolder(),
    help="Folder for pictures of who sends to whom, and sketches of replacements.",
)
def command(program: Program, recording: Path, output: Path | None) -> int:
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
    from plumbline.detect import analysis, call_sites, read, words

    found = analysis.analysis(call_sites.resolved(read.read(recording)))
    if output is not None:
        _write(output, found)
    if program.json:
        common.print_json(found)
        return 0
    for line in words.lines(found):
        click.echo(line)
    return 0


def _write(folder: Path, found: list[HandMade]) -> None:
    """`finding-01.svg`, and `finding-01.c` or `.f90`, in the order in which they are told."""
    from plumbline.detect import graph, patch

    folder.mkdir(parents=True, exist_ok=True)
    for number, finding in enumerate(found, 1):
        name = f"finding-{number:02d}"
        drawn, sketch = graph.graph(finding), patch.sketch(finding)
        if drawn:
            common.write(folder / f"{name}.svg", drawn)
        if sketch:
            ending = "f90" if patch.is_fortran(finding) else "c"
            common.write(folder / f"{name}.{ending}", sketch)
