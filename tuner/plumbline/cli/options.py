"""Options that several commands have, each defined once, and what the words of options become."""

from __future__ import annotations

import errno
import functools
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.types import OptionHelpExtra

from plumbline.system import version
from plumbline.system.words import LARGEST, MOST, number_of_bytes
from plumbline_db.errors import PlumblineError, UsageError

from .base import ProgramOptions

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from plumbline.settings.campaign_file import ExplainedSetting

Wrap = Callable[[Any], Any]  # a decorator of a command's function

_DURATION = re.compile(r"(?:(\d{1,3})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s)?")

_Param = click.Parameter | None
_Context = click.Context | None


class Option(click.Option):
    """`unset`: what is taken where there is no default of its own; for the help, and called for it
    alone. `shared`: of the program, for several commands."""

    def __init__(
        self, *args: Any, unset: str | Callable[[], object] = "", shared: bool = False, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.shared = shared
        self.unset = unset

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        complete = _COMPLETE.get(str(self.name))
        if complete is None:
            return super().shell_complete(ctx, incomplete)
        return complete(ctx, self, incomplete)

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        extra = super().get_help_extra(ctx)
        if extra.get("default") == '""':
            del extra["default"]
        extra.pop("range", None)  # what is no slip of the keyboard lies in it
        if self.unset and "default" not in extra:
            unset = self.unset
            extra["default"] = unset if isinstance(unset, str) else str(unset())
        return extra


def option(*names: str, **more: Any) -> Wrap:
    return click.option(*names, cls=Option, **more)


# --- conversions of words -------------------------------------------------------------------------


class Words(click.ParamType[Any]):
    """Texts with commas between."""

    name = "words"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> list[str]:
        return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


class Functions(Words):
    """`MPI_Gather`, and what is meant by `gather`."""

    def convert(self, value: Any, param: _Param, ctx: _Context) -> list[str]:
        from plumbline.core import guidelines
        from plumbline.core.plan import name_of

        functions = guidelines.load().lhs_functions()
        words = super().convert(value, param, ctx)
        return [name_of(word) if name_of(word) in functions else word for word in words]


class AllOrWords(Words):
    """True in place of `all`, False in place of `none`."""

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Any:
        words = super().convert(value, param, ctx)
        return words == ["all"] if words in (["all"], ["none"]) else words


class CountType(click.IntRange):
    """So many of something."""

    name = "number"

    def __init__(self, least: int = 1, most: int = MOST) -> None:
        super().__init__(least, most)


class Real(click.FloatRange):
    """A number; not below 0, unless told otherwise."""

    name = "number"

    def __init__(self, least: float = 0, most: float = LARGEST, **ends: bool) -> None:
        super().__init__(least, most, **ends)

    def convert(self, value: Any, param: _Param, ctx: _Context) -> float:
        number = super().convert(value, param, ctx)
        if math.isnan(number):  # it is in every range
            self.fail(f"{value} is not a number.", param, ctx)
        return float(number)


class Duration(click.ParamType[float]):
    """Seconds, as 90s, 2m or 2m30s."""

    name = "duration"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> float:
        parts = _DURATION.fullmatch(str(value))
        if parts is None or not any(parts.groups()):
            self.fail(f"{value} is not a duration, as 90s, 2m or 2m30s.", param, ctx)
        hours, minutes, seconds = (int(part or 0) for part in parts.groups())
        return float(3600 * hours + 60 * minutes + seconds)


class Bytes(click.ParamType[int]):
    """The bytes of a message."""

    name = "bytes"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> int:
        try:
            size = number_of_bytes(str(value))
        except ValueError:
            size = -1
        if not 0 <= size <= LARGEST:
            self.fail(f"{value} is not a number of bytes, as 65536 or 64k.", param, ctx)
        return size


class Numbers(click.ParamType[Any]):
    """Numbers with commas between, `least` to `most`. `one_or_more`: most commands take one."""

    def __init__(
        self,
        kind: Callable[[str], int] | Callable[[str], float] = int,
        *,
        one_or_more: bool = False,
        least: int = 0,
        most: int = LARGEST,
    ) -> None:
        self._kind = kind
        self.min = least
        self._most = most
        self.one_or_more = one_or_more
        self.name = "number" if one_or_more else "numbers"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> list[Any]:
        if not isinstance(value, str):
            return list(value)
        name = param.opts[-1] if param is not None else ""
        try:
            numbers = [self._kind(word) for word in value.split(",")]
        except ValueError:
            whole = "" if self._kind is float else "whole "
            raise click.UsageError(f"{name} takes {whole}numbers with commas between") from None
        wrong = [number for number in numbers if not self.min <= number <= self._most]  # nan is one
        if wrong:
            least = f"{self.min} " + ("or more" if self._most == LARGEST else f"to {self._most}")
            raise click.UsageError(
                f"{name} {wrong[0]}: it takes {least}; leave it out for the default"
            )
        return numbers


class InlineTable(click.ParamType[Any]):
    """A table as TOML has it in a line."""

    name = "table"

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Any:
        import tomllib

        try:
            return tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f'{value} is not a table, as {{key = "value"}}') from error


class NewFile(click.Path):
    """A file that the command will write. Refused while options are read, before anything is
    launched, where it cannot be written; nothing is left there by looking."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Path:
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
                f"cannot write {path}: {error.strerror}; name a file in an existing folder that "
                "is writable"
            ) from error
        return path


class PictureFile(NewFile):
    """A file whose ending says which kind of picture it will hold."""

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Path:
        from plumbline.system.chart import ENDINGS

        path = super().convert(value, param, ctx)
        if path.suffix not in ENDINGS:
            raise UsageError(
                f"{path}: a picture is SVG, PNG or PDF; name a file that ends in "
                f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
            )
        if "pictures" in version.absent_extras():
            raise PlumblineError(str(version.missing_extra("vl_convert")))
        return path


class NewFolder(click.Path):
    """A folder that the command will write into, made where it is not there; as NewFile."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: _Param, ctx: _Context) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            _try_folder(
                next(folder for folder in (path, *path.absolute().parents) if folder.exists())
            )
        except OSError as error:
            raise UsageError(
                f"cannot write in {path}: {error.strerror}; name a writable folder"
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


# --- settings by their keys -----------------------------------------------------------------------

_TYPES: dict[str, click.ParamType[Any]] = {
    "whole number": CountType(0),
    "number": Real(),
    "list of whole numbers": Numbers(),
    "list of texts": Words(),
    "true or false or list of texts": AllOrWords(),
    "true or false": click.BOOL,
    "table": InlineTable(),
}


@functools.cache
def _explained() -> dict[str, ExplainedSetting]:
    from plumbline.settings import campaign_file

    return campaign_file.keys()


class KeyValue(click.ParamType[tuple[str, Any]]):
    """KEY=VALUE. `own`: the types of a command's own keys (None: text); with `of_campaign` the keys
    of a campaign file are taken too."""

    name = "key=value"

    def __init__(
        self, own: Mapping[str, click.ParamType[Any] | None], *, of_campaign: bool
    ) -> None:
        self._own = own
        self._of_campaign = of_campaign

    def convert(self, value: Any, param: _Param, ctx: _Context) -> tuple[str, Any]:
        from plumbline.system import mistakes

        key, equals, text = str(value).partition("=")
        if not (key and equals):
            raise click.UsageError(f"--set takes KEY=VALUE, not {value!r}")
        known_keys = _explained() if self._of_campaign else {}
        keys = {key: explained.takes for key, explained in known_keys.items()}
        if key not in self._own and key not in keys:
            every = [*self._own, *keys]
            raise UsageError(f"--set {value}: no key {key}{mistakes.instead([key], every)}")
        kind = self._own[key] if key in self._own else _TYPES.get(keys[key])
        return key, text if kind is None else kind.convert(text, param, ctx)


def settings(
    what: str,
    own: Mapping[str, click.ParamType[Any] | None] | None = None,
    *,
    of_campaign: bool = True,
) -> Wrap:
    """Return `--set KEY=VALUE`, whose keys reach the function as parameters of these names."""

    def put(ctx: click.Context, param: click.Parameter, pairs: Sequence[tuple[str, Any]]) -> None:
        del param
        taken = getattr(ctx.command, "takes", ())
        options_taken = {
            each.name: each.opts[-1]
            for each in ctx.command.get_params(ctx)
            if each in ctx.command.params or each.name in taken
        }
        for key, value in pairs:
            if key in options_taken:
                raise click.UsageError(f"--set {key}=…: use {options_taken[key]}", ctx)
            ctx.params[key] = value
            ctx.set_parameter_source(key, ParameterSource.COMMANDLINE)

    return option(
        "--set",
        multiple=True,
        metavar="KEY=VALUE",
        type=KeyValue(own or {}, of_campaign=of_campaign),
        callback=put,
        expose_value=False,
        help=f"A key of {what}; can be repeated.",
    )


def together(*options: Wrap) -> Wrap:
    """Options in the order of the help."""

    def wrap(function: Any) -> Any:
        for add_option in reversed(options):
            function = add_option(function)
        return function

    return wrap


# --- options of the program that several commands have --------------------------------------------

# Names, for what a command `takes`.
RANKS = "nprocs nodes bind map_by simulate"
DATA = "type op root"
MEASURED = f"{RANKS} sizes {DATA} seed"


def _shared(*names: str, help: str, **more: Any) -> Wrap:
    return option(*names, help=help, shared=True, **more)


# Options that are keys of a campaign file repeat the key's sentence here: loading the campaign file
# module would make `plumbline --help` slow.
shared = together(
    _shared(
        "nprocs",
        "-n",
        "--np",
        "--ranks",
        "--nprocs",
        type=Numbers(one_or_more=True, least=1, most=2**31 - 1),
        help="Ranks (default: one for each processing unit, two at least, or 32 simulated ones).",
    ),
    _shared(
        "--nodes",
        type=CountType(),
        help="Nodes, with the same number of ranks on each; default: one, all `hosts`, or "
        "one simulated node for each rank.",
    ),
    _shared(
        "--bind",
        metavar="core|none|numa|plain|socket",
        help="Bind ranks to this (plain: leave it to mpirun; default: plain, or core if "
        "there are more ranks than cores).",
    ),
    _shared(
        "--map-by",
        metavar="core|node|numa|socket",
        help="Place consecutive ranks on consecutive ones of these; default: the library's "
        "own order.",
    ),
    _shared(
        "--simulate",
        metavar="LIBRARY",
        help="On a simulated machine (SimGrid), with the decisions of ompi, mpich, mvapich2 or "
        "impi re-created.",
    ),
    _shared(
        "--sizes", type=Numbers(number_of_bytes), help="Bytes, with commas between (64k: 65536)."
    ),
    _shared(
        "--type",
        help="MPI datatype of all functions; default: MPI_FLOAT for reductions, otherwise "
        "MPI_BYTE.",
    ),
    _shared("--op", help="MPI reduction operator; default: MPI_SUM, for MPI_BYTE MPI_BOR."),
    _shared("--root", type=CountType(0, LARGEST), unset="0", help="Root of rooted functions."),
    _shared("--seed", type=CountType(0, LARGEST), unset="1", help="Seed of orders and data."),
    _shared(
        "--refine",
        is_flag=True,
        help="Add points where curves bend, jump or cross, with the reason.",
    ),
    _shared(
        "--rules",
        type=click.Choice(["paper", "paper:ks"]),
        help="Judge the launches as PGMPI does, by the rank-sum or the Kolmogorov-Smirnov test, "
        "and show where Plumbline's own rules differ (docs/verification.md).",
    ),
    _shared("--campaign", unset="the one finished last that has winners", help="Id of a campaign."),
)


def usual(*names: str) -> dict[str, Any]:
    """Return these keys of a campaign file with their defaults, for a command's `default_map`."""
    from plumbline.settings import Settings

    every = Settings().keys()
    return {name: every[name] for name in names}


# --- options that several commands define ---------------------------------------------------------

campaign_file = click.argument(
    "campaign_file", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
exported = option(
    "--output", type=NewFolder(), unset="beside the database", help="Folder of the exported files."
)
new = option("--new", is_flag=True, help="Measure again, though the database has results.")
fresh_launches = option(
    "--fresh-launches",
    is_flag=True,
    help="Start new ranks for every launch (default: ranks stay alive for later steps).",
)
wait_for_quiet = option(
    "--wait-for-quiet",
    is_flag=True,
    help="Wait, ten minutes at most, while other programs take processor time.",
)
no_proof = option("--no-proof", is_flag=True, help="Skip the test that the winners are active.")
unsafe = option("--unsafe", is_flag=True, help="Also use winners that break some correct programs.")
listing = option("--list", "listing", is_flag=True, help="List the choices, and do nothing else.")
all_rows = option(
    "--all", "all_rows", is_flag=True, help="Show all rows and tables, not only violations."
)
knob = option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="NAME=VALUE",
    help="The library with this knob; can be repeated.",
)
raw_records = option(
    "--output", type=NewFolder(), help="Folder for the raw records (NDJSON, one file a launch)."
)


def launches(help: str = "Launches; each is started anew.", **more: Any) -> Wrap:
    return option("--launches", **({"type": CountType(), "help": help} | more))


def picture(what: str) -> Wrap:
    text = f"{what} into this file: SVG, PNG or PDF, by its ending."
    return option("--picture", type=PictureFile(), help=text)


# --- values that a shell completes ----------------------------------------------------------------

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def complete_campaigns(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The newest first, but for names that a shell would not take as a word; none where the
    database cannot be read."""
    from plumbline_db import campaigns as stored
    from plumbline_db import outside

    del param
    program = ctx.params.get("program") or ProgramOptions(db=ctx.find_root().params.get("db"))
    try:
        with program.open() as db:
            names = [campaign.id for campaign in reversed(stored.every(db))]
    except PlumblineError:
        return []
    return _beginning(filter(outside.NAME.match, names), incomplete)


def _of(words_by_name: Callable[[], Mapping[str, str | None]]) -> Complete:
    """Return the completion of names, each with its description."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        names = words_by_name()
        return _beginning(names, incomplete, names.get)

    return complete


def _functions() -> Mapping[str, str | None]:
    from plumbline.core import guidelines

    return dict.fromkeys(sorted(guidelines.load(None).lhs_functions()))


def _guidelines() -> Mapping[str, str | None]:
    from plumbline.core import guidelines

    return {rule.id: rule.name for rule in guidelines.load(None).entries()}


def _formats() -> Mapping[str, str | None]:
    from plumbline_exporters.registry import exporters

    return {name: exporter.summary for name, exporter in exporters().items()}


def _linted() -> Mapping[str, str | None]:
    from plumbline_exporters.lint.formats import formats

    return dict.fromkeys(formats())


complete_functions, complete_formats = _of(_functions), _of(_formats)

# Completions of options, by their names.
_COMPLETE: dict[str, Complete] = {
    "campaign": complete_campaigns,
    "format_name": _of(_linted),
    "functions": complete_functions,
    "guidelines": _of(_guidelines),
}


def _beginning(
    names: Iterable[str], incomplete: str, says: Callable[[str], str | None] = lambda name: None
) -> list[CompletionItem]:
    """Return the names that begin so, also after a comma."""
    from click.shell_completion import CompletionItem

    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(before + comma + name, help=says(name))
        for name in names
        if name.startswith(word)
    ]
