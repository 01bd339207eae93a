"""plumbline advise"""

from __future__ import annotations

import datetime
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from plumbline.system.words import counted
from plumbline_db.errors import UsageError, typed

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.results.advice import Answer
    from plumbline.results.advice_raced import RacedAdvice
    from plumbline.results.advice_stored import Advice, Advised


UNKNOWN, NOT_THE_LIBRARY = 1, 3


@base.command(
    "advise", takes="mpi db json nprocs", told={"nprocs": {"help": "Ranks.", "unset": ""}}
)
@click.argument("function", shell_complete=options.complete_functions)
@click.option("--bytes", type=options.Bytes(), required=True, help="Communication volume.")
@click.option(
    "--measure",
    is_flag=True,
    help="Race the library's own call, the tuned one and all that is made by hand, naive versions "
    "too, here and now.",
)
def command(
    program: ProgramOptions, function: str, bytes: int, nprocs: int | None, measure: bool
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

    if nprocs is None:
        raise click.UsageError("name the number of ranks: --nprocs N")
    asked = plan.name_of(function)
    if asked not in (measurable := guidelines.load().lhs_functions()):
        raise UsageError(
            f"there is nothing to choose from for {asked}{mistakes.instead([asked], measurable)}"
        )
    question = advice_stored.AdviceQuestion(asked, bytes, nprocs)
    if measure and not program.database.exists():
        advised = advice_stored.Advised(question, [], [], [])
    else:
        with program.open() as db, db.snapshot():
            advised = advice_stored.read(db, question, host=socket.gethostname())
    raced = _race(program, advised) if measure else None
    now = datetime.datetime.now(datetime.UTC)
    common.answer(program, _document(advised, raced, now), _shown(advised, raced, now))
    answer = _answer(advised, raced)
    if answer is None or answer.way is None:
        return UNKNOWN
    return 0 if answer.way == "library" else NOT_THE_LIBRARY


# --- what is shown --------------------------------------------------------------------------------

_OTHERS = 3  # other libraries and machines that get a line


def _answer(advised: Advised, raced: RacedAdvice | None) -> Answer | None:
    """Return what was measured now, else the best of what is stored."""
    if raced is not None:
        return raced.answer
    return advised.best.answer if advised.best else None


def _race(program: ProgramOptions, advised: Advised) -> RacedAdvice:
    from plumbline.results import advice_raced, best

    with progress.Bar(in_all=best.FIRST + best.FINALS) as bar:
        return advice_raced.race(advised, program.mpi, bar)


def _shown(
    advised: Advised, raced: RacedAdvice | None, now: datetime.datetime
) -> Iterator[RenderableType]:
    """Return what was measured now stands before what is stored."""
    from rich.text import Text

    from plumbline.results.advice import TAKE

    best = advised.best
    taken = _answer(advised, raced)
    question = advised.question
    call = f"{question.function}, {question.bytes} B, {counted(question.nprocs, 'rank')}"
    yield Text(f"{call}: {TAKE[taken.way if taken else None]}", style="bold")
    yield f"  {taken.why if taken else advised.silence}"
    if taken and taken.choices:
        yield ""
        yield _table(taken)
    yield ""
    if raced:
        yield _raced(raced)
    if best is not None and (raced is None or best.answer.way is not None):
        if raced:
            yield f"stored: {TAKE[best.answer.way]}; {best.answer.why}"
        yield from _coverage(best, now)
        for other_advice in [place for place in advised.known if place is not best][:_OTHERS]:
            yield (
                f"also known: {other_advice.library.version_string} on "
                f"{other_advice.machine.host}, "
                f"{_ranks(other_advice)}: {TAKE[other_advice.answer.way]} ({other_advice.age(now)})"
            )
    way = taken.way if taken else None
    if way == "tuned" and best is not None and best.use_of_winner is not None:
        use = best.use_of_winner
        yield (use.refused or f"to put it in force: {use.command}")
    if way is None:
        words = [question.function, "--bytes", question.bytes, "--nprocs", question.nprocs]
        yield f"to measure it: {typed('advise', *words, '--measure')}"


def _table(answer: Answer) -> RenderableType:
    from plumbline.results import advice

    names = ("", "way", "µs", "launches", "time over the library's own", "by")
    table = common.table(*names, left=("", "way", "by"), wrap=False)
    for choice in answer.choices:
        mark = "→" if choice is answer.of(answer.way) else ""
        seconds = "" if choice.seconds is None else f"{1e6 * choice.seconds:.2f}"
        launches = str(choice.launches) if choice.launches else ""
        numbers = (seconds, launches, advice.words(choice))
        table.add_row(mark, f"{choice.way}: {choice.what}", *numbers, choice.basis)
    return table


def _ranks(place: Advice) -> str:
    campaign = place.campaign
    crowded = ", oversubscribed" if campaign.oversubscribed else ""
    return f"{campaign.nprocs} ranks ({campaign.nodes} x {campaign.ppn}{crowded})"


def _coverage(place: Advice, now: datetime.datetime) -> Iterator[str]:
    data = place.type + (f", {place.op}" if place.op else "")
    yield (
        f"from campaign {place.campaign.named}: {place.library.version_string} on "
        f"{place.machine.host}, {_ranks(place)}, {data}, {place.use}"
    )
    sizes = place.sizes
    yield (
        f"{place.age(now)} ({place.measured_from} to {place.measured_to}); the function at "
        f"{counted(len(sizes), 'size')}, {sizes[0]} to {sizes[-1]} B"
    )
    winners = place.winners_from
    yield f"winners in use: those of {winners}" if winners else "winners in use: none"


def _raced(raced: RacedAdvice) -> str:
    text = (
        f"measured now with {raced.library}, and not kept: {counted(raced.candidates, 'candidate')}"
        f" in {counted(raced.launches, 'launch')}, the fastest three of each side in the last ones"
    )
    return text + (f"; without the tuned one: {raced.left_out}" if raced.left_out else "")


def _document(
    advised: Advised, raced: RacedAdvice | None, now: datetime.datetime
) -> dict[str, Any]:
    documents = [_known(place, now) for place in advised.known]
    taken = _answer(advised, raced)
    return {
        **msgspec.to_builtins(advised.question),
        "way": taken.way if taken else None,
        "why": taken.why if taken else advised.silence,
        "measured_now": None if raced is None else msgspec.to_builtins(raced),
        "known": documents,
        "other_nprocs": advised.ranks,
        "functions": advised.functions,
    }


def _known(place: Advice, now: datetime.datetime) -> dict[str, Any]:
    campaign, answer = place.campaign, place.answer
    return {
        **msgspec.to_builtins(answer),
        "campaign": campaign.id,
        "imported_from": campaign.imported_from,
        "host": place.machine.host,
        "library": place.library.id,
        "fingerprint": place.library.fingerprint,
        **{name: getattr(campaign, name) for name in ("nprocs", "nodes", "ppn", "oversubscribed")},
        **{name: getattr(place, name) for name in ("type", "op", "use", "sizes", "winners_from")},
        "measured_from": place.measured_from,
        "measured_to": place.measured_to,
        "age_days": place.age_days(now),
    }
