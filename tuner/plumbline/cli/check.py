"""plumbline check"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from plumbline import check
from plumbline.system.placement import BINDS
from plumbline_db.errors import UsageError

from . import base, common, options, progress
from .base import Program


class Loops(NamedTuple):
    """Name what the programs measure, and how."""

    functions: list[str] | None
    launches: int | None
    reps: int | None
    seed: int
    bind: str | None


@base.command(
    "check",
    gathers={"loops": Loops},
    takes="mpi db json campaign bind seed",
    context_settings={"default_map": options.usual("seed")},
    told={"bind": {"unset": "as the campaign was asked for, else plain"}},
)
@options.option("--functions", type=options.Functions(), unset="all", help="Only winners of these.")
@options.launches("Pairs of launches.", unset=str(check.PAIRS))
@options.reps("Calls that each loop times.", unset=str(check.ITERATIONS))
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
@options.no_proof
def command(
    program: Program,
    loops: Loops,
    osu: Path | None,
    imb: Path | None,
    no_proof: bool,
    campaign: str | None,
) -> int:
    """Check the winners by programs that are not the campaign's own.

    Starts them in turn with the exported files in force and without, and says of each winner what
    it promises and what users will see. What looks slower is measured again in fresh launches.
    Exit code 3: a winner is slower somewhere.

    \b
    Example:
      plumbline check
      plumbline check --functions MPI_Allreduce,MPI_Bcast --json
    """
    from plumbline.campaign import as_started, in_force
    from plumbline.check import acceptance, installed

    from . import check_tables

    pairs = check.PAIRS if loops.launches is None else loops.launches
    if pairs < acceptance.LEAST_PAIRS:
        raise UsageError(
            f"--launches {pairs}: at least {acceptance.LEAST_PAIRS} are needed for a result"
        )
    if loops.bind is not None and loops.bind not in BINDS:
        raise UsageError(f"--bind {loops.bind}: choose one of {', '.join(BINDS)}")
    iterations = loops.reps or check.ITERATIONS
    files = in_force.files(program.database, campaign, program.mpi)
    common.remark(files.note)
    programs = installed.programs(files, osu, imb, iterations)
    if not no_proof and files.winners:
        common.remark(*as_started.proven(files, in_force.environment(files)))
    with progress.Bar() as bar:
        result = acceptance.run(
            files,
            pairs=pairs,
            seed=loops.seed,
            functions=loops.functions or [],
            bind=loops.bind or "",
            iterations=iterations,
            programs=programs,
            progress=bar,
        )
    common.answer(program, acceptance.document(result), check_tables.of(result))
    return common.VIOLATIONS_FOUND if result.slower() else 0
