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
    found = []
    for stage in verdicts.stages(db, campaign):
        names = table_samples.suites(verdicts.get(db, campaign, stage))
        found.append(_offered(f"{campaign}:{stage}", sweeps.listed(db, campaign, names)))
    if every or not found:
        by_suite: dict[str, list[Sweep]] = {}
        for sweep in sweeps.listed(db, campaign):
            by_suite.setdefault(sweep.suite, []).append(sweep)
        found += [_offered(f"{campaign}/{name}", listed) for name, listed in by_suite.items()]
    return [each for each in found if each.functions]


def _offered(
    side: str, listed: Sequence[Sweep], axis: str = "bytes", by_rank: Sequence[int] = ()
) -> Offered:
    functions: dict[str, dict[str, str]] = {}
    for sweep in listed:
        words = configuration_of(sweep.variant, sweep.knobs, sweep.ranks)
        known = functions.setdefault(sweep.function, {})
        known[named(side, sweep.function, words)] = words
    return Offered(
        side,
        {name: list(known.items()) for name, known in sorted(functions.items())},
        axis,
        list(by_rank),
    )


def of_suite(db: Database, campaign: str, suite: str) -> list[str]:
    """The names of all curves of a suite that a file described."""
    campaigns.require(db, campaign)
    (found,) = [
        each
        for each in offered(db, campaign, every=False)
        if each.side == f"{campaign}/suite-{suite}"
    ]
    return [name for known in found.functions.values() for name, _ in known]
