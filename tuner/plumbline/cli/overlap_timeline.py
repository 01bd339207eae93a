"""plumbline overlap timeline"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import common

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plumbline.overlap.timeline import Part, Timeline
    from plumbline_db.records import ProbeRecord


_MESSAGES = 8  # in the text


@click.command("timeline", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--bench",
    "benches",
    default="sender",
    show_default=True,
    help="Benchmarks, with commas between; see plumbline overlap --help.",
)
@click.option("--bytes", "size", type=click.IntRange(1, 1 << 30), default=524288, show_default=True)
@click.option(
    "--work",
    "work_us",
    type=click.IntRange(1, 10_000_000),
    default=200,
    show_default=True,
    help="Microseconds of work.",
)
@common.place_options
@click.option(
    "--kernel",
    type=click.Choice(["registers", "memory"]),
    default="registers",
    show_default=True,
    help="What the work is.",
)
@click.option("--test-us", type=click.IntRange(0), default=0, help="MPI_Test after so much work.")
@common.setting_option
@click.option(
    "--part",
    type=click.Choice(["both", "communication", "all"]),
    default="both",
    show_default=True,
    help="Communication beside computation, communication alone, or one above the other.",
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--picture", type=common.PictureFile(), help="Draw into this file: SVG, PNG or PDF.")
@click.option(
    "--trace",
    type=common.NewFile(),
    help="Write all events into this file, for Perfetto or Chrome's tracing; of one benchmark.",
)
@click.option("--new", is_flag=True, help="Measure afresh, though this was measured before.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    benches: str,
    size: int,
    work_us: int,
    nprocs: int | None,
    nodes: int | None,
    bind: str | None,
    map_by: str | None,
    campaign_file: Path | None,
    kernel: str,
    test_us: int,
    pairs: tuple[str, ...],
    part: str,
    seed: int,
    picture: Path | None,
    trace: Path | None,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
) -> int:
    """What happens when on all ranks, for a cell.

    Events of the last triples of a cell are recorded, and the repetition whose time is the median
    of theirs is shown: calls, computation, and when messages arrive (docs/overlap.md). The launch
    is stored in the database; the same command again reads it.

    \b
    Example:
      plumbline overlap timeline --bench sender --bytes 524288 --work 200 --picture sender.svg
      plumbline overlap timeline --bench receiver --part all --trace receiver.json
    """
    from plumbline.campaign import loop
    from plumbline.measure.launches import Laboratory
    from plumbline.overlap import benches as names
    from plumbline.overlap import duration, place, suite, timeline, traced
    from plumbline.overlap import knobs as settings_of
    from plumbline.overlap.settings import OverlapSettings
    from plumbline.settings.workbench import workbench
    from plumbline_db.connection import Database
    from plumbline_db.errors import UsageError

    chosen = names.names(benches)
    for name in chosen:
        if names.of(name).bench in (names.LOAD, names.MULTIPLE):
            raise UsageError(f"{name} has threads; events are recorded of one thread a rank")
    if trace is not None and len(chosen) > 1:
        raise UsageError("a trace file is of one benchmark; name one, or leave out --trace")
    asked = {"nprocs": nprocs, "nodes": nodes, "bind": bind, "map_by": map_by}
    where = place.settings(campaign_file, asked)
    database = common.database(db_path)
    bench = workbench(mpi_prefix, settings=where, beside=database.parent)
    wanted = OverlapSettings(
        where.ranks.nprocs,
        chosen,
        (size,),
        (1000 * work_us,),
        kernel,
        "test" if test_us else "none",
        1000 * test_us,
        settings_of.given(bench, pairs, where),
        launches=1,
        seed=seed,
        command="overlap timeline",
    )
    limit = duration.limit(traced.plan(wanted, name) for name in chosen)
    starter = loop.starter(bench, place.patient(where, limit))
    for name in chosen:
        refusal = starter.refusal(traced.plan(wanted, name).text())
        if refusal is not None:
            raise UsageError(f"the probe refuses this: {refusal}")
    with Database.open(database, write=True) as db:
        placement = where.ranks.placement(bench.launcher.processing_units())
        row = suite.begin(db, bench, wanted, new=new, placement=placement, place=place.facts(where))
        starter.keep_apart("".join(filter(str.isdigit, row.started))[:14])
        if row.state != "finished":
            settings_of.require_in_force(starter, wanted.knobs)
        with common.Bar(in_all=len(chosen)) as bar:
            records = traced.run(Laboratory(db, row.id, starter, bar), row, wanted)
    parts: tuple[Part, ...] = ("communication", "both")
    shown = [shown_part for shown_part in parts if part in (shown_part, "all")]
    found = [drawn for name in chosen for drawn in timeline.timelines(records[name], shown)]
    if picture is not None:
        from plumbline.overlap import timeline_chart
        from plumbline.system import chart

        sheet = timeline_chart.sheet(suite.title(bench.installation.library, wanted), found)
        common.write(picture, chart.drawn(sheet, picture))
    if trace is not None:
        common.write(trace, _trace_file(found[0], records[chosen[0]]))
    if as_json:
        common.print_json({"id": row.id, "timelines": [_told(timeline) for timeline in found]})
    else:
        click.echo("\n\n".join("\n".join(_summary(timeline)) for timeline in found))
        for path in filter(None, (picture, trace)):
            click.echo(path)
    return 0


def _trace_file(one: Timeline, records: Sequence[ProbeRecord]) -> bytes:
    import msgspec

    from plumbline.overlap import perfetto, timeline_chart
    from plumbline_db.records import OverlapTrace

    traces = [record for record in records if isinstance(record, OverlapTrace)]
    return msgspec.json.encode(perfetto.document(timeline_chart.cell_words(one.cell), traces))


def _told(one: Timeline) -> dict[str, Any]:
    import msgspec

    from plumbline.overlap import timeline

    found: dict[str, Any] = msgspec.to_builtins(one)
    for lists in ("communication_ns", "computation_ns", "both_ns"):
        del found["cell"][lists]
    found["split_ns"] = {rank: timeline.split(one, rank) for rank in one.lanes}
    for told, message in zip(found["messages"], one.messages, strict=True):
        told["beside_computation_ns"] = {
            rank: timeline.beside(one, message, rank) for rank in (message.sender, message.receiver)
        }
    return found


def _summary(one: Timeline) -> list[str]:
    from plumbline.overlap import timeline, timeline_chart

    lines = [timeline_chart.heading(one), f"  {timeline_chart.times(one)}"]
    for rank in one.lanes:
        spent = ", ".join(
            f"{kind} {ns / 1000:.1f}" for kind, ns in timeline.split(one, rank).items() if ns
        )
        who = f"rank {rank} ({timeline_chart.role(one, rank)})".replace(" ()", "")
        lines.append(f"  {who}, µs: {spent}")
    for message in one.messages[:_MESSAGES]:
        length = max(1, message.latest_ns - message.begin_ns)
        shares = " and ".join(
            f"{100 * timeline.beside(one, message, rank) / length:.0f} % of it while rank {rank} "
            "computes"
            for rank in (message.sender, message.receiver)
        )
        lines.append(
            f"  message {message.sender} → {message.receiver}: sent at "
            f"{message.begin_ns / 1000:.1f} µs, there between {message.earliest_ns / 1000:.1f} and "
            f"{message.latest_ns / 1000:.1f} µs; under way for {length / 1000:.1f} µs, {shares}"
        )
    if len(one.messages) > _MESSAGES:
        lines.append(f"  and {len(one.messages) - _MESSAGES} more (--json)")
    return [*lines, f"  {timeline_chart.clock_words(one.clock)}"]
