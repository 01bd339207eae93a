"""Curves of a run that can be chosen: of its tables, of its suites, of suites that a file
described."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.pages.curve import configuration_of, named
from plumbline_db import campaigns, sweeps, table_samples, verdicts
from plumbline_db.connection import Database
from plumbline_db.sweeps import Sweep


class Offered(msgspec.Struct, frozen=True):
    """The choice of a table or a suite: names with words, by function. `axis`: what its curves are
    over; `by_rank`: at which sizes the times of single ranks are there too."""

    side: str
    functions: dict[str, list[tuple[str, str]]]
    axis: str = "bytes"
    by_rank: list[int] = []


def offered(db: Database, campaign: str, *, every: bool) -> list[Offered]:
    """Return the choices of its tables; with `every` of all its suites too, and of a run of suites
    of these."""
    described = sweeps.described(db, campaign)
    if described:
        return [
            _offered(f"{campaign}/{suite.name}", suite.sweeps, suite.axis, suite.by_rank)
            for suite in described
        ]
    choices = []
    for stage in verdicts.stages(db, campaign):
        names = table_samples.suites(verdicts.get(db, campaign, stage))
        choices.append(_offered(f"{campaign}:{stage}", sweeps.listed(db, campaign, names)))
    if every or not choices:
        by_suite: dict[str, list[Sweep]] = {}
        for sweep in sweeps.listed(db, campaign):
            by_suite.setdefault(sweep.suite, []).append(sweep)
        choices += [_offered(f"{campaign}/{name}", listed) for name, listed in by_suite.items()]
    return [choice for choice in choices if choice.functions]


def _offered(
    side: str, listed: Sequence[Sweep], axis: str = "bytes", by_rank: Sequence[int] = ()
) -> Offered:
    functions: dict[str, dict[str, str]] = {}
    for sweep in listed:
        words = configuration_of(sweep.variant, sweep.knobs, sweep.ranks)
        words_by_name = functions.setdefault(sweep.function, {})
        words_by_name[named(side, sweep.function, words)] = words
    return Offered(
        side,
        {name: list(names.items()) for name, names in sorted(functions.items())},
        axis,
        list(by_rank),
    )


def of_suite(db: Database, campaign: str, suite: str) -> list[str]:
    """The names of all curves of a suite that a file described."""
    campaigns.require(db, campaign)
    (choice,) = [
        choice
        for choice in offered(db, campaign, every=False)
        if choice.side == f"{campaign}/suite-{suite}"
    ]
    return [name for words_by_name in choice.functions.values() for name, _ in words_by_name]
