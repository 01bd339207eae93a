"""A winner, from the violations that asked for it to what proves it."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.core.cell import Target
from plumbline.core.winner import holds
from plumbline.pages.visit import Nothing, Visit
from plumbline.results import putting_in_use
from plumbline_db import campaigns, searches, verdicts, winners
from plumbline_db.records import EVERY_FUNCTION, Event, Verdict, Winner
from plumbline_db.verdicts import about


class Removed(msgspec.Struct, frozen=True):
    """A cell of the first table that was violated where the winner holds, and what it is in the
    last one (None: it is not there)."""

    before: Verdict
    after: Verdict | None


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    db, campaign, place = visit.db, visit.campaign(), visit.path("place")
    all_winners = winners.get(db, campaign.id)
    if place >= len(all_winners):
        raise HTTPException(404, "this run has no such winner")
    won = all_winners[place]
    stages = verdicts.stages(db, campaign.id)
    last = {about(verdict): verdict for verdict in verdicts.get(db, campaign.id, "after")}
    first = [
        verdict for verdict in verdicts.get(db, campaign.id, "before") if _is_its(won, verdict)
    ]
    return visit.page(
        "winner.html",
        campaign=campaign,
        stages=stages,
        won=won,
        every="every function" if won.function == EVERY_FUNCTION else won.function,
        removed=[
            Removed(verdict, last.get(about(verdict)))
            for verdict in first
            if verdict.verdict == "violated"
        ],
        searches=[
            search
            for search in searches.all_searches(db, campaign.id)
            if holds(won, Target(search.function, search.bytes))
        ],
        exports=campaigns.exports(db, campaign.id),
        use_of_winners=putting_in_use.use(db, campaign, [won]),
        events=[event for event in campaigns.events(db, campaign.id) if _tells_of(won, event)],
    )


def _is_its(won: Winner, verdict: Verdict) -> bool:
    return verdict.replaceable and holds(won, Target(verdict.function, verdict.bytes))


def _tells_of(won: Winner, event: Event) -> bool:
    return won.function in (event.function, EVERY_FUNCTION)
