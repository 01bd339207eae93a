"""The state of watching, and what it would do, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from plumbline.system.words import counted
from plumbline_db.errors import command_name

if TYPE_CHECKING:
    from plumbline.daemon.status import CampaignStatus, NoisyCell, Status, WatchPlan
    from plumbline_db.watch_records import CellAlarm, Watch


_MOST_NAMED = 5


def of_status(status: Status) -> Iterator[RenderableType]:
    watch = status.watch
    if watch is None:
        yield Text(f"nothing was ever watched here: {command_name()} watch --example")
        return
    yield Text(f"watched by {status.holder.named}" if status.holder else _ended(watch))
    if watch.stepped:
        yield Text(f"last step: {watch.step}, {watch.stepped}")
    for label, text in (
        ("waits", watch.waits_for),
        ("next canary", watch.next_canary),
        ("configuration", f"{watch.file or 'all defaults'}, read {watch.read}"),
        ("configuration refused", f"{watch.refused} ({watch.refused_at})" if watch.refused else ""),
        ("newest backup", f"{status.backup.path}, {status.backup.made}" if status.backup else ""),
        ("last error", f"{watch.error} ({watch.failed})" if watch.error else ""),
    ):
        if text:
            yield Text(f"{label}: {text}")
    if status.days:
        today = status.days[-1]
        used = sum(day.node_seconds for day in status.days)
        missed = sum(day.missed for day in status.days)
        yield Text(
            f"node-seconds: {today.node_seconds:.0f} on {today.day}, {used:.0f} in seven days; "
            f"canaries missed in seven days: {missed}"
        )
    yield Text()
    for campaign in status.campaigns:
        yield from _of_campaign(campaign)
    if status.alarms:
        yield _alarms(status.alarms)
    for retuning in status.retunings:
        generation = f", generation {retuning.generation}" if retuning.generation else ""
        text = f"search of {retuning.opened}: {retuning.state}{generation}. {retuning.because}"
        yield Text(f"{text}. {retuning.detail}" if retuning.detail else text)


def _ended(watch: Watch) -> str:
    if watch.state == "stopped":
        return "nobody watches now; the last one has stopped"
    return f"nobody watches now; process {watch.pid} on {watch.host} ended without a word"


def _of_campaign(campaign: CampaignStatus) -> Iterator[RenderableType]:
    yield Text(f"campaign {campaign.campaign}")
    days = campaign.age_seconds / 86400
    yield Text(
        f"  table: {campaign.table_cells} cells, {days:.1f} days old"
        + (f"; out of date: {campaign.stale}" if campaign.stale else "")
    )
    resolution = (
        "what can be found is not known yet"
        if campaign.resolution is None
        else f"half of them show {100 * campaign.resolution:.0f} % within six canaries"
    )
    yield Text(
        f"  watched: {campaign.cells} cells beside {campaign.references} reference cases, "
        f"{campaign.learning} still learning; {resolution}"
    )
    if campaign.noisy:
        yield Text(
            f"  10 % are not found in time in {counted(len(campaign.noisy), 'cell')} of "
            f"{campaign.cells}: "
            f"{_named(campaign.noisy)}"
        )
    force = f"generation {campaign.generation}" if campaign.generation else "the exported files"
    yield Text(
        f"  in force: {force}; slowest cell now {campaign.slowest:.2f} times what was learnt"
    )
    if campaign.last is not None:
        detail = f", {campaign.last.detail}" if campaign.last.detail else ""
        yield Text(f"  last canary: {campaign.last.started}, {campaign.last.outcome}{detail}")
    if campaign.due:
        yield Text(f"  next canary: {campaign.due}")


def _named(noisy: list[NoisyCell]) -> str:
    """The worst, and what would show it there."""
    words = [
        f"{cell.function} at {cell.bytes} B (with {cell.launches} launches a canary)"
        for cell in noisy[:_MOST_NAMED]
    ]
    more = len(noisy) - len(words)
    return "; ".join([*words, f"and {more} more (--json)"] if more else words)


def _alarms(alarms: list[CellAlarm]) -> Table:
    heads = ("found", "cell", "largest", "state", "detail")
    table = Table(*heads, title="alarms", title_justify="left")
    for alarm in alarms:
        table.add_row(
            alarm.found,
            f"{alarm.function} {alarm.bytes} B",
            f"{alarm.largest:.2f}",
            alarm.state,
            alarm.detail,
        )
    return table


def of_plan(plan: WatchPlan) -> Iterator[RenderableType]:
    yield Text(f"{plan.file or 'all defaults'}: read")
    yield Text(f"watches {'; '.join(plan.asks_for)}")
    yield Text(
        f"at most {plan.canaries_a_day:.0f} canaries a day of at most {plan.cells} cells; "
        f"a cell is watched after {plan.learning_days:.1f} days of them"
    )
    yield Text(f"may measure from {plan.open_from or 'no moment on'}")
    for planned in plan.campaigns:
        doing = f"{planned.step}: {planned.because}" if planned.because else planned.step
        missed = f"; missed before it: {planned.missed}" if planned.missed else ""
        yield Text(f"{planned.campaign}: {doing}; canary due {planned.canary or 'never'}{missed}")
    where = plan.scope or "nowhere: exported files are watched"
    yield Text(f"applies {'by itself' if plan.auto_apply else 'nothing by itself'}; {where}")
    yield Text(f"tells by {', '.join(plan.told_by) or 'metrics and --status alone'}")
