"""plumbline overlap tune"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plumbline.measure.launches import LaunchStore
from plumbline.overlap import benches
from plumbline.overlap.tune import OverlapTuningSettings
from plumbline.search.outcome import label
from plumbline.settings import Settings, starting
from plumbline.settings.cases import Sampling
from plumbline.system.words import with_interval
from plumbline_db import campaigns, findings
from plumbline_db.errors import UsageError
from plumbline_db.records import Campaign

from . import base, common, options, progress
from .base import ProgramOptions
from .overlap import MEASURING, RANKS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.overlap.tune import TimedVerdict, TunedGuideline

_BENCHES = "sender,receiver,both,vector,structure"
_SIZES = "4096,16384,65536,262144,1048576"
_USUAL = OverlapTuningSettings((), ())
LEAST_TRIPLES = 3
BUDGET_SECONDS = 600.0


class TableOptions(NamedTuple):
    """The cells of the table, as they are typed."""

    benches: str
    sizes: list[int]
    limit: float
    triples: int


@base.command(
    "tune",
    gathers={"table": TableOptions},
    takes=f"{MEASURING} benches sizes triples launches",
    context_settings={
        "default_map": {"benches": _BENCHES, "sizes": _SIZES, "triples": _USUAL.triples}
        | {"launches": Sampling().launches}
    },
    told={"nprocs": RANKS},
)
@options.option(
    "--limit",
    type=options.Real(0, 1),
    default=_USUAL.limit,
    help="Of the shorter of message and work, so much may come on top of the longer.",
)
@options.option(
    "--budget",
    "budget_seconds",
    type=options.Real(),
    unset=f"{BUDGET_SECONDS:g}",
    help="Seconds in launches after which nothing is begun.",
)
@options.settings("a campaign file (docs/campaign.md)")
@options.exported
@click.pass_context
def command(
    ctx: click.Context,
    /,
    program: ProgramOptions,
    table: TableOptions,
    campaign_file: Path | None,
    output: Path | None,
    new: bool,
    **asked: Any,
) -> int:
    """Overlap as a guideline: verdicts, search, files.

    OV1: a message beside work takes no longer than the message and then the work. OV2: to begin a
    message and wait takes no longer than the blocking call. Where one is violated, settings of the
    library are searched that make it faster and nothing else slower; what is found is exported, and
    confirmed with the files in force. Interrupted, the same command goes on. --campaign-file names
    hosts, environment, launches … (docs/campaign.md). Exit status 3: violations are left.

    \b
    Example:
      plumbline overlap tune --benches vector,structure --sizes 262144,1048576
      plumbline overlap tune --limit 0.5 --benches sender --set rounds=0 --json
    """
    chosen = benches.names(table.benches)
    for name in chosen:
        if name == benches.LOAD:
            raise UsageError("--benches load: it has no work beside a message")
        if name.startswith(benches.MULTIPLE):
            raise UsageError(f"--benches {name}: benchmarks of one thread are tuned")
    if table.triples < LEAST_TRIPLES:
        raise UsageError(f"--triples {table.triples}: {LEAST_TRIPLES} at least")
    wish = OverlapTuningSettings(
        chosen, tuple(sorted(set(table.sizes))), table.limit, table.triples
    )
    settings = _settings(campaign_file, base.typed(ctx, asked))
    campaign, tuned_guidelines = _run(wish, settings, program, output, new=new)
    if program.json:
        common.print_json(_document(program, campaign, tuned_guidelines))
    else:
        common.show(*_shown(program, campaign, tuned_guidelines))
    is_violated = any(
        (guideline.after or guideline.before).verdict == "violated"
        for guideline in tuned_guidelines
    )
    return common.VIOLATIONS_FOUND if is_violated else 0


def _settings(file: Path | None, given: dict[str, Any]) -> Settings:
    from plumbline.settings import campaign_file

    source = campaign_file.read(file)
    standing = {"nprocs": benches.NPROCS, "budget_seconds": BUDGET_SECONDS}
    given = given | {"guidelines": ["OV1", "OV2"]}
    return benches.bound(campaign_file.of(source, standing | source.values, given))


def _run(
    asked: OverlapTuningSettings,
    settings: Settings,
    program: ProgramOptions,
    output: Path | None,
    *,
    new: bool,
) -> tuple[Campaign, list[TunedGuideline]]:
    """To the end; from the database where it is there already."""
    from plumbline.campaign import exported
    from plumbline.cli.progress import Forecast
    from plumbline.overlap import tune
    from plumbline.settings.toolchain import find_toolchain

    if settings.ranks.simulate is not None:
        raise UsageError("a simulated machine has no computation to overlap with")
    toolchain = find_toolchain(program.mpi, settings=settings, beside=program.database.parent)
    starter = starting.starter(toolchain, settings)
    starter.require(tune.pilot_plan(asked, settings).text())
    tune.tried(toolchain, asked, settings)  # refused where they cannot be
    with program.open(write=True) as db:
        campaign = tune.begin(db, toolchain, asked, settings, new=new)
        if campaign.state != "finished":
            folder = output or exported.claim_folder(db, program.database, campaign)
            with progress.Bar(forecast=Forecast(settings.sampling.launches)) as bar:
                store = LaunchStore(db, campaign.id, starter, bar)
                campaign = tune.OverlapTuning(store, toolchain, asked, settings, folder).run()
        return campaign, tune.tuned_lines(db, campaign, toolchain.guidelines)


def _document(
    program: ProgramOptions, campaign: Campaign, tuned_guidelines: list[TunedGuideline]
) -> dict[str, object]:
    with program.open() as db:
        return {
            "campaign": campaign.id,
            "state": campaign.state,
            "cells": tuned_guidelines,
            "winners": findings.get_winners(db, campaign.id),
            "searches": findings.all_searches(db, campaign.id),
            "exports": campaigns.exports(db, campaign.id),
            "events": campaigns.events(db, campaign.id),
        }


def _shown(
    program: ProgramOptions, campaign: Campaign, tuned_guidelines: list[TunedGuideline]
) -> list[RenderableType]:

    table = common.table(
        "guideline",
        "benchmark",
        "bytes",
        "left side",
        "T µs",
        "ratio",
        "left/right",
        "",
        left=("guideline", "benchmark", "left side", "left/right", ""),
        title=f"overlap, {campaign.id}",
    )
    with program.open() as db:
        kept = findings.get_winners(db, campaign.id)
        tried = findings.all_searches(db, campaign.id)
        notes = [f"{event.kind}: {event.said}" for event in campaigns.events(db, campaign.id)]
        files = campaigns.exports(db, campaign.id)
    for guideline in tuned_guidelines:
        about = (guideline.guideline, guideline.bench, str(guideline.bytes), guideline.lhs)
        table.add_row(*about, *_cells(guideline.before))
        if kept and guideline.after is not None:
            table.add_row("", "", "", "  after", *_cells(guideline.after))
    texts = [f"search: {search.reason}" for search in tried] + notes
    for winner in kept:
        configuration = label(winner.variant, winner.configuration)
        gain = with_interval(winner.speedup, winner.speedup_low, winner.speedup_high)
        texts.append(
            f"winner: {configuration}: times of violated cells, default over winner: {gain}"
        )
    if kept:
        texts += ["exported:", *(f"  {file.path}" for file in files)]
    return [table, "\n".join(texts)] if texts else [table]


def _cells(state: TimedVerdict) -> tuple[str, ...]:
    mark = {"violated": "• violated", "undecided": "? undecided", "holds": "holds"}
    times = "" if state.measured is None else f"{1e6 * state.measured:.1f}"
    overhead = "" if state.overhead_ratio is None else f"{state.overhead_ratio:.2f}"
    ratio = with_interval(state.ratio, state.ratio_low, state.ratio_high, ".3f")
    return times, overhead, ratio, mark[state.verdict]
