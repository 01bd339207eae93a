"""Bench of what a site proposes for layouts that it has not measured: each measured layout between
two others is left out and predicted from the rest, and its own campaign judges. DATABASE is that of
`plumbline campaign --site`.

Prints one line a figure, once for agreement of both neighbours alone and once with the regression.
Asserts nothing."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import chosen_configuration, deciding, holds
from plumbline.site.layouts import RankLayout, gaps
from plumbline.site.proposals import MemberFindings, agreed, carried
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.records import Winner
from tests.bench.figure import Figure

_SLOWER, _FASTER = 0.97, 1.05  # speed-ups


class Tally(msgspec.Struct):
    """Cells that can gain by what the campaign left out has found: those with a proposal, those of
    which it has measured that proposal, and how many of these were slower."""

    can_gain: int = 0
    proposed: int = 0
    known: int = 0
    slower: int = 0


def members(db: Database) -> dict[RankLayout, MemberFindings]:
    """Return the finished campaigns that have searched, by layout; the newest one of each."""
    found = {}
    for row in campaigns.every(db):
        searches = findings.all_searches(db, row.id)
        if searches and row.state == "finished":
            layout = RankLayout(row.nodes, row.ppn)
            winners = findings.get_winners(db, row.id)
            found[layout] = MemberFindings(row.id, layout, winners, searches)
    return found


def judged(own: MemberFindings, rules: list[Winner], tally: Tally) -> None:
    """Add what the campaign of a layout says of the rules proposed for it."""
    speedups: dict[Target, dict[object, float]] = defaultdict(dict)
    cells = {Target(search.function, search.bytes) for search in own.searches}
    for winner in [*own.tried(), *own.winners]:
        for cell in cells:
            if holds(winner, cell):
                speedups[cell][chosen_configuration(winner)] = winner.speedup
    for cell in cells:
        if max(speedups[cell].values(), default=1.0) < _FASTER:
            continue
        rule = deciding(rules, cell)
        speedup = None if rule is None else speedups[cell].get(chosen_configuration(rule))
        tally.can_gain += 1
        tally.proposed += rule is not None
        tally.known += speedup is not None
        tally.slower += speedup is not None and speedup < _SLOWER


def tallies(found: Mapping[RankLayout, MemberFindings]) -> tuple[Tally, Tally]:
    """Return the figures of agreement alone, and those with the regression."""
    by_agreement, every = Tally(), Tally()
    for layout, own in found.items():
        others = {each: member for each, member in found.items() if each != layout}
        for gap in [gap for gap in gaps(list(others)) if layout in gap.layouts()][:1]:
            parts = agreed(gap, others, lambda _: True)
            judged(own, [rule for part in parts for rule in part], by_agreement)
            judged(own, carried(gap, others, lambda _: True), every)
    return by_agreement, every


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    asked = parser.parse_args()
    with Database.open(asked.database) as db:
        both = tallies(members(db))
    for name, tally in zip(("agreement alone", "with the regression"), both, strict=True):
        for key in ("proposed", "known", "slower"):
            count = getattr(tally, key)
            share = count / max(1, tally.can_gain)
            what = f"{count} of {tally.can_gain} cells that can gain"
            print(Figure(f"{name}: {key}", 100 * share, "%", what).line(), flush=True)


if __name__ == "__main__":
    main()
