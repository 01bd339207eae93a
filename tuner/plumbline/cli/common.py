"""Texts that commands write and show."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plumbline.system.words import with_interval
from plumbline_db.errors import PlumblineError, UsageError, command_name

from .base import ProgramOptions
from .streams import clean

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from plumbline.settings.toolchain import Catalogue
    from plumbline.verify.significance.comparison import Comparison
    from plumbline_db.probe_records import ProbeRecord

VIOLATIONS_FOUND = 3


def write(path: Path, data: str | bytes) -> None:
    """Raises PlumblineError, with the reason, where NewFile's look was too early."""
    try:
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        raise PlumblineError(f"cannot write {path}: {error.strerror}; name another file") from error


def draw(path: Path, specification: Mapping[str, Any]) -> None:
    """A chart, as the ending of the path says."""
    from plumbline.system import chart

    write(path, chart.drawn(specification, path))


def write_records(folder: Path | None, name: str, raw: Sequence[Sequence[ProbeRecord]]) -> None:
    """The records of each launch, in files NAME-000.ndjson …; nothing without a folder."""
    import msgspec

    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlumblineError(
            f"cannot create the folder {folder}: {error.strerror}; name another one"
        ) from error
    for number, records in enumerate(raw):
        target = folder / f"{name}-{number:03d}.ndjson"
        write(target, b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def remark(*texts: str) -> None:
    """Print what is not the answer, a line each, on stderr; nothing of what is empty."""
    for text in filter(None, texts):
        click.echo(f"plumbline: {text}", err=True)


class Reasons:
    """Long texts of a table, below it: cells have a mark in their place. Equal texts share one."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, text: str) -> str:
        """Return what stands in the cell: the word before the colon, and the number of the text."""
        word, colon, _ = text.partition(":")
        if not colon:
            return text
        return f"{word} [{self._numbers.setdefault(text, len(self._numbers) + 1)}]"

    def lines(self) -> list[str]:
        return [f"[{number}] {text}" for text, number in self._numbers.items()]


def specs_of(text: str) -> list[str]:
    """Variants out of an option with commas between, `a,b:radix=4,pieces=2,c`: what has a `=` and
    no name before it belongs to the variant before."""
    specs: list[str] = []
    for word in filter(None, text.split(",")):
        if "=" in word and ":" not in word and specs and ":" in specs[-1]:
            specs[-1] += f",{word}"
        else:
            specs.append(word)
    return specs


def launcher(application: Sequence[str]) -> Path:
    """Return the path of the first word of a command. Raises click.UsageError where it cannot be
    started, or where the launcher that it names would look for its program in vain."""
    from plumbline.settings import ranks_asked

    binary = shutil.which(application[0])
    missing = application[0] if binary is None else ranks_asked.missing(application)
    if missing is not None:
        what = f"the program {missing} cannot be started"
        raise click.UsageError(what if "/" in missing else f"{missing} is not on PATH")
    return Path(str(binary))


def functions(catalogue: Catalogue, names: Sequence[str]) -> list[str]:
    """Return the functions as the probe calls them. Raises UsageError for what it does not know."""
    from plumbline.core.plan import name_of
    from plumbline.system import mistakes

    measured_names = [*catalogue.names, *(pattern.name for pattern in catalogue.patterns)]
    full_names = [name if name in measured_names else name_of(name) for name in names]
    unknown = [
        name
        for name, full_name in zip(names, full_names, strict=True)
        if full_name not in measured_names
    ]
    unmeasured = {variant.function for variant in catalogue.variants}.intersection(unknown)
    if unmeasured:
        raise UsageError(
            f"{', '.join(sorted(unmeasured))}: a profile can replace it, but the probe does not "
            f"measure it (collectives of neighbours: `{command_name()} suite neighbourhood`, "
            "without variants)"
        )
    if unknown:
        raise UsageError(
            "the probe knows no function "
            f"{', '.join(unknown)}{mistakes.instead(unknown, measured_names)}"
        )
    return full_names


def ratio_words(comparison: Comparison | None) -> str:
    """`0.913 [0.901, 0.925]`, or nothing."""
    return (
        ""
        if comparison is None
        else with_interval(comparison.ratio, comparison.low, comparison.high, ".3f")
    )


def short(configuration: str) -> str:
    """Return the name without what nearly all names of Open MPI's knobs begin with."""
    return configuration.replace("coll_tuned_", "")


def print_json(value: object) -> None:
    import json

    import msgspec

    try:
        text = msgspec.json.encode(value).decode()
        # JSON writes escapes for characters that the stream could not encode.
        text = text if clean(text) == text else json.dumps(json.loads(text))
    except UnicodeEncodeError:  # a name that is no UTF-8, out of somebody's file
        text = json.dumps(msgspec.to_builtins(value))
    click.echo(msgspec.json.format(text, indent=2))


def answer(program: ProgramOptions, document: object, shown: Iterable[RenderableType]) -> None:
    """The document with --json, else what is shown of it."""
    if program.json:
        print_json(document)
    else:
        show(*shown)


def console(*, stderr: bool = False) -> Console:
    """A console that never cuts a table: into a pipe it is as wide as what it prints."""
    from .fitting import CleanConsole

    return CleanConsole(stderr=stderr)


def columns() -> int:
    """Return the width of lines: what COLUMNS says, or that of the terminal; 80 in a pipe."""
    return shutil.get_terminal_size().columns


def show(*renderables: RenderableType, fit: bool = False) -> None:
    """Prints on stdout: as wide as a terminal, elsewhere each table as wide as it needs; with `fit`
    as wide as `columns` says everywhere."""
    from rich.table import Table

    from plumbline.verify.table import natural_width

    from .fitting import CleanConsole, fitted

    terminal = sys.stdout.isatty()
    for renderable in renderables:
        of_table = isinstance(renderable, Table)
        width = columns() if fit else None
        if of_table and not terminal and not fit:
            width = max(100, natural_width(renderable))
        console = CleanConsole(width=width)
        whole = terminal or of_table or fit
        for piece in fitted(renderable, console.width) if whole else [renderable]:
            console.print(piece, soft_wrap=not isinstance(piece, Table))


Rows = Iterable[Sequence[object]]


def table(
    *columns: str,
    left: Collection[str] = (),
    title: str = "",
    wrap: bool = True,
    rows: Rows = (),
) -> Table:
    """Return a table without lines around it. Columns hold numbers, but for those in `left`.
    `rows`: their cells as `filled` takes them."""
    from rich.table import Table
    from rich.text import Text

    plain = Table(title=Text(title), title_justify="left", box=None, pad_edge=False)
    for name in columns:
        plain.add_column(name, justify="left" if name in left else "right", no_wrap=not wrap)
    return filled(plain, rows)


def filled(plain: Table, rows: Rows) -> Table:
    """Return the table with these rows: a cell is a rich text, None for an empty one, or what `str`
    makes a text of."""
    from rich.text import Text

    for row in rows:
        plain.add_row(
            *(cell if isinstance(cell, Text) else "" if cell is None else str(cell) for cell in row)
        )
    return plain


def titled(
    title: str, columns: Sequence[str], whole: Collection[str] = (), rows: Rows = ()
) -> Table:
    """The same with a title in bold; what is too long for a column of words is folded, but for
    those in `whole`."""
    from rich.text import Text

    plain = table()
    plain.title = Text(title, style="bold")
    for name in columns:
        plain.add_column(name, overflow="fold", no_wrap=name in whole)
    return filled(plain, rows)
