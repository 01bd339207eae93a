"""Options and outputs that commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from plumbline.workbench import Catalogue
    from plumbline_db.records import ProbeRecord, Run

Function = TypeVar("Function", bound=Callable[..., Any])

VIOLATIONS_FOUND = 3


def db_option(function: Function) -> Function:
    return click.option(
        "--db",
        "db_path",
        type=click.Path(path_type=Path),
        default=None,
        help="Database file (default: PLUMBLINE_DB, or a place of its own).",
    )(function)


def json_option(function: Function) -> Function:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def campaign_option(function: Function) -> Function:
    return click.option(
        "--campaign", default=None, help="Id of a campaign (default: the one started last)."
    )(function)


def mpi_option(function: Function) -> Function:
    return click.option(
        "--mpi",
        "mpi_prefix",
        type=click.Path(path_type=Path, file_okay=False),
        default=None,
        help="Prefix of the MPI installation (default: the mpirun on PATH).",
    )(function)


def records_option(function: Function) -> Function:
    return click.option(
        "--records",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder for the raw records (NDJSON, one file a launch).",
    )(function)


def write_records(folder: Path | None, name: str, raw: Sequence[Sequence[ProbeRecord]]) -> None:
    """The records of each launch, in files NAME-000.ndjson …; nothing without a folder."""
    import msgspec

    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(raw):
        target = folder / f"{name}-{number:03d}.ndjson"
        target.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in one))


def sizes_of(text: str) -> list[int]:
    """Sizes in bytes out of an option with commas between."""
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        raise click.UsageError("--sizes takes whole numbers with commas between") from None
    if min(sizes) < 0:
        raise click.UsageError("--sizes must not be negative")
    return sizes


def require_functions(catalogue: Catalogue, functions: Sequence[str]) -> None:
    from plumbline_db.errors import UsageError

    known = [one.name for one in catalogue.functions]
    unknown = [name for name in functions if name not in known]
    if unknown:
        raise UsageError(
            f"the probe knows no function {', '.join(unknown)}; it knows {', '.join(known)}"
        )


def database(path: Path | None) -> Path:
    from plumbline.paths import default_database

    return path if path is not None else default_database()


def print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def console(*, stderr: bool = False) -> Console:
    """A console that never cuts a table: into a pipe it is as wide as what it prints."""
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=False, highlight=False)


def show(*renderables: RenderableType) -> None:
    """Prints on stdout; where that is no terminal, each table as wide as it needs."""
    from rich.console import Console
    from rich.table import Table

    from plumbline.verify.table import natural_width

    for renderable in renderables:
        width = None
        if not sys.stdout.isatty() and isinstance(renderable, Table):
            width = max(100, natural_width(renderable))
        Console(width=width, soft_wrap=not isinstance(renderable, Table), highlight=False).print(
            renderable
        )


class Bar:
    """A progress bar over a budget of seconds spent in launches, or over a number of `launches`; on
    stderr. Where stderr is no terminal, one line a step."""

    def __init__(self, budget_seconds: float = 0.0, *, in_all: int = 0) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._live = sys.stderr.isatty()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            TextColumn("{task.fields[launches]} launches, {task.fields[last]}"),
            console=console(stderr=True),
            transient=True,
            disable=not self._live,
        )
        self._task = self._progress.add_task(
            "starting", total=in_all or budget_seconds, launches=0, last="none yet"
        )
        self._launches = 0
        self._counts = in_all > 0

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def launched(self, suite: str, run: Run) -> None:
        self._launches += 1
        state = suite if run.outcome == "finished" else f"{suite} failed: {run.reason}"
        advance = 1.0 if self._counts else run.seconds
        self._progress.update(self._task, advance=advance, launches=self._launches, last=state)

    def step(self, text: str) -> None:
        self._progress.update(self._task, description=text)
        if not self._live:
            click.echo(f"plumbline: {text}", err=True)
