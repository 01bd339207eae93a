"""Groups whose commands are imported when they run, and whose help stands in the group, so that
`--help` answers at once."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class Lazy(click.Group):
    """`words`: what each command does, by name; its module is `prefix` and the name, with the
    function `command`."""

    def __init__(self, *args: Any, words: Mapping[str, str], prefix: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self._words = words
        self._prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._words)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._words:
            return None
        module = importlib.import_module(f"{self._prefix}{cmd_name}")
        found: click.Command = module.command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._words.items()))
