"""plumbline advise"""

from __future__ import annotations

import datetime
import socket
from collections.abc import Iterator
from typing import Any

import click
import msgspec
from rich.console import RenderableType
from rich.text import Text

from plumbline.core import forms, guidelines
from plumbline.results import advice, advice_raced, advice_stored
from plumbline.results.advice import TAKE, Answer
from plumbline.results.advice_raced import Raced
from plumbline.results.advice_stored import Advice, Advised
from plumbline.system import mistakes
from plumbline.system.words import counted
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError

from . import base, common, completing, options, progress
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
    if nprocs is None:
        raise click.UsageError("say on how many ranks: --nprocs N")
    asked = forms.name_of(function)
    if asked not in (known := guidelines.load().lhs_functions()):
        raise UsageError(
            f"there is nothing to choose from for {asked}{mistakes.instead([asked], known)}"
        )
    question = advice_stored.Question(asked, bytes, nprocs)
    if measure and not program.database.exists():
        advised = advice_stored.Advised(question, [], [], [])
    else:
        with Database.open(program.database) as db, db.snapshot():
            advised = advice_stored.read(db, question, host=socket.gethostname())
    raced = _race(program, advised) if measure else None
    now = datetime.datetime.now(datetime.UTC)
    common.answer(program, _document(advised, raced, now), _shown(advised, raced, now))
    answer = _answer(advised, raced)
    if answer is None or answer.way is None:
        return UNKNOWN
    return 0 if answer.way == "library" else NOT_THE_LIBRARY


_OTHERS = 3  # other libraries and machines that get a line


def _answer(advised: Advised, raced: Raced | None) -> Answer | None:
    """What was measured now, else the best of what is stored."""
    if raced is not None:
        return raced.answer
    return advised.best.answer if advised.best else None


def _race(program: Program, advised: Advised) -> Raced:
    with progress.Bar(in_all=advice_raced.FIRST + advice_raced.LAUNCHES) as bar:
        return advice_raced.race(advised, program.mpi, bar)


def _shown(
    advised: Advised, raced: Raced | None, now: datetime.datetime
) -> Iterator[RenderableType]:
    """What was measured now stands before what is stored."""
    best = advised.best
    answer = _answer(advised, raced)
    question = advised.question
    call = f"{question.function}, {question.bytes} B, {counted(question.nprocs, 'rank')}"
    yield Text(f"{call}: {TAKE[answer.way if answer else None]}", style="bold")
    yield Text(f"  {answer.why if answer else advised.silence}")
    if answer and answer.choices:
        yield Text()
        yield _table(answer)
    yield Text()
    if raced:
        yield Text(_raced(raced))
    if best is not None and (raced is None or best.answer.way is not None):
        if raced:
            yield Text(f"stored: {TAKE[best.answer.way]}; {best.answer.why}")
        yield from map(Text, _coverage(best, now))
        for other in [each for each in advised.known if each is not best][:_OTHERS]:
            yield Text(
                f"also known: {other.library.version_string} on {other.machine.host}, "
                f"{_ranks(other)}: {TAKE[other.answer.way]} ({other.age(now)})"
            )
    way = answer.way if answer else None
    if way == "tuned" and best is not None and best.winners_from:
        yield Text(f"to put it in force: plumbline apply --user --campaign {best.winners_from}")
    if way is None:
        yield Text(
            f"to measure it: plumbline advise {question.function} --bytes {question.bytes} "
            f"--nprocs {question.nprocs} --measure"
        )


def _table(answer: Answer) -> RenderableType:
    names = ("", "way", "µs", "launches", "time over the library's own", "by")
    table = common.table(*names, left=("", "way", "by"), wrap=False)
    for choice in answer.choices:
        mark = "→" if choice is answer.of(answer.way) else ""
        seconds = "" if choice.seconds is None else f"{1e6 * choice.seconds:.2f}"
        launches = str(choice.launches) if choice.launches else ""
        numbers = (seconds, launches, advice.words(choice))
        table.add_row(mark, f"{choice.way}: {choice.what}", *numbers, choice.basis)
    return table


def _ranks(known: Advice) -> str:
    campaign = known.campaign
    crowded = ", oversubscribed" if campaign.oversubscribed else ""
    return f"{campaign.nprocs} ranks ({campaign.nodes} x {campaign.ppn}{crowded})"


def _coverage(known: Advice, now: datetime.datetime) -> Iterator[str]:
    data = known.type + (f", {known.op}" if known.op else "")
    yield (
        f"from campaign {known.campaign.id}: {known.library.version_string} on "
        f"{known.machine.host}, {_ranks(known)}, {data}, {known.use}"
    )
    sizes = known.sizes
    yield (
        f"{known.age(now)} ({known.measured_from} to {known.measured_to}); the function at "
        f"{counted(len(sizes), 'size')}, {sizes[0]} to {sizes[-1]} B"
    )
    winners = known.winners_from
    yield f"winners in use: those of {winners}" if winners else "winners in use: none"


def _raced(raced: Raced) -> str:
    said = (
        f"measured now with {raced.library}, and not kept: {counted(raced.candidates, 'candidate')}"
        f" in {counted(raced.launches, 'launch')}, the fastest three of each side in the last ones"
    )
    return said + (f"; without the tuned one: {raced.left_out}" if raced.left_out else "")


def _document(advised: Advised, raced: Raced | None, now: datetime.datetime) -> dict[str, Any]:
    known = [_known(each, now) for each in advised.known]
    answer = _answer(advised, raced)
    return {
        **msgspec.to_builtins(advised.question),
        "way": answer.way if answer else None,
        "why": answer.why if answer else advised.silence,
        "measured_now": None if raced is None else msgspec.to_builtins(raced),
        "known": known,
        "other_nprocs": advised.ranks,
        "functions": advised.functions,
    }


def _known(known: Advice, now: datetime.datetime) -> dict[str, Any]:
    campaign, answer = known.campaign, known.answer
    return {
        **msgspec.to_builtins(answer),
        "campaign": campaign.id,
        "host": known.machine.host,
        "library": known.library.id,
        "fingerprint": known.library.fingerprint,
        **{name: getattr(campaign, name) for name in ("nprocs", "nodes", "ppn", "oversubscribed")},
        **{name: getattr(known, name) for name in ("type", "op", "use", "sizes", "winners_from")},
        "measured_from": known.measured_from,
        "measured_to": known.measured_to,
        "age_days": known.age_days(now),
    }
