"""Man pages of all commands, by click-man, into a folder: python packaging/man.py FOLDER."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
from click_man.core import write_man_pages

from plumbline.cli import COMMANDS, base, plumbline
from plumbline.system import version

# Of a help text, what is not to be filled: from its mark to the next heading.
_EXAMPLE = re.compile(r"\x08\n((?:(?!\.(?:PP|SH)\b).*\n?)*)")


def load(group: click.Group, above: click.Context) -> None:
    """Commands that are imported when they run, as click-man looks for them; with the parameters
    that a command shares with another one."""
    context = click.Context(group, info_name=group.name, parent=above)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if not isinstance(command, base.Command):
            continue
        group.commands[name] = command
        command.params = [*command.also, *command.params]
        command.short_help = dict(COMMANDS).get(name)
        if isinstance(command, click.Group):
            load(command, context)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    load(plumbline, click.Context(plumbline))
    write_man_pages("plumbline", plumbline, version=version.PLUMBLINE, target_dir=str(folder))
    for page in folder.glob("plumbline*.1"):
        page.write_text(_EXAMPLE.sub(r".nf\n\1.fi\n", page.read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
