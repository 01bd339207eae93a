"""Hints of an earlier campaign, the last finished one of the same machine, library and settings.

Its winners are confirmed before anything is searched, and a cell that it has searched is searched
again only where a winner loses its place or a violation is new. Hints say what is tried first;
everything that is exported is measured anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import holds
from plumbline.search.fixed_point import violations
from plumbline.settings.search import AFRESH
from plumbline.settings.stored import settings_of
from plumbline.system import version
from plumbline_db import campaigns, runs, searches, verdicts
from plumbline_db import winners as winner_table
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import EVERY_FUNCTION, Campaign, Verdict, Winner
from plumbline_exporters.bundle import Refusal


class Hints(msgspec.Struct, frozen=True):
    """Findings of the `campaign` of this id. `searched`: the cells that it, or one that it had
    hints of, has searched; `violated`: guideline, function and bytes of what was left."""

    campaign: str
    winners: list[Winner]
    searched: set[Target]
    violated: set[tuple[str, str, int]]

    def winners_for(self, table: Sequence[Verdict]) -> list[Winner]:
        """The winners as if a search had just found them, each with the violations of `table` that
        it is to remove."""
        violated = [verdict for verdict in table if verdict.verdict == "violated"]
        return [
            msgspec.structs.replace(
                winner,
                search_speedup=winner.speedup,
                tried=[],
                removes=sorted(
                    f"{verdict.guideline}@{verdict.bytes}"
                    for verdict in violated
                    if winner.function != EVERY_FUNCTION
                    and verdict.replaceable
                    and holds(winner, Target(verdict.function, verdict.bytes))
                ),
            )
            for winner in self.winners
        ]

    def new(self, table: Iterable[Verdict]) -> set[Target]:
        """Cells with a violation that the earlier campaign did not leave."""
        new_cells = violations(list(table)).keys() - self.violated
        return {Target(function, size) for _, function, size in new_cells}


def of(db: Database, id: str | None, refusal: Refusal) -> Hints | None:
    """The hints of a campaign; None where `id` names none. A winner that `refusal` says something
    about is none. Raises PlumblineError where the database does not hold the campaign, and
    UsageError where it is not finished."""
    if id in (None, "", AFRESH):
        return None
    campaign = campaigns.get(db, id)
    if campaign.state != "finished":
        raise UsageError(f"earlier: campaign {id} is not finished")
    searched = {
        Target(search.function, search.bytes) for search in searches.all_searches(db, campaign.id)
    }
    before = of(db, settings_of(campaign.settings).search.earlier, refusal)
    searched |= before.searched if before else set()
    still_violated = violations(verdicts.get(db, campaign.id, "after"))
    every = winner_table.get(db, campaign.id)
    winners = [winner for winner in every if not refusal(winner)]
    gone = [winner for winner in every if winner not in winners]
    settled = {cell for cell in searched if not any(holds(winner, cell) for winner in gone)}
    return Hints(campaign.id, winners, settled, set(still_violated))


def newest(db: Database, campaign: Campaign) -> str:
    """The id of the last finished campaign that was asked for as this one is, and was measured by
    the same release of the probe; AFRESH where there is none."""
    every = campaigns.own(db)
    like = [
        relative
        for relative in every[: every.index(campaign)]
        if relative.state == "finished" and _asked(relative) == _asked(campaign)
    ]
    for relative in reversed(like):
        first = next(runs.one_by_one(db, relative.id), None)
        header = None if first is None else runs.header(db, first.id)
        if header is not None and header.probe == version.PLUMBLINE:
            return relative.id
    return AFRESH


def _asked(campaign: Campaign) -> str:
    return campaign.key.partition("-")[0]
