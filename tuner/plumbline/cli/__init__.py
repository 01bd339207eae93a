"""The command line: one file per command. Only this package prints."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from pathlib import Path

import click

from plumbline.system import ending, version
from plumbline_db.errors import PlumblineError, UsageError, of_machine

from . import base, options, streams

# Environment variables that name files of Plumbline.
_PLACES = ("PLUMBLINE_", "XDG_", "HOME")

# What each command does, by group and name; its module has the same name, with the function
# `command`.
GROUPS = {
    "Tune an installation": {
        "doctor": "What works here, what does not, and what to do about it.",
        "build": "Build probe and preload library for an MPI library.",
        "campaign": "Measure, verify, search, confirm, export: the whole loop.",
        "results": "Winners, violation tables and pages of a campaign.",
        "export": "Write the winners as files that users source.",
        "apply": "Put the winners in force for a user or a site; undo it.",
        "check": "Check the winners by programs that users would take.",
        "lint": "What is wrong with rules files and environments.",
        "watch": "Watch campaigns for ever; tune again what becomes slower.",
    },
    "Measure": {
        "verify": "Measure the library as it is, or explain the guidelines.",
        "measure": "Measure one function in several variants, or ping-pongs.",
        "suite": "Run suites of measurements that a file describes.",
        "variants": "Our alternatives to each function, and the best of them.",
        "overlap": "How much of a message goes on beside computation.",
        "platform": "The platform file of a simulated machine, or of a twin.",
        "reproducibility": "How far the measurements themselves can be trusted here.",
    },
    "Your application": {
        "run": "Start an application with the winners in force.",
        "profile": "Record which collectives an application spends its time in.",
        "record": "Record what an application sends; convert a recording.",
        "detect": "Find collectives that an application makes by hand.",
        "advise": "Library, tuned, or made by hand: which one to call.",
    },
    "Show and compare": {
        "compare": "Compare two libraries, versions or settings, cell by cell.",
        "serve": "Answer /metrics and pages from the database.",
    },
    "The program itself": {"db": "Check the database, or back it up."},
}
# Commands of earlier versions, and what is typed in their place.
RENAMED = {
    "history": "compare --history",
    "rollback": "apply --undo",
    "pingpong": "measure pingpong",
    "nrep": "measure FUNCTION --nrep",
    "guidelines": "verify --list",
    "convert": "record --convert",
    "report": "results --report",
    "completion": "--completion",
}
COMMANDS = {name: what for group in GROUPS.values() for name, what in group.items()}


def _complete(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    """Print the script of a shell, and end."""
    del param
    if shell is None or ctx.resilient_parsing:
        return
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell) or ShellComplete
    # The bash on PATH is not checked: the script may be for another one.
    completed = kind(ctx.command, {}, "plumbline", "_PLUMBLINE_COMPLETE")
    click.echo(completed.source_template % completed.source_vars())
    ctx.exit()


@click.group(
    cls=base.Lazy,
    groups=GROUPS,
    renamed=RENAMED,
    prefix="plumbline.cli.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(version.PLUMBLINE, prog_name="plumbline")
@click.option(
    "--mpi",
    type=click.Path(path_type=Path, file_okay=False),
    help="Prefix of the MPI installation, or module:NAME (unset: the mpirun on PATH).",
)
@click.option(
    "--db",
    type=click.Path(path_type=Path),
    help="Database file (unset: PLUMBLINE_DB, or a place of its own).",
)
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    callback=_complete,
    is_eager=True,
    expose_value=False,
    help="Print what makes a shell complete commands and values.",
)
@options.shared
def plumbline(program: base.ProgramOptions, **shared: object) -> None:
    """Find MPI collectives that are slower than they should be, and install faster settings.

    Options may stand before the name of a command or after it.

    \b
    Example:
      plumbline doctor
      plumbline campaign
      plumbline results
    """


def main() -> None:
    """Entry point. Exit codes: 0 fine, 1 failed, 2 usage, 3 violations found, 75 try later."""
    # Millions of records are read and none of them is part of a circle.
    gc.set_threshold(100_000, 50, 100)
    streams.prepare()
    try:
        _require_text()
        with ending.by_signals(), of_machine():
            status = plumbline.main(prog_name="plumbline", standalone_mode=False)
            sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except click.Abort as abort:
        cause = abort.__cause__
        number = cause.signal if isinstance(cause, ending.Ended) else signal.SIGINT
        how = "interrupted" if number == signal.SIGINT else f"stopped ({number.name})"
        kept = getattr(cause, "__notes__", [])
        with contextlib.suppress(OSError):  # the terminal may be gone
            click.echo("; ".join([how, *kept]), err=True)
        status = 128 + number
    except PlumblineError as error:
        click.echo(f"plumbline: {error}", err=True)
        status = error.exit_code
    except MemoryError:
        click.echo(
            "plumbline: out of memory: close other programs, raise the limit (ulimit -v), or ask "
            "for less at a time; a damaged file can cause this too",
            err=True,
        )
        status = 1
    except ModuleNotFoundError as error:
        text = version.missing_extra(error.name)
        if text is None:
            raise
        click.echo(f"plumbline: {text}", err=True)
        status = 1
    sys.exit(status if isinstance(status, int) else 0)


def _require_text() -> None:
    """Raises UsageError where a path is no text: files, the database and JSON hold UTF-8 alone."""
    try:
        words = [*sys.argv[1:], os.getcwd()]
    except OSError as error:
        raise UsageError(
            f"the current folder was removed ({error.strerror}): change to another folder"
        ) from error
    words += [value for name, value in os.environ.items() if name.startswith(_PLACES)]
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{word!r} is not UTF-8: rename it to a name that is") from error
