"""plumbline advise: the answer in one screen, and as JSON."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from plumbline.results import advice
from plumbline.results.advice import TAKE, Answer
from plumbline.results.advice_stored import Advice, Advised
from plumbline.system.words import counted
from plumbline_db.errors import typed

from . import common, progress
from .base import Program

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plumbline.results.advice_stored import Raced

_OTHERS = 3  # other libraries and machines that get a line


def answer(advised: Advised, raced: Raced | None) -> Answer | None:
    """Return what was measured now, else the best of what is stored."""
    if raced is not None:
        return raced.answer
    return advised.best.answer if advised.best else None


def race(program: Program, advised: Advised) -> Raced:
    from plumbline.results import advice_stored

    with progress.Bar(in_all=advice_stored.FIRST + advice_stored.LAUNCHES) as bar:
        return advice_stored.race_now(advised, program.mpi, bar)


def shown(
    advised: Advised, raced: Raced | None, now: datetime.datetime
) -> Iterator[RenderableType]:
    """Return what was measured now stands before what is stored."""
    from rich.text import Text

    best = advised.best
    taken = answer(advised, raced)
    question = advised.question
    call = f"{question.function}, {question.bytes} B, {counted(question.nprocs, 'rank')}"
    yield Text(f"{call}: {TAKE[taken.way if taken else None]}", style="bold")
    yield Text(f"  {taken.why if taken else advised.silence}")
    if taken and taken.choices:
        yield Text()
        yield _table(taken)
    yield Text()
    if raced:
        yield Text(_raced(raced))
    if best is not None and (raced is None or best.answer.way is not None):
        if raced:
            yield Text(f"stored: {TAKE[best.answer.way]}; {best.answer.why}")
        yield from map(Text, _coverage(best, now))
        for other_advice in [place for place in advised.known if place is not best][:_OTHERS]:
            yield Text(
                f"also known: {other_advice.library.version_string} on "
                f"{other_advice.machine.host}, "
                f"{_ranks(other_advice)}: {TAKE[other_advice.answer.way]} ({other_advice.age(now)})"
            )
    way = taken.way if taken else None
    if way == "tuned" and best is not None and best.use_of_winner is not None:
        use = best.use_of_winner
        yield Text(use.refused or f"to put it in force: {use.command}")
    if way is None:
        words = [question.function, "--bytes", question.bytes, "--nprocs", question.nprocs]
        yield Text(f"to measure it: {typed('advise', *words, '--measure')}")


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


def _raced(raced: Raced) -> str:
    text = (
        f"measured now with {raced.library}, and not kept: {counted(raced.candidates, 'candidate')}"
        f" in {counted(raced.launches, 'launch')}, the fastest three of each side in the last ones"
    )
    return text + (f"; without the tuned one: {raced.left_out}" if raced.left_out else "")


def document(advised: Advised, raced: Raced | None, now: datetime.datetime) -> dict[str, Any]:
    documents = [_known(place, now) for place in advised.known]
    taken = answer(advised, raced)
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
