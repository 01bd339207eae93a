"""Options and outputs that commands share."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from plumbline.settings.workbench import Catalogue
    from plumbline.verify.statistics import Comparison
    from plumbline_db.records import ProbeRecord, Run

Function = TypeVar("Function", bound=Callable[..., Any])

VIOLATIONS_FOUND = 3


class NewFile(click.Path):
    """A file that the command will write. Refused while options are read, before anything is
    launched, where it cannot be written; nothing is left there by looking."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from plumbline_db.errors import UsageError

        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            if not path.exists():
                _try_folder(path.parent)
            elif not path.is_file():
                if not os.access(path, os.W_OK):
                    raise PermissionError(0, "Permission denied")
            else:
                path.open("ab").close()
        except OSError as error:
            raise UsageError(
                f"cannot write {path}: {error.strerror}; name a file in a folder that is there and "
                "may be written"
            ) from error
        return path


class PictureFile(NewFile):
    """A file whose ending says which kind of picture it will hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from plumbline.system.chart import ENDINGS
        from plumbline_db.errors import UsageError

        path = super().convert(value, param, ctx)
        if path.suffix not in ENDINGS:
            raise UsageError(
                f"{path}: a picture is SVG, PNG or PDF; name a file that ends in "
                f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
            )
        return path


class NewFolder(click.Path):
    """A folder that the command will write into, made where it is not there; as NewFile."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from plumbline_db.errors import UsageError

        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            _try_folder(
                next(folder for folder in (path, *path.absolute().parents) if folder.exists())
            )
        except OSError as error:
            raise UsageError(
                f"cannot write in {path}: {error.strerror}; name a folder that may be written"
            ) from error
        return path


def _try_folder(folder: Path) -> None:
    """OSError where nothing can be made in it. Tried, not asked: root is told that it may do all,
    also in file systems of the kernel's. The file has no name, where the file system knows such."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        with tempfile.TemporaryDirectory(prefix=".plumbline-", dir=folder):
            pass


def write(path: Path, data: str | bytes) -> None:
    """Raises PlumblineError, with the reason, where NewFile's look was too early."""
    from plumbline_db.errors import PlumblineError

    try:
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        raise PlumblineError(f"cannot write {path}: {error.strerror}; name another file") from error


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


def winners_option(function: Function) -> Function:
    return click.option(
        "--campaign",
        default=None,
        help="Id of a campaign (default: the one finished last that has winners).",
    )(function)


def mpi_option(function: Function) -> Function:
    return click.option(
        "--mpi",
        "mpi_prefix",
        type=click.Path(path_type=Path, file_okay=False),
        default=None,
        help="Prefix of the MPI installation, or module:NAME (default: the mpirun on PATH).",
    )(function)


def simulate_option(function: Function) -> Function:
    return click.option(
        "--simulate",
        metavar="LIBRARY",
        help="On a simulated machine (SimGrid), with the decisions of ompi, mpich, mvapich2 or "
        "impi re-created.",
    )(function)


def nodes_option(function: Function) -> Function:
    return click.option(
        "--nodes", type=int, help="Hosts that the ranks are spread over, as many on each."
    )(function)


def bind_option(function: Function) -> Function:
    return click.option(
        "--bind",
        help="What a rank is bound to: core, socket, numa, none, or plain, as a plain mpirun does "
        "it (unset: the same, but that more ranks than processing units are bound).",
    )(function)


def map_option(function: Function) -> Function:
    return click.option(
        "--map-by", help="Ranks in turn over: core, socket, numa or node (unset: the library's)."
    )(function)


def place_options(function: Function) -> Function:
    """Where the ranks of an overlap command are (overlap/place.py)."""
    file = click.option(
        "--campaign-file",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="Where ranks are: nprocs, nodes, bind, map_by, environment and the tables hosts, "
        "slurm, pbs or flux of a campaign file.",
    )
    nprocs = click.option("-n", "--nprocs", type=click.IntRange(2), help="Ranks (default: 2).")
    for option in (file, map_option, bind_option, nodes_option, nprocs):
        function = option(function)
    return function


def setting_option(function: Function) -> Function:
    """Settings of the library in every launch of an overlap command (overlap/knobs.py)."""
    return click.option(
        "--setting",
        "pairs",
        multiple=True,
        help="NAME=VALUE: the library with this setting, in every launch.",
    )(function)


def records_option(function: Function) -> Function:
    return click.option(
        "--records",
        type=NewFolder(),
        help="Folder for the raw records (NDJSON, one file a launch).",
    )(function)


def write_records(folder: Path | None, name: str, raw: Sequence[Sequence[ProbeRecord]]) -> None:
    """The records of each launch, in files NAME-000.ndjson …; nothing without a folder."""
    import msgspec

    from plumbline_db.errors import PlumblineError

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


def sizes_of(text: str, option: str = "--sizes") -> list[int]:
    """Sizes in bytes, or other whole numbers, out of an option with commas between."""
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        raise click.UsageError(f"{option} takes whole numbers with commas between") from None
    if min(sizes) < 0:
        raise click.UsageError(f"{option} must not be negative")
    return sizes


class Reasons:
    """Long texts of a table, below it: cells have a mark in their place. Equal texts share one."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def mark(self, text: str) -> str:
        """What stands in the cell: the word before the colon, and the number of the text."""
        word, colon, _ = text.partition(":")
        if not colon:
            return text
        return f"{word} [{self._numbers.setdefault(text, len(self._numbers) + 1)}]"

    def lines(self) -> list[str]:
        return [f"[{number}] {text}" for text, number in self._numbers.items()]


def specs_of(text: str) -> list[str]:
    """Variants out of an option with commas between, `a,b:radix=4,pieces=2,c`: what has a `=` and
    no name before it belongs to the variant before."""
    found: list[str] = []
    for word in filter(None, text.split(",")):
        if "=" in word and ":" not in word and found and ":" in found[-1]:
            found[-1] += f",{word}"
        else:
            found.append(word)
    return found


def require_functions(catalogue: Catalogue, functions: Sequence[str]) -> None:
    from plumbline_db.errors import UsageError

    known = [function.name for function in catalogue.functions]
    unknown = [name for name in functions if name not in known]
    if unknown:
        raise UsageError(
            f"the probe knows no function {', '.join(unknown)}; it knows {', '.join(known)}"
        )


def database(path: Path | None) -> Path:
    from plumbline.system.paths import default_database

    return path if path is not None else default_database()


def ratio_words(found: Comparison | None) -> str:
    """`0.913 [0.901, 0.925]`, or nothing."""
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return f"{found.ratio:.3f}"
    return f"{found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}]"


def print_json(value: object) -> None:
    import msgspec

    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a name that is no UTF-8, out of somebody's file
        import json

        text = json.dumps(msgspec.to_builtins(value)).encode()
    click.echo(msgspec.json.format(text, indent=2).decode())


def console(*, stderr: bool = False) -> Console:
    """A console that never cuts a table: into a pipe it is as wide as what it prints."""
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=False, highlight=False, markup=False, emoji=False)


def show(*renderables: RenderableType) -> None:
    """Prints on stdout; where that is no terminal, each table as wide as it needs."""
    from rich.console import Console
    from rich.table import Table

    from plumbline.verify.table import natural_width

    for renderable in renderables:
        width = None
        if not sys.stdout.isatty() and isinstance(renderable, Table):
            width = max(100, natural_width(renderable))
        Console(
            width=width,
            soft_wrap=not isinstance(renderable, Table),
            highlight=False,
            markup=False,
            emoji=False,
        ).print(renderable)


class Bar:
    """A progress bar over a budget of seconds spent in launches, or over a number of `launches`; on
    stderr. Where stderr is no terminal, one line a step."""

    def __init__(self, budget_seconds: float = 0.0, *, in_all: int = 0) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._live = sys.stderr.isatty()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TimeElapsedColumn(),
            TextColumn("{task.fields[launches]} launches, {task.fields[last]}", markup=False),
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
        state = suite if run.finished else f"{suite} failed: {run.reason}"
        advance = 1.0 if self._counts else run.seconds
        self._progress.update(self._task, advance=advance, launches=self._launches, last=state)

    def expect(self, seconds: float) -> None:
        """About so many seconds of launches are left."""
        (task,) = self._progress.tasks
        self._progress.update(self._task, total=task.completed + seconds)

    def step(self, text: str) -> None:
        self._progress.update(self._task, description=text)
        if not self._live:
            click.echo(f"plumbline: {text}", err=True)
