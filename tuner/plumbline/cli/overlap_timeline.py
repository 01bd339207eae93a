"""plumbline overlap timeline"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from plumbline.overlap.benches import Aid, OverlapSettings
from plumbline_db.errors import UsageError
from plumbline_db.probe_records import OverlapTrace, ProbeRecord

from . import base, common, options, progress
from .base import ProgramOptions
from .overlap import MEASURING, RANKS

if TYPE_CHECKING:
    from plumbline.overlap.timeline import Part, Timeline


_MESSAGES = 8  # in the text


_STANDING = {"benches": "sender", "sizes": "524288", "work": "200"} | options.usual("seed")
_LARGEST_BYTES, _LONGEST_US = 1 << 30, 10_000_000


class TimelineCell(NamedTuple):
    """The cell whose events are recorded, and what is in force."""

    knobs: tuple[str, ...]
    benches: str
    sizes: list[int]
    work: list[int]
    kernel: str
    aid: tuple[Aid, int]
    seed: int


class ShownTimeline(NamedTuple):
    """Options that say what is shown of it, and where."""

    picture: Path | None
    part: str
    output: Path | None


@base.command(
    "timeline",
    gathers={"cell": TimelineCell, "shown": ShownTimeline},
    takes=f"{MEASURING} knobs benches sizes work kernel aid picture",
    context_settings={"default_map": _STANDING},
    told={"nprocs": RANKS},
)
@click.option(
    "--part",
    type=click.Choice(["both", "communication", "all"]),
    default="both",
    help="Communication beside computation, communication alone, or one above the other.",
)
@click.option(
    "--output",
    type=options.NewFile(),
    help="Write all events into this file, for Perfetto or Chrome's tracing; of one benchmark.",
)
def command(
    program: ProgramOptions,
    campaign_file: Path | None,
    cell: TimelineCell,
    shown: ShownTimeline,
    new: bool,
    **asked: Any,
) -> int:
    """What happens when on all ranks, for a cell.

    Events of the last triples of a cell are recorded, and the repetition whose time is the median
    of theirs is shown: calls, computation, and when messages arrive (docs/overlap.md). The launch
    is stored in the database; the same command again reads it.

    \b
    Example:
      plumbline overlap timeline --benches sender --sizes 524288 --work 200 --picture sender.svg
      plumbline overlap timeline --benches receiver --part all --output receiver.json
    """
    from plumbline.measure.launches import LaunchStore
    from plumbline.overlap import benches, suite, timeline
    from plumbline.settings import starting
    from plumbline.settings.toolchain import find_toolchain

    chosen = benches.names(cell.benches)
    for name in chosen:
        if benches.of(name).bench in (benches.LOAD, benches.MULTIPLE):
            raise UsageError(f"{name} has threads; events are recorded of one thread a rank")
    size = _of_one_cell("--sizes", cell.sizes, _LARGEST_BYTES)
    work_us = _of_one_cell("--work", cell.work, _LONGEST_US)
    if shown.output is not None and len(chosen) > 1:
        raise UsageError("events are written of one benchmark; name one, or leave out --output")
    where = benches.settings(campaign_file, asked)
    toolchain = find_toolchain(program.mpi, settings=where, beside=program.database.parent)
    aid, test_ns = _aid(cell.aid)
    overlap_settings = OverlapSettings(
        where.ranks.nprocs,
        chosen,
        (size,),
        (1000 * work_us,),
        cell.kernel,
        aid,
        test_ns,
        benches.given(toolchain, cell.knobs, where),
        launches=1,
        seed=cell.seed,
        command="overlap timeline",
    )
    limit = benches.launch_limit(timeline.plan(overlap_settings, name) for name in chosen)
    starter = starting.starter(toolchain, benches.patient(where, limit))
    for name in chosen:
        starter.require(timeline.plan(overlap_settings, name).text())
    with program.open(write=True) as db:
        placement = where.ranks.placement(toolchain.launcher.processing_units())
        row = suite.begin(
            db,
            toolchain,
            overlap_settings,
            new=new,
            placement=placement,
            place=benches.facts(where),
        )
        if row.state != "finished":
            benches.require_in_force(starter, overlap_settings.knobs)
        with progress.Bar(in_all=len(chosen)) as bar:
            records = timeline.run(LaunchStore(db, row.id, starter, bar), row, overlap_settings)
    parts: tuple[Part, ...] = ("communication", "both")
    chosen_parts = [part for part in parts if shown.part in (part, "all")]
    timelines = [
        drawn for name in chosen for drawn in timeline.timelines(records[name], chosen_parts)
    ]
    if shown.picture is not None:
        from plumbline.overlap import timeline_chart

        sheet = timeline_chart.sheet(
            suite.title(toolchain.installation.library, overlap_settings), timelines
        )
        common.draw(shown.picture, sheet)
    if shown.output is not None:
        common.write(shown.output, _trace_file(timelines[0], records[chosen[0]]))
    if program.json:
        common.print_json({"id": row.id, "timelines": [_told(timeline) for timeline in timelines]})
    else:
        click.echo("\n\n".join("\n".join(_summary(timeline)) for timeline in timelines))
        for path in filter(None, (shown.picture, shown.output)):
            click.echo(path)
    return 0


def _aid(chosen: tuple[Aid, int]) -> tuple[Aid, int]:
    """Return the aid and its nanoseconds. Raises UsageError for a thread."""
    aid, microseconds = chosen
    if aid not in ("none", "test"):
        raise UsageError(f"--aid {aid}: a timeline has no threads; choose test:US or none")
    return aid, 1000 * microseconds


def _of_one_cell(name: str, numbers: Sequence[int], largest: int) -> int:
    if len(numbers) != 1 or not 1 <= numbers[0] <= largest:
        raise click.UsageError(
            f"a timeline is of one cell: name one of {name}, from 1 to {largest}"
        )
    return numbers[0]


def _trace_file(drawn_timeline: Timeline, records: Sequence[ProbeRecord]) -> bytes:
    from plumbline.overlap import timeline, timeline_chart

    traces = [record for record in records if isinstance(record, OverlapTrace)]
    return msgspec.json.encode(
        timeline.trace_document(timeline_chart.cell_words(drawn_timeline.cell), traces)
    )


def _told(told_timeline: Timeline) -> dict[str, Any]:
    from plumbline.overlap import timeline

    document: dict[str, Any] = msgspec.to_builtins(told_timeline)
    for lists in ("communication_ns", "computation_ns", "both_ns"):
        del document["cell"][lists]
    document["split_ns"] = {
        rank: timeline.split(told_timeline, rank) for rank in told_timeline.lanes
    }
    for message_document, message in zip(document["messages"], told_timeline.messages, strict=True):
        message_document["beside_computation_ns"] = {
            rank: timeline.beside(told_timeline, message, rank)
            for rank in (message.sender, message.receiver)
        }
    return document


def _summary(shown_timeline: Timeline) -> list[str]:
    from plumbline.overlap import timeline, timeline_chart

    lines = [timeline_chart.heading(shown_timeline), f"  {timeline_chart.times(shown_timeline)}"]
    for rank in shown_timeline.lanes:
        spent = ", ".join(
            f"{kind} {ns / 1000:.1f}"
            for kind, ns in timeline.split(shown_timeline, rank).items()
            if ns
        )
        rank_words = f"rank {rank} ({timeline_chart.role(shown_timeline, rank)})".replace(" ()", "")
        lines.append(f"  {rank_words}, µs: {spent}")
    for message in shown_timeline.messages[:_MESSAGES]:
        length = max(1, message.latest_ns - message.begin_ns)
        shares = " and ".join(
            f"{100 * timeline.beside(shown_timeline, message, rank) / length:.0f} % of it while "
            f"rank {rank} "
            "computes"
            for rank in (message.sender, message.receiver)
        )
        lines.append(
            f"  message {message.sender} → {message.receiver}: sent at "
            f"{message.begin_ns / 1000:.1f} µs, there between {message.earliest_ns / 1000:.1f} and "
            f"{message.latest_ns / 1000:.1f} µs; under way for {length / 1000:.1f} µs, {shares}"
        )
    if len(shown_timeline.messages) > _MESSAGES:
        lines.append(f"  and {len(shown_timeline.messages) - _MESSAGES} more (--json)")
    return [*lines, f"  {timeline_chart.clock_words(shown_timeline.clock)}"]
