"""The base of commands and groups: an option of a group may stand before the name of a command or
after it, and groups import a command when it runs, so that `--help` answers at once."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from plumbline_db import errors

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from plumbline_db.connection import Database

_WORDS = f"{__name__}.words"


class ProgramOptions(NamedTuple):
    """The options of the whole program."""

    mpi: Path | None = None
    db: Path | None = None
    json: bool = False

    @property
    def database(self) -> Path:
        from plumbline.system.paths import default_database

        return self.db or default_database()

    def open(self, *, write: bool = False) -> Database:
        """Open the database. Raises PlumblineError where that is not possible."""
        from plumbline_db.connection import Database

        return Database.open(self.database, write=write)


class Command(click.Command):
    """`takes`: names of those options of the groups above that mean something here; the others are
    refused. Those of `ProgramOptions` reach the function as one `program`. `several`: those of them
    that take several values, where others take one. `told`: what the help says of them here in
    place of their `help` and `unset`. `also`: parameters of another command, which are its own and
    hold here too. `gathers`: the tuples that reach the function in place of the parameters that are
    their fields."""

    def __init__(
        self,
        *args: Any,
        takes: str = "",
        several: str = "",
        told: Mapping[str, Mapping[str, object]] | None = None,
        also: Sequence[click.Parameter] = (),
        gathers: Mapping[str, type[NamedTuple]] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.takes = takes.split()
        self.several = several.split()
        self.told = told or {}
        self.also = also
        self.gathers: dict[str, Any] = {"program": ProgramOptions, **(gathers or {})}

    def but(self, *names: str) -> list[click.Parameter]:
        """Return the parameters of this set without some names, for a command that shares the
        rest."""
        return [param for param in self.params if param.name not in names]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*self.also, *super().get_params(ctx), *_above(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.parent is None:
            ctx.meta[_WORDS] = tuple(args)
        rest = super().parse_args(ctx, args)
        values: dict[str, Any] = ctx.meta.setdefault(__name__, {})
        for name, value in ctx.params.items():
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                values[name] = (*values.get(name, ()), *value) if type(value) is tuple else value
        ends = not (isinstance(self, click.Group) and rest)  # no command's name follows
        for option in _above(ctx):
            name = str(option.name)
            value = ctx.params.pop(name)
            if name in self.takes:
                value = values.get(name, value)
                ctx.params[name] = value if name in self.several else _single(ctx, option, value)
                if name in values:
                    ctx.set_parameter_source(name, ParameterSource.COMMANDLINE)
            elif ends and name in values and not ctx.resilient_parsing:
                raise click.UsageError(
                    f"{option.opts[-1]} is not an option of `{ctx.command_path}`: leave it out", ctx
                )
        for argument, gathered in self.gathers.items():
            names = [name for name in gathered._fields if name in ctx.params]
            if names:
                ctx.params[argument] = gathered(**{name: ctx.params.pop(name) for name in names})
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        taken = [option for option in _above(ctx) if option.name in self.takes]
        of_program = [option for option in taken if option.name in ProgramOptions._fields]
        of_group = [option for option in taken if option not in of_program and not _shared(option)]
        own = [*self.also, *super().get_params(ctx)]
        _section(ctx, formatter, "Options", [param for param in own if not _shared(param)])
        if of_group and ctx.parent is not None:
            _section(ctx, formatter, f"Options of {ctx.parent.command_path}", of_group)
        shared = [self._here(param) for param in [*own, *taken] if _shared(param)]
        if ctx.parent is None:  # each command lists those that it takes
            shared = []
        _section(ctx, formatter, "Options of several commands", shared)
        if of_program:
            names = ", ".join(option.opts[-1] for option in of_program)
            formatter.write_paragraph()
            formatter.write_text(f"Also {names}: {ctx.find_root().command_path} --help.")

    def _here(self, param: click.Parameter) -> click.Parameter:
        copied = copy.copy(param)
        vars(copied).update(self.told.get(str(param.name), {}))
        return copied


def _shared(param: click.Parameter) -> bool:
    """Return whether it is of those options of the program that some commands have, and others
    not."""
    return getattr(param, "shared", False)


def _single(ctx: click.Context, option: click.Option, value: Any) -> Any:
    """Return the value of an option that takes several values elsewhere."""
    if not getattr(option.type, "one_or_more", False) or value is None:
        return value
    if len(value) > 1:
        raise click.UsageError(f"{option.opts[-1]} takes one number here", ctx)
    return value[0]


def _above(ctx: click.Context) -> list[click.Option]:
    """The options of the groups that a command stands in."""
    options: list[click.Option] = []
    while ctx.parent is not None:
        ctx = ctx.parent
        params = ctx.command.params
        options += [p for p in params if isinstance(p, click.Option) and p.expose_value]
    return options


def _section(
    ctx: click.Context,
    formatter: click.HelpFormatter,
    title: str,
    params: Sequence[click.Parameter],
) -> None:
    records = [param.get_help_record(ctx) for param in params if isinstance(param, click.Option)]
    if any(records):
        with formatter.section(title):
            formatter.write_dl([record for record in records if record is not None])


def command(name: str, takes: str = "", **more: Any) -> Callable[[Callable[..., Any]], Command]:
    return click.command(name, cls=Command, takes=takes, **more)


class CommandGroup(click.Group, Command):
    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from plumbline.system import mistakes

        word, commands = args[0], self.list_commands(ctx)
        if word not in commands and (near := mistakes.near_to(word, commands)):
            ctx.fail(f"No such command '{word}'. (Did you mean {' or '.join(near)}?)")
        return super().resolve_command(ctx, args)


class Lazy(CommandGroup):
    """A group that imports a command when it is called. `groups`: what each command does, by the
    title of its group and its name; its module is `prefix` and the name, with the function
    `command`. `renamed`: what is typed in place of commands of earlier versions."""

    def __init__(
        self,
        *args: Any,
        groups: Mapping[str, Mapping[str, str]],
        prefix: str,
        renamed: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self._groups = groups
        self._renamed = renamed or {}
        self._names = [name for words in groups.values() for name in words]
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._names)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self._renamed:
            path = ctx.command_path
            raise errors.UsageError(f"{path} {args[0]} is now: {path} {self._renamed[args[0]]}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names or cmd_name in self.commands:
            return self.commands.get(cmd_name)
        module = importlib.import_module(f"{self._prefix}{cmd_name}")
        loaded: click.Command = module.command
        return loaded

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the names of commands, none of which is imported, or options."""
        from click.shell_completion import CompletionItem

        summaries = {name: what for words in self._groups.values() for name, what in words.items()}
        return [
            *(
                CompletionItem(name, help=what)
                for name, what in summaries.items()
                if name.startswith(incomplete)
            ),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self._names))
        for title, words in self._groups.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), what) for name, what in words.items()])


def command_line() -> str:
    """Return the command that the user typed, without `--new`: typed again it continues."""
    return errors.typed(*(word for word in words() if word != "--new"))


def words() -> tuple[str, ...]:
    """Return the words of the command line behind the program's name."""
    typed_words: tuple[str, ...] = click.get_current_context().meta[_WORDS]
    return typed_words


def typed(ctx: click.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that stand on the command line: the other values may come from a campaign
    file."""
    line = ParameterSource.COMMANDLINE
    return {name: values[name] for name in values if ctx.get_parameter_source(name) is line}
