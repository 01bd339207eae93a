"""plumbline guidelines"""

from __future__ import annotations

import click

from plumbline_db.errors import UsageError

from . import base, common
from .base import Program


@base.command("guidelines", takes="json")
@click.argument("ids", nargs=-1, metavar="[ID]...")
def command(program: Program, ids: tuple[str, ...]) -> None:
    """The guidelines: what each says, what it compares, and where it is from.

    \b
    Example:
      plumbline guidelines
      plumbline guidelines GL12 GL1
    """
    from plumbline.core import guidelines
    from plumbline.system import mistakes

    ids = tuple(id.strip().upper() for text in ids for id in text.split(","))
    explained = {guideline.id: guideline for guideline in guidelines.explained(guidelines.load())}
    unknown = [id for id in ids if id not in explained]
    if unknown:
        raise UsageError(
            f"unknown guideline {', '.join(unknown)}{mistakes.instead(unknown, explained)}"
        )
    chosen = [explained[id] for id in ids] or list(explained.values())
    if program.json:
        common.print_json(chosen)
        return
    for each in chosen:
        usual = "" if each.default else "  (verified when asked for)"
        click.echo(f"{each.id:5} {each.name}{usual}")
        if ids:
            for line in (each.meaning, f"right side: {each.right_side}", f"from: {each.source}"):
                click.echo(f"      {line}")
