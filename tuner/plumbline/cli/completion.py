"""plumbline completion"""

from __future__ import annotations

import click

from . import base

SHELLS = ("bash", "zsh", "fish")


@base.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, campaigns, functions and formats.

    \b
    Example:
      plumbline completion bash >~/.local/share/bash-completion/completions/plumbline
      plumbline completion zsh >"${fpath[1]}/_plumbline"
      plumbline completion fish >~/.config/fish/completions/plumbline.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell) or ShellComplete
    # The bash on PATH is not checked: the script may be for another one.
    completed = kind(ctx.find_root().command, {}, "plumbline", "_PLUMBLINE_COMPLETE")
    click.echo(completed.source_template % completed.source_vars())
