"""plumbline watch"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plumbline.system import ending
from plumbline.system.words import counted
from plumbline_db.errors import command_name

from . import base, common, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from plumbline.daemon.status import CampaignStatus, NoisyCell, Status, WatchPlan
    from plumbline_db.watching import CellAlarm, Watch


@base.command("watch", takes="db json")
@click.option("--once", is_flag=True, help="Do what is due now, and end: for a timer.")
@click.option("--status", is_flag=True, help="Show how watching stands; start nothing.")
@click.option("--check", is_flag=True, help="Read FILE, and say what would be done and when.")
@click.option("--example", is_flag=True, help="Print a commented configuration.")
@click.argument(
    "file", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
def command(
    program: ProgramOptions, once: bool, status: bool, check: bool, example: bool, file: Path | None
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


def _run(program: ProgramOptions, file: Path, *, once: bool) -> int:
    from plumbline.daemon.service import Service, Signals

    from .serve import ServerThread

    service = Service(program.database, file, _say)
    if once:
        done = service.once()
        _say(done.because or f"{done.step.value} {done.campaign}".strip())
        return 1 if done.error else 0
    try:
        service.run(Signals(), ServerThread(program.database, _say))
    except ending.Ended as ended:
        if ended.signal is not signal.SIGTERM:
            raise
        _say("stopped; what was measured is kept")
    return 0


def _status(program: ProgramOptions) -> int:
    from plumbline.daemon import status
    from plumbline.daemon.windows import utc_now

    standing = status.read(program.database, utc_now())
    common.answer(program, standing, of_status(standing))
    return 0


def _check(program: ProgramOptions, file: Path | None) -> int:
    from plumbline.daemon import status
    from plumbline.daemon.windows import utc_now

    plan = status.read_plan(program.database, file, utc_now)
    common.answer(program, plan, _of_plan(plan))
    return 0


# --- what is shown --------------------------------------------------------------------------------

_MOST_NAMED = 5


def of_status(status: Status) -> Iterator[RenderableType]:
    watch = status.watch
    if watch is None:
        yield f"nothing was ever watched here: {command_name()} watch --example"
        return
    yield (f"watched by {status.holder.named}" if status.holder else _ended(watch))
    if watch.stepped:
        yield f"last step: {watch.step}, {watch.stepped}"
    for label, text in (
        ("waits", watch.waits_for),
        ("next canary", watch.next_canary),
        ("configuration", f"{watch.file or 'all defaults'}, read {watch.read}"),
        ("configuration refused", f"{watch.refused} ({watch.refused_at})" if watch.refused else ""),
        ("newest backup", f"{status.backup.path}, {status.backup.made}" if status.backup else ""),
        ("last error", f"{watch.error} ({watch.failed})" if watch.error else ""),
    ):
        if text:
            yield f"{label}: {text}"
    if status.days:
        today = status.days[-1]
        used = sum(day.node_seconds for day in status.days)
        missed = sum(day.missed for day in status.days)
        yield (
            f"node-seconds: {today.node_seconds:.0f} on {today.day}, {used:.0f} in seven days; "
            f"canaries missed in seven days: {missed}"
        )
    yield ""
    for campaign in status.campaigns:
        yield from _of_campaign(campaign)
    if status.alarms:
        yield _alarms(status.alarms)
    for retuning in status.retunings:
        generation = f", generation {retuning.generation}" if retuning.generation else ""
        text = f"search of {retuning.opened}: {retuning.state}{generation}. {retuning.because}"
        yield (f"{text}. {retuning.detail}" if retuning.detail else text)


def _ended(watch: Watch) -> str:
    if watch.state == "stopped":
        return "nobody watches now; the last one has stopped"
    return f"nobody watches now; process {watch.pid} on {watch.host} ended without a word"


def _of_campaign(campaign: CampaignStatus) -> Iterator[RenderableType]:
    yield f"campaign {campaign.campaign}"
    days = campaign.age_seconds / 86400
    yield (
        f"  table: {campaign.table_cells} cells, {days:.1f} days old"
        + (f"; out of date: {campaign.stale}" if campaign.stale else "")
    )
    resolution = (
        "what can be found is not known yet"
        if campaign.resolution is None
        else f"half of them show {100 * campaign.resolution:.0f} % within six canaries"
    )
    yield (
        f"  watched: {campaign.cells} cells beside {campaign.references} reference cases, "
        f"{campaign.learning} still learning; {resolution}"
    )
    if campaign.noisy:
        yield (
            f"  10 % are not found in time in {counted(len(campaign.noisy), 'cell')} of "
            f"{campaign.cells}: "
            f"{_named(campaign.noisy)}"
        )
    force = f"generation {campaign.generation}" if campaign.generation else "the exported files"
    yield f"  in force: {force}; slowest cell now {campaign.slowest:.2f} times what was learnt"
    if campaign.last is not None:
        detail = f", {campaign.last.detail}" if campaign.last.detail else ""
        yield f"  last canary: {campaign.last.started}, {campaign.last.outcome}{detail}"
    if campaign.due:
        yield f"  next canary: {campaign.due}"


def _named(noisy: list[NoisyCell]) -> str:
    """The worst, and what would show it there."""
    words = [
        f"{cell.function} at {cell.bytes} B (with {cell.launches} launches a canary)"
        for cell in noisy[:_MOST_NAMED]
    ]
    more = len(noisy) - len(words)
    return "; ".join([*words, f"and {more} more (--json)"] if more else words)


def _alarms(alarms: list[CellAlarm]) -> Table:
    from rich.table import Table

    heads = ("found", "cell", "largest", "state", "detail")
    rows = [
        (
            alarm.found,
            f"{alarm.function} {alarm.bytes} B",
            f"{alarm.largest:.2f}",
            alarm.state,
            alarm.detail,
        )
        for alarm in alarms
    ]
    return common.filled(Table(*heads, title="alarms", title_justify="left"), rows)


def _of_plan(plan: WatchPlan) -> Iterator[RenderableType]:
    yield f"{plan.file or 'all defaults'}: read"
    yield f"watches {'; '.join(plan.asks_for)}"
    yield (
        f"at most {plan.canaries_a_day:.0f} canaries a day of at most {plan.cells} cells; "
        f"a cell is watched after {plan.learning_days:.1f} days of them"
    )
    yield f"may measure from {plan.open_from or 'no moment on'}"
    for planned in plan.campaigns:
        doing = f"{planned.step}: {planned.because}" if planned.because else planned.step
        missed = f"; missed before it: {planned.missed}" if planned.missed else ""
        yield f"{planned.campaign}: {doing}; canary due {planned.canary or 'never'}{missed}"
    where = plan.scope or "nowhere: exported files are watched"
    yield f"applies {'by itself' if plan.auto_apply else 'nothing by itself'}; {where}"
    yield f"tells by {', '.join(plan.told_by) or 'metrics and --status alone'}"
