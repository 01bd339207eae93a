"""Values that a shell completes: campaigns of the database, functions, guidelines, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import click
from click.shell_completion import CompletionItem

from plumbline_db.errors import PlumblineError

from .base import Program

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def campaigns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest first, but for names that a shell would not take as a word; none where the
    database cannot be read."""
    from plumbline_db import campaigns as stored
    from plumbline_db import outside
    from plumbline_db.connection import Database

    del param
    program = ctx.params.get("program") or Program(db=ctx.find_root().params.get("db"))
    try:
        with Database.open(program.database) as db:
            names = [campaign.id for campaign in reversed(stored.every(db))]
    except PlumblineError:
        return []
    return _beginning(filter(outside.NAME.match, names), incomplete)


def _of(words_by_name: Callable[[], Mapping[str, str | None]]) -> Complete:
    """Return that of names, with what they say."""

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


functions, formats = _of(_functions), _of(_formats)

# Completions of options, by their names.
OF_OPTIONS: dict[str, Complete] = {
    "campaign": campaigns,
    "format_name": _of(_linted),
    "functions": functions,
    "guidelines": _of(_guidelines),
}


def _beginning(
    names: Iterable[str], incomplete: str, says: Callable[[str], str | None] = lambda name: None
) -> list[CompletionItem]:
    """Also after a comma."""
    before, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(before + comma + name, help=says(name))
        for name in names
        if name.startswith(word)
    ]
