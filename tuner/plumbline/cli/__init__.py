"""The command line: one file per command. Only this package prints."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

import click

from plumbline.system import ending, extras, version
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
        "results": "Violation tables, winners and costs of a campaign.",
        "export": "Write the winners as files that users source.",
        "apply": "Put the winners in force for a user or a site, or undo that.",
        "check": "Check the winners by programs that users would take.",
        "lint": "What is wrong with rules files and environments.",
        "watch": "Watch campaigns for ever; tune again what becomes slower.",
    },
    "Measure": {
        "verify": "Measure the library as it is and print its violation table.",
        "measure": "Measure one function side by side in several variants.",
        "suite": "Run suites of measurements that a file describes.",
        "variants": "Our alternatives to each function, and the best of them.",
        "nrep": "How many repetitions each function and size needs.",
        "pingpong": "Latency and bandwidth between ranks, by class of pair.",
        "overlap": "How much of a message goes on beside computation.",
        "platform": "The platform file of a simulated machine, or of a twin.",
        "reproducibility": "How far the measurements themselves can be trusted here.",
        "guidelines": "The guidelines: what each says, and what it is made of.",
    },
    "Your application": {
        "run": "Start an application with the winners in force.",
        "profile": "Record which collectives an application spends its time in.",
        "record": "Record what an application sends and receives.",
        "detect": "Find collectives that an application makes by hand.",
        "convert": "Write a recording in the format of another tool.",
        "advise": "Library, tuned, or made by hand: which one to call.",
    },
    "Show and compare": {
        "compare": "Compare two libraries, versions or settings, cell by cell.",
        "history": "What comparisons have found from release to release.",
        "report": "Write pages that open without a server, and a PDF.",
        "serve": "Answer /metrics and pages from the database.",
    },
    "The program itself": {
        "completion": "What makes a shell complete commands and values.",
        "db": "Check the database, or back it up.",
    },
}
# Commands of earlier versions, and what is typed in their place.
RENAMED = {
    "rollback": "apply --undo",
}
COMMANDS = {name: what for group in GROUPS.values() for name, what in group.items()}


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
@options.shared
def plumbline(program: base.Program, **shared: object) -> None:
    """Keeps an MPI installation true to its performance guidelines.

    Options may stand before the name of a command or after it.

    \b
    Example:
      plumbline doctor
      plumbline campaign
      plumbline results
    """


def main() -> None:
    """Entry point. Exit codes: 0 fine, 1 failed, 2 usage, 3 violations found, 75 try later."""
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
        text = extras.missing(error.name)
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
