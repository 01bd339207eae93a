"""plumbline report"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from plumbline_db.errors import PlumblineError

from . import base, common, completing, options, progress
from .base import Program

_SILENT_SECONDS = 10.0


class _WrittenFiles:
    """Tells how many files are written: on a terminal each, else now and then."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._told = time.monotonic()

    def tell(self, done: int, known: int) -> None:
        if self._live:
            click.echo(f"\r{done} of {known} files", nl=False, err=True)
        elif time.monotonic() - self._told >= _SILENT_SECONDS:
            self._told = time.monotonic()
            progress.say(f"{done} of {known} files")

    def tell_pdf(self) -> None:
        if self._live:
            click.echo("\r\x1b[K", nl=False, err=True)
        progress.say("printing report.pdf")


@base.command("report", takes="db json")
@click.argument("campaigns", nargs=-1, shell_complete=completing.campaigns)
@click.option(
    "--output", type=options.NewFolder(), required=True, help="Folder of the pages and the PDF."
)
@click.option(
    "--cells",
    type=click.Choice(["worst", "all"]),
    default="worst",
    help="A page for the worst cell of each function, or for each cell (minutes, many files).",
)
def command(program: Program, campaigns: tuple[str, ...], output: Path, cells: str) -> None:
    """Write CAMPAIGNS, else the last one, as pages that open without a server, and as a PDF.

    The pages are those of `plumbline serve`; `index.html` is the one to begin with, and
    `report.pdf` the same for printing (by Chromium, where it is installed).

    \b
    Example:
      plumbline report --output report
    """
    from plumbline.pages import frozen
    from plumbline_db import campaigns as stored
    from plumbline_db.connection import Database

    with Database.open(program.database) as db:
        names = [stored.get(db, name).id for name in dict.fromkeys(campaigns or (None,))]
    written_so_far = _WrittenFiles()
    written = frozen.write(
        program.database, names, output, written_so_far.tell, all_cells=cells == "all"
    )
    written_so_far.tell_pdf()
    pdf, missing = output / "report.pdf", ""
    try:
        frozen.print_page(written.first, pdf)
    except PlumblineError as error:
        missing = str(error)
        common.remark(missing)
    if program.json:
        common.print_json(
            {
                "campaigns": names,
                "index": str(written.first),
                "pages": written.pages,
                "files": written.files,
                "bytes": written.bytes,
                "left_out": written.left_out,
                "pdf": None if missing else str(pdf),
                "pdf_missing": missing,
            }
        )
        return
    left_out = f"; {written.left_out} were too many and are left out" if written.left_out else ""
    click.echo(
        f"{written.first}: {written.pages} pages, {written.bytes / 1e6:.1f} MB in "
        f"{written.files} files{left_out}"
    )
    if not missing:
        click.echo(str(pdf))
