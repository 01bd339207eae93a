"""plumbline overlap thresholds"""

from __future__ import annotations

from pathlib import Path

import click

from . import common


@click.command("thresholds", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-n", "--nprocs", type=click.IntRange(2), default=2, show_default=True, help="Ranks.")
@click.option(
    "--setting", "pairs", multiple=True, help="NAME=VALUE: the library with this setting."
)
@click.option("--triples", type=click.IntRange(4), default=15, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--new", is_flag=True, help="Start afresh, though this was measured before.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    nprocs: int,
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

    from plumbline import campaign as loop
    from plumbline import settings as settings_file
    from plumbline.measure import Laboratory
    from plumbline.overlap import thresholds, words
    from plumbline.workbench import workbench
    from plumbline_db.connection import Database
    from plumbline_db.errors import UsageError

    knobs = tuple(sorted(dict(map(_setting, pairs)).items()))
    settings = thresholds.Settings(nprocs, knobs, triples, seed)
    bench = workbench(mpi_prefix)
    for name, _ in knobs:
        if bench.knobs and name not in bench.knobs:
            raise UsageError(f"{bench.installation.library.id} reports no parameter {name}")
    starter = loop.starter(bench, settings_file.load(None, {"nprocs": nprocs}))
    refusal = starter.refusal(thresholds.first(settings).text())
    if refusal is not None:
        raise UsageError(f"the probe refuses this: {refusal}")
    with Database.open(common.database(db_path), write=True) as db:
        row = thresholds.begin(db, bench, settings, new=new)
        with common.Bar(in_all=thresholds.USUAL_LAUNCHES) as bar:
            found = thresholds.run(Laboratory(db, row.id, starter, bar), row, settings)
    if as_json:
        common.print_json({"id": row.id, "nprocs": nprocs, **msgspec.to_builtins(found)})
    else:
        for line in words.of_threshold(found):
            click.echo(line)
    return 0


def _setting(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not (name and equals and value):
        raise click.UsageError(f"--setting takes NAME=VALUE, not {word!r}")
    return name, value
