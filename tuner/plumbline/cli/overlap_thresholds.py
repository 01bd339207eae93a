"""plumbline overlap thresholds"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from plumbline.measure.launches import LaunchStore
from plumbline.overlap.thresholds import ThresholdSettings
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError

from . import base, common, options, progress
from .base import Program
from .overlap import MEASURING, RANKS

LEAST_TRIPLES = 4


@base.command(
    "thresholds",
    takes=f"{MEASURING} knobs triples",
    context_settings={
        "default_map": {"triples": ThresholdSettings().triples} | options.usual("seed")
    },
    told={"nprocs": RANKS},
)
def command(
    program: Program,
    campaign_file: Path | None,
    knobs: tuple[str, ...],
    triples: int,
    seed: int,
    new: bool,
    **asked: Any,
) -> int:
    """Where eager sending ends and rendezvous begins, to the byte.

    Blocking sends from the first to the last rank, which is late to post its receive: an eager send
    returns before that (docs/overlap.md). Everything is stored in the database.

    \b
    Example:
      plumbline overlap thresholds
      plumbline overlap thresholds --knob btl_vader_eager_limit=16384 \\
        --knob btl_vader_max_send_size=32768 --json
    """

    from plumbline.overlap import place, thresholds, words
    from plumbline.overlap import place as settings_of
    from plumbline.settings import starting
    from plumbline.settings.toolchain import find_toolchain

    if triples < LEAST_TRIPLES:
        raise UsageError(f"--triples {triples}: fewer than {LEAST_TRIPLES} show no threshold")
    where = place.settings(campaign_file, asked)
    database = program.database
    toolchain = find_toolchain(program.mpi, settings=where, beside=database.parent)
    chosen = settings_of.given(toolchain, knobs, where)
    facts = tuple(place.facts(where))
    settings = ThresholdSettings(where.ranks.nprocs, chosen, triples, seed, facts)
    starter = starting.starter(toolchain, where)
    starter.require(thresholds.first(settings).text())
    with Database.open(database, write=True) as db:
        placement = where.ranks.placement(toolchain.launcher.processing_units())
        row = thresholds.begin(db, toolchain, settings, placement, new=new)
        if row.state != "finished":
            settings_of.require_in_force(starter, settings.knobs)
        with progress.Bar(in_all=thresholds.USUAL_LAUNCHES) as bar:
            measured = thresholds.run(LaunchStore(db, row.id, starter, bar), row, settings)
    if program.json:
        common.print_json(
            {"id": row.id, "nprocs": where.ranks.nprocs, **msgspec.to_builtins(measured)}
        )
    else:
        for line in words.of_threshold(measured):
            click.echo(line)
    return 0
