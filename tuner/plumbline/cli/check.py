"""plumbline check"""

from __future__ import annotations

from pathlib import Path

import click

from . import common


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("campaign", required=False)
@click.option("--winners", help="Only those of these functions, with commas between.")
@click.option("--pairs", type=int, help="Pairs of launches (default 12, at least 6).")
@click.option(
    "--iterations", type=click.IntRange(1), default=100, help="Calls that each loop times."
)
@click.option("--seed", type=click.IntRange(0), default=1, help="Of orders (default 1).")
@click.option(
    "--bind",
    help="What a rank is bound to: core, socket, numa, none or plain (unset: as the campaign was "
    "asked for, else plain, which asks mpirun for nothing).",
)
@click.option(
    "--osu",
    type=click.Path(path_type=Path),
    help="Folder of OSU Micro-Benchmarks (unset: osu_allreduce and its sisters on PATH); none: "
    "without them.",
)
@click.option(
    "--imb",
    type=click.Path(path_type=Path),
    help="Program IMB-MPI1 (unset: the one beside mpirun, or on PATH); none: without it.",
)
@click.option("--no-proof", is_flag=True, help="Do not spend a second on the canaries.")
@common.mpi_option
@common.db_option
@common.json_option
def command(
    campaign: str | None,
    winners: str | None,
    pairs: int | None,
    iterations: int,
    seed: int,
    bind: str | None,
    osu: Path | None,
    imb: Path | None,
    no_proof: bool,
    mpi_prefix: Path | None,
    db_path: Path | None,
    as_json: bool,
) -> int:
    """Check the winners by programs that are not the campaign's own.

    Starts them in turn with the exported files in force and without, and says of each winner what
    it promises and what users will see. What looks slower is measured again in fresh launches.
    Exit code 3: a winner is slower somewhere.

    \b
    Example:
      plumbline check
      plumbline check --winners MPI_Allreduce,MPI_Bcast --json
    """
    from plumbline.campaign import in_force
    from plumbline.check import acceptance, document, installed
    from plumbline.system.placement import BINDS
    from plumbline_db.errors import UsageError

    from . import check_tables

    pairs = acceptance.PAIRS if pairs is None else pairs
    if pairs < acceptance.LEAST_PAIRS:
        raise UsageError(
            f"--pairs {pairs}: fewer than {acceptance.LEAST_PAIRS} cannot show anything"
        )
    if bind is not None and bind not in BINDS:
        raise UsageError(f"--bind {bind}: it is one of {', '.join(BINDS)}")
    functions = [word.strip() for word in winners.split(",")] if winners is not None else []
    files = in_force.files(common.database(db_path), campaign, mpi_prefix)
    if files.note:
        click.echo(f"plumbline: {files.note}", err=True)
    programs = installed.programs(files, osu, imb, iterations)
    if not no_proof and files.winners:
        for statement in in_force.proven(files, in_force.environment(files)):
            click.echo(f"plumbline: {statement}", err=True)
    with common.Bar() as bar:
        found = acceptance.run(
            files,
            pairs=pairs,
            seed=seed,
            functions=functions,
            bind=bind or "",
            iterations=iterations,
            programs=programs,
            progress=bar,
        )
    if as_json:
        common.print_json(document.of(found))
    else:
        common.show(*check_tables.of(found))
    return common.VIOLATIONS_FOUND if found.slower() else 0
