"""plumbline watch"""

from __future__ import annotations

import signal
from pathlib import Path

import click

from plumbline.system import ending
from plumbline_db.errors import command_name

from . import base, common, progress
from .base import Program


@base.command("watch", takes="db json")
@click.option("--once", is_flag=True, help="Do what is due now, and end: for a timer.")
@click.option("--status", is_flag=True, help="Show how watching stands; start nothing.")
@click.option("--check", is_flag=True, help="Read FILE, and say what would be done and when.")
@click.option("--example", is_flag=True, help="Print a commented configuration.")
@click.argument(
    "file", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
def command(
    program: Program, once: bool, status: bool, check: bool, example: bool, file: Path | None
) -> int:
    """Watch finished campaigns for ever, and tune again what becomes slower.

    Small measurements between campaigns find changes; what is confirmed is searched, and with
    auto_apply put in force. FILE is its configuration (TOML; keys in docs/daemon.md). SIGTERM ends
    it, SIGHUP reads FILE again. Exit code 75 if another one watches already.

    \b
    Example:
      plumbline watch --example > watch.toml && plumbline watch --check watch.toml
    """
    if once + status + check + example > 1:
        raise click.UsageError("--once, --status, --check and --example exclude each other")
    if program.json and not (status or check):
        raise click.UsageError("--json needs --status or --check")
    if example:
        from plumbline.daemon import configuration

        click.echo(configuration.example(), nl=False)
        return 0
    if status:
        return _status(program)
    if check:
        return _check(program, file)
    if file is None:
        raise click.UsageError(
            f"name a configuration: `{command_name()} watch --example > watch.toml` writes one "
            f"with all defaults, `{command_name()} watch --check watch.toml` shows what would be "
            "done"
        )
    return _run(program, file, once=once)


def _say(text: str) -> None:
    progress.say(text, "%Y-%m-%d %H:%M:%S%z")


def _run(program: Program, file: Path, *, once: bool) -> int:
    from plumbline.daemon.service import Service, Signals

    from .serving import Beside

    service = Service(program.database, file, _say)
    if once:
        done = service.once()
        _say(done.because or f"{done.step.value} {done.campaign}".strip())
        return 1 if done.error else 0
    try:
        service.run(Signals(), Beside(program.database, _say))
    except ending.Ended as ended:
        if ended.signal is not signal.SIGTERM:
            raise
        _say("stopped; what was measured is kept")
    return 0


def _status(program: Program) -> int:
    from plumbline.daemon import status
    from plumbline.daemon.moments import utc_now

    from . import watch_tables

    standing = status.read(program.database, utc_now())
    common.answer(program, standing, watch_tables.of_status(standing))
    return 0


def _check(program: Program, file: Path | None) -> int:
    from plumbline.daemon import status
    from plumbline.daemon.moments import utc_now

    from . import watch_tables

    plan = status.read_plan(program.database, file, utc_now)
    common.answer(program, plan, watch_tables.of_plan(plan))
    return 0
