"""Lessons of cells for each other: neighbouring sizes in one race, and other numbers of ranks in
earlier campaigns. Pure, but for reading what earlier campaigns left.

Times are nearly linear in the message size between two sizes (Hockney's alpha + beta m): what
another candidate beats at both ends it beats in between. So the sizes of a function race at a few
`grid_sizes` first, and the sizes between two of them with what was not beaten at both."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.records import Trial, Winner
from plumbline_exporters.bundle import Refusal

from .cold_launches import Company
from .evidence import Evidence

# The largest factor between neighbouring grid sizes, if there are sizes between them.
SPAN = 16
# A candidate that is slower by this at both ends is also beaten in between; the margin allows for
# times that are not quite linear.
MARGIN = math.log(1.1)
# Candidates are compared with so many of the best at either end.
_RIVALS = 3


def grid_sizes(sizes: Sequence[int]) -> list[int]:
    """The first and the last of ascending `sizes`, and as few between them as SPAN allows."""
    grid: list[int] = []
    for number, size in enumerate(sizes):
        following = sizes[number + 1] if number + 1 < len(sizes) else None
        if not grid or following is None or following > grid[-1] * SPAN:
            grid.append(size)
    return grid


def around(size: int, known_sizes: Sequence[int]) -> tuple[int, int]:
    """Return the two neighbours of a size among the ascending `known_sizes`."""
    return max(near for near in known_sizes if near < size), min(
        near for near in known_sizes if near > size
    )


def unbeaten(
    evidence: Evidence,
    ends: Sequence[Target],
    candidates: Sequence[Candidate],
    deviations: float,
) -> list[Candidate]:
    """Return the candidates that no other candidate surely beats at both ends. A candidate without
    a time at one end is judged at the other; a candidate without any time stays."""
    rivals = {DEFAULT: None}
    for end in ends:
        leads = {candidate: evidence.lead(end, candidate) for candidate in candidates}
        log_by_candidate = {
            candidate: lead.log for candidate, lead in leads.items() if lead is not None
        }
        rivals |= dict.fromkeys(
            sorted(
                log_by_candidate, key=lambda candidate: (log_by_candidate[candidate], candidate)
            )[:_RIVALS]
        )

    def beaten(candidate: Candidate, rival: Candidate) -> bool:
        leads = [evidence.lead(end, candidate, rival) for end in ends]
        both_leads = [lead for lead in leads if lead is not None]
        return bool(both_leads) and all(
            lead.surely_above(MARGIN, deviations) for lead in both_leads
        )

    return [
        candidate
        for candidate in candidates
        if not any(beaten(candidate, rival) for rival in rivals if rival != candidate)
    ]


Earlier = Callable[[Target], list[Candidate]]


def nothing(_: Target) -> list[Candidate]:
    return []


def earlier(db: Database, campaign: str, refusal: Refusal) -> Earlier:
    """Return the winners of earlier campaigns on this machine with this library, by cell; those of
    the nearest number of ranks come first. Imported campaigns and winners with a `refusal` are left
    out. (A campaign that was finished after this one began does not count: a replayed campaign must
    ask for the same launches.)"""
    own = campaigns.get(db, campaign)
    past = [
        campaign
        for campaign in campaigns.own(db)
        if campaign.id != own.id
        and campaign.state == "finished"
        and campaign.finished < own.started
        and (campaign.machine, campaign.library_fingerprint)
        == (own.machine, own.library_fingerprint)
    ]
    past.sort(
        key=lambda past_campaign: (
            abs(math.log(past_campaign.nprocs / own.nprocs)),
            past_campaign.started,
            past_campaign.id,
        )
    )
    winners_by_campaign: Mapping[str, list[Winner]] = {
        campaign.id: findings.get_winners(db, campaign.id) for campaign in past
    }

    def at(target: Target) -> list[Candidate]:
        holding = [
            Candidate.of_winner(winner)
            for past_winners in winners_by_campaign.values()
            for winner in past_winners
            if winner.function == target.function
            and not refusal(winner)
            and winner.bytes_from <= target.bytes <= winner.bytes_to
        ]
        return list(dict.fromkeys(holding))

    return at


class Past(msgspec.Struct):
    """Times (`evidence`), candidates that `failed` to give a result, and what `company` was found
    to touch whom. `in_force`: the winners that the race has in force, and `before`: the times
    without them; `earlier` returns what earlier campaigns have chosen for a cell."""

    evidence: Evidence
    failed: dict[tuple[Target, Candidate], Trial] = {}
    company: Company | None = None
    in_force: Sequence[Winner] = ()
    before: Evidence | None = None
    earlier: Earlier = nothing
