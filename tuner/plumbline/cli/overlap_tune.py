"""plumbline overlap tune"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import common

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.overlap.tuned import TimedVerdict, TunedGuideline
    from plumbline.settings import Settings
    from plumbline_db.connection import Database
    from plumbline_db.records import Campaign

_BENCHES = "sender,receiver,both,vector,structure"
_SIZES = "4096,16384,65536,262144,1048576"


@click.command("tune", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "campaign_file",
    required=False,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
)
@click.option("-n", "--nprocs", type=click.IntRange(2), help="Ranks (default 2).")
@click.option("--benches", default=_BENCHES, show_default=True, help="With commas between.")
@click.option("--sizes", default=_SIZES, show_default=True, help="Bytes, with commas between.")
@click.option(
    "--limit",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Of the shorter of message and work, so much may come on top of the longer.",
)
@click.option(
    "--try", "tried", help="Settings to try, with commas between (default: all of overlap)."
)
@click.option("--triples", type=click.IntRange(3), default=15, show_default=True)
@click.option("--launches", type=int, help="Launches of the first look (default 9).")
@click.option("--launches-max", type=int, help="Of what stays undecided, at most (default 30).")
@click.option("--max-time", type=float, help="Seconds in launches after which nothing is begun.")
@click.option("--seed", type=int, help="Seed of orders and data (default 1).")
@click.option("--verify-only", is_flag=True, help="Only verdicts: no search, no files.")
@click.option(
    "--out", type=common.NewFolder(), help="Folder of the files (default: beside the database)."
)
@click.option("--new", is_flag=True, help="Start afresh, though this was asked for before.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    campaign_file: Path | None,
    benches: str,
    sizes: str,
    limit: float,
    triples: int,
    out: Path | None,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Overlap as a guideline: verdicts, search, files.

    OV1: a message beside work takes no longer than the message and then the work. OV2: to begin a
    message and wait takes no longer than the blocking call. Where one is violated, settings of the
    library are searched that make it faster and nothing else slower; what is found is exported, and
    confirmed with the files in force. Interrupted, the same command goes on. CAMPAIGN_FILE may name
    hosts, environment, launches and more (docs/campaign.md). Exit status 3: violations are left.

    \b
    Example:
      plumbline overlap tune --benches vector,structure --sizes 262144,1048576
      plumbline overlap tune --limit 0.5 --benches sender --verify-only --json
    """
    from plumbline.overlap import benches as names
    from plumbline.overlap.tune import Asked
    from plumbline_db.errors import UsageError

    chosen = names.names(benches)
    for name in chosen:
        if name == names.LOAD:
            raise UsageError("--benches load: it has no work beside a message")
        if name.startswith(names.MULTIPLE):
            raise UsageError(f"--benches {name}: benchmarks of one thread are tuned")
    asked = Asked(chosen, tuple(sorted(set(common.sizes_of(sizes)))), limit, triples)
    settings = _settings(campaign_file, options)
    database = common.database(db_path)
    campaign, found = _run(asked, settings, database, mpi_prefix, out, new=new)
    if as_json:
        common.print_json(_document(database, campaign, found))
    else:
        common.show(*_shown(database, campaign, found))
    left = any((guideline.after or guideline.before).verdict == "violated" for guideline in found)
    return common.VIOLATIONS_FOUND if left else 0


def _settings(file: Path | None, options: dict[str, Any]) -> Settings:
    from plumbline.overlap import place
    from plumbline.settings import campaign_file

    given = {
        "nprocs": options["nprocs"],
        "launches": options["launches"],
        "launches_max": options["launches_max"],
        "budget_seconds": options["max_time"],
        "seed": options["seed"],
        "rounds": 0 if options["verify_only"] else None,
        "settings": options["tried"].split(",") if options["tried"] else None,
        "guidelines": ["OV1", "OV2"],
    }
    known = campaign_file.read(file) if file else {}
    defaults = {"nprocs": 2} | {"budget_seconds": 600.0}
    return place.bound(campaign_file.of(campaign_file.where(file), defaults | known, given))


def _run(
    asked: Any,
    settings: Settings,
    database: Path,
    mpi_prefix: Path | None,
    out: Path | None,
    *,
    new: bool,
) -> tuple[Campaign, list[TunedGuideline]]:
    """To the end; from the database where it is there already."""
    from plumbline.campaign import export_folder, loop
    from plumbline.measure.launches import Laboratory
    from plumbline.overlap import tune, tuned
    from plumbline.settings.workbench import workbench
    from plumbline_db.connection import Database
    from plumbline_db.errors import UsageError

    if settings.ranks.simulate is not None:
        raise UsageError("a simulated machine has no computation to overlap with")
    bench = workbench(mpi_prefix, settings=settings, beside=database.parent)
    starter = loop.starter(bench, settings)
    refusal = starter.refusal(tune.pilot_plan(asked, settings).text())
    if refusal is not None:
        raise UsageError(f"the probe refuses this: {refusal}")
    tune.check(bench, asked, settings)
    with Database.open(database, write=True) as db:
        campaign = tune.begin(db, bench, asked, settings, new=new)
        starter.keep_apart("".join(filter(str.isdigit, campaign.started))[:14])
        if campaign.state != "finished":
            folder = out or export_folder.claim(db, database, campaign)
            with common.Bar(settings.budget) as bar:
                lab = Laboratory(db, campaign.id, starter, bar)
                campaign = tune.Loop(lab, bench, campaign, asked, settings, folder).run()
        return campaign, tuned.lines(db, campaign, bench.guidelines)


def _document(database: Path, campaign: Campaign, found: list[TunedGuideline]) -> dict[str, object]:
    import msgspec

    from plumbline_db import events, exports, searches, winners

    with _open(database) as db:
        return {
            "campaign": campaign.id,
            "state": campaign.state,
            "cells": msgspec.to_builtins(found),
            "winners": msgspec.to_builtins(winners.get(db, campaign.id)),
            "searches": msgspec.to_builtins(searches.all_searches(db, campaign.id)),
            "exports": msgspec.to_builtins(exports.get(db, campaign.id)),
            "events": msgspec.to_builtins(events.get(db, campaign.id)),
        }


def _open(database: Path) -> Database:
    from plumbline_db.connection import Database

    return Database.open(database)


def _shown(database: Path, campaign: Campaign, found: list[TunedGuideline]) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    from plumbline.search.outcome import label
    from plumbline_db import events, exports, searches, winners

    table = Table(box=None, pad_edge=False, title=f"overlap, {campaign.id}", title_justify="left")
    for name in ("guideline", "benchmark", "bytes", "left side", "T µs", "ratio", "left/right", ""):
        table.add_column(name, justify="right" if name in ("bytes", "T µs", "ratio") else "left")
    with _open(database) as db:
        kept = winners.get(db, campaign.id)
        tried = searches.all_searches(db, campaign.id)
        notes = [f"{event.kind}: {event.said}" for event in events.get(db, campaign.id)]
        files = exports.get(db, campaign.id)
    for guideline in found:
        table.add_row(
            guideline.guideline,
            guideline.bench,
            str(guideline.bytes),
            guideline.lhs,
            *_cells(guideline.before),
        )
        if kept and guideline.after is not None:
            table.add_row("", "", "", "  after", *_cells(guideline.after))
    texts = [f"search: {search.reason}" for search in tried] + notes
    for winner in kept:
        what = label(winner.variant, winner.configuration)
        gain = f"{winner.speedup:.2f} [{winner.speedup_low:.2f}, {winner.speedup_high:.2f}]"
        texts.append(f"winner: {what}: times of violated cells, default over winner: {gain}")
    if kept:
        texts += ["exported:", *(f"  {file.path}" for file in files)]
    return [table, Text("\n".join(texts))] if texts else [table]


def _cells(state: TimedVerdict) -> tuple[str, ...]:
    mark = {"violated": "• violated", "undecided": "? undecided", "holds": "holds"}
    times = "" if state.measured is None else f"{1e6 * state.measured:.1f}"
    overhead = "" if state.overhead_ratio is None else f"{state.overhead_ratio:.2f}"
    if state.ratio is None:
        ratio = ""
    elif state.ratio_low is None or state.ratio_high is None:
        ratio = f"{state.ratio:.3f}"
    else:
        ratio = f"{state.ratio:.3f} [{state.ratio_low:.3f}, {state.ratio_high:.3f}]"
    return times, overhead, ratio, mark[state.verdict]
