"""Values that a shell completes: campaigns of the database, functions, guidelines, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from plumbline_db.errors import PlumblineError

from .base import Program

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def campaigns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest first; none where the database cannot be read."""
    from plumbline_db import campaigns as stored
    from plumbline_db.connection import Database

    del param
    program = ctx.params.get("program") or Program(db=ctx.find_root().params.get("db"))
    try:
        with Database.open(program.database) as db:
            names = [campaign.id for campaign in reversed(stored.every(db))]
    except PlumblineError:
        return []
    return _beginning(names, incomplete)


def functions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from plumbline.core import guidelines as guideline_file

    del ctx, param
    known = guideline_file.load(None).lhs_functions()
    return _beginning(sorted(known), incomplete)


def guidelines(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """With what they say."""
    from plumbline.core import guidelines as guideline_file

    del ctx, param
    known = {rule.id: rule.name for rule in guideline_file.load(None).entries()}
    return _beginning(known, incomplete, known.get)


def formats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from plumbline_exporters.registry import exporters

    del ctx, param
    return _beginning(exporters(), incomplete, lambda name: exporters()[name].summary)


def linted(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from plumbline_exporters.lint.formats import formats as known

    del ctx, param
    return _beginning(known(), incomplete)


# Of options, by their names.
OF_OPTIONS: dict[str, Complete] = {
    "campaign": campaigns,
    "format_name": linted,
    "functions": functions,
    "guidelines": guidelines,
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
