"""plumbline advise"""

from __future__ import annotations

import datetime
import socket

import click

from plumbline_db.errors import UsageError

from . import base, common, completing, options
from .base import Program

UNKNOWN, NOT_THE_LIBRARY = 1, 3


@base.command(
    "advise", takes="mpi db json nprocs", told={"nprocs": {"help": "Ranks.", "unset": ""}}
)
@click.argument("function", shell_complete=completing.functions)
@click.option("--bytes", type=options.Bytes(), required=True, help="Communication volume.")
@click.option(
    "--measure",
    is_flag=True,
    help="Race the library's own call, the tuned one and all that is made by hand, naive versions "
    "too, here and now.",
)
def command(
    program: Program,
    function: str,
    bytes: int,
    nprocs: int | None,
    measure: bool,
) -> int:
    """Library, tuned, or made by hand: which FUNCTION to call at a size, by what was measured.

    Exit code 0: the library's own call; 3: another one is faster; 1: what was measured does not
    say.

    \b
    Example:
      plumbline advise gather --bytes 256 --np 4
      plumbline advise gather --bytes 256 --np 4 --measure
    """

    from plumbline.core import guidelines, plan
    from plumbline.results import advice_stored
    from plumbline.system import mistakes
    from plumbline_db.connection import Database

    from . import advice_tables

    if nprocs is None:
        raise click.UsageError("name the number of ranks: --nprocs N")
    asked = plan.name_of(function)
    if asked not in (measurable := guidelines.load().lhs_functions()):
        raise UsageError(
            f"there is nothing to choose from for {asked}{mistakes.instead([asked], measurable)}"
        )
    question = advice_stored.Question(asked, bytes, nprocs)
    if measure and not program.database.exists():
        advised = advice_stored.Advised(question, [], [], [])
    else:
        with Database.open(program.database) as db, db.snapshot():
            advised = advice_stored.read(db, question, host=socket.gethostname())
    raced = advice_tables.race(program, advised) if measure else None
    now = datetime.datetime.now(datetime.UTC)
    common.answer(
        program,
        advice_tables.document(advised, raced, now),
        advice_tables.shown(advised, raced, now),
    )
    answer = advice_tables.answer(advised, raced)
    if answer is None or answer.way is None:
        return UNKNOWN
    return 0 if answer.way == "library" else NOT_THE_LIBRARY
