"""Runs the command line in this process, as its entry point would."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, TextIO

import click

from plumbline.cli import base, main
from plumbline.cli import plumbline as group


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def plumbline(*words: object) -> Result:
    """Exit status and output of `plumbline words…`. An exception that is a bug passes through."""
    out, err = io.StringIO(), io.StringIO()
    status = _status(words, out, err)
    return Result(status, out.getvalue(), err.getvalue())


def printed_to_file(*words: object) -> str:
    """Return what `plumbline words…` prints on both streams where these are files, so that the
    command cleans the text as in a process of its own."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        _status(words, file, file)
        file.seek(0)
        return file.read()


def _status(words: tuple[object, ...], out: TextIO, err: TextIO) -> int:
    before = sys.argv
    sys.argv = ["plumbline", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    finally:
        sys.argv = before
    raise AssertionError("main() came back without an exit status")


def taken(*words: str) -> tuple[click.Command, list[click.Option]]:
    """The command that these words call, and the options that it takes, wherever they are defined.
    Raises LookupError where there is none."""
    command: click.Command = group
    context = click.Context(group, info_name="plumbline", **group.context_settings)
    for word in words:
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        found = command.get_command(context, word)
        if found is None:
            raise LookupError(f"no command {word}")
        command, context = found, click.Context(found, parent=context, info_name=word)
    assert isinstance(command, base.Command)
    own = [*command.also, *command.params]
    every = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    return command, [one for one in every if one in own or one.name in command.takes]
