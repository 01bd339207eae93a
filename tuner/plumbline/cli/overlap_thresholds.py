"""plumbline overlap thresholds"""

from __future__ import annotations

from pathlib import Path

import click

from . import common


@click.command("thresholds", context_settings={"help_option_names": ["-h", "--help"]})
@common.place_options
@common.setting_option
@click.option("--triples", type=click.IntRange(4), default=15, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--new", is_flag=True, help="Start afresh, though this was measured before.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    nprocs: int | None,
    nodes: int | None,
    bind: str | None,
    map_by: str | None,
    campaign_file: Path | None,
    pairs: tuple[str, ...],
    triples: int,
    seed: int,
    new: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
) -> int:
    """Where eager sending ends and rendezvous begins, to the byte.

    Blocking sends from the first to the last rank, which is late to post its receive: an eager send
    returns before that (docs/overlap.md). Everything is stored in the database.

    \b
    Example:
      plumbline overlap thresholds
      plumbline overlap thresholds --setting btl_vader_eager_limit=16384 \\
        --setting btl_vader_max_send_size=32768 --json
    """
    import msgspec

    from plumbline.campaign import loop
    from plumbline.measure.launches import Laboratory
    from plumbline.overlap import knobs as settings_of
    from plumbline.overlap import place, thresholds, words
    from plumbline.settings.workbench import workbench
    from plumbline_db.connection import Database
    from plumbline_db.errors import UsageError

    asked = {"nprocs": nprocs, "nodes": nodes, "bind": bind, "map_by": map_by}
    where = place.settings(campaign_file, asked)
    database = common.database(db_path)
    bench = workbench(mpi_prefix, settings=where, beside=database.parent)
    knobs = settings_of.given(bench, pairs, where)
    facts = tuple(place.facts(where))
    settings = thresholds.ThresholdSettings(where.ranks.nprocs, knobs, triples, seed, facts)
    starter = loop.starter(bench, where)
    refusal = starter.refusal(thresholds.first(settings).text())
    if refusal is not None:
        raise UsageError(f"the probe refuses this: {refusal}")
    with Database.open(database, write=True) as db:
        placement = where.ranks.placement(bench.launcher.processing_units())
        row = thresholds.begin(db, bench, settings, placement, new=new)
        starter.keep_apart("".join(filter(str.isdigit, row.started))[:14])
        if row.state != "finished":
            settings_of.require_in_force(starter, settings.knobs)
        with common.Bar(in_all=thresholds.USUAL_LAUNCHES) as bar:
            found = thresholds.run(Laboratory(db, row.id, starter, bar), row, settings)
    if as_json:
        common.print_json(
            {"id": row.id, "nprocs": where.ranks.nprocs, **msgspec.to_builtins(found)}
        )
    else:
        for line in words.of_threshold(found):
            click.echo(line)
    return 0
