"""The page of what campaigns have found over time, and what comparisons of releases have, as
`plumbline compare --history` lists them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from plumbline.pages.listing import ListedRun
from plumbline.pages.visit import Nothing, Visit
from plumbline.results import compared_now, headline
from plumbline.results.comparison_files import summary, words_of
from plumbline_db import campaigns, machines, verdicts, winners
from plumbline_db.records import Campaign

_MOST = 60  # campaigns, the newest ones


class CampaignThen(msgspec.Struct, frozen=True):
    """`after` None: there is no last table; `speedup` None: there are no winners."""

    campaign: Campaign
    before: int
    after: int | None
    speedup: float | None


class PlaceHistory(msgspec.Struct, frozen=True):
    """The campaigns of an installation's ranks, the oldest first; `most`: violations of any."""

    host: str
    version: str
    nprocs: int
    campaigns: list[CampaignThen]
    most: int


class ComparedReleases(msgspec.Struct, frozen=True):
    started: str
    a: str
    b: str
    nprocs: int
    counts: dict[str, int]
    worst: str


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    return visit.page("history.html", places=_places(visit), compared=_compared(visit))


def _places(visit: Visit) -> list[PlaceHistory]:
    db = visit.db
    at = {machine.id: machine for machine in machines.all_machines(db)}
    libraries = {library.fingerprint: library for library in machines.all_libraries(db)}
    grouped: dict[tuple[str, str, int], list[CampaignThen]] = {}
    for campaign in campaigns.all_campaigns(db)[-_MOST:]:
        listed = ListedRun(campaign, at[campaign.machine], libraries[campaign.library_fingerprint])
        then = _then(visit, campaign)
        if then is not None:
            key = (listed.machine.host, listed.library.version_string, campaign.nprocs)
            grouped.setdefault(key, []).append(then)
    return [
        PlaceHistory(
            *key,
            campaigns_then,
            max(max(campaign.before, campaign.after or 0) for campaign in campaigns_then),
        )
        for key, campaigns_then in grouped.items()
    ]


def _then(visit: Visit, campaign: Campaign) -> CampaignThen | None:
    """None: it has no table yet."""
    before = verdicts.get(visit.db, campaign.id, "before")
    if not before:
        return None
    after = verdicts.get(visit.db, campaign.id, "after")
    won = winners.get(visit.db, campaign.id)
    return CampaignThen(
        campaign,
        len(headline.everywhere(before)),
        len(headline.everywhere(after)) if after else None,
        statistics.median(winner.speedup for winner in won) if won else None,
    )


def _compared(visit: Visit) -> Sequence[ComparedReleases]:
    releases = []
    for comparison in compared_now.stored(visit.db):
        worst = comparison.cells[0]
        releases.append(
            ComparedReleases(
                comparison.a.launches[0].started,
                f"{comparison.a.name.text} ({comparison.a.library.version_string})",
                f"{comparison.b.name.text} ({comparison.b.library.version_string})",
                comparison.a.campaign.nprocs,
                summary(comparison.cells),
                f"{worst.cell.function} {worst.cell.bytes} B: {words_of(worst)}",
            )
        )
    return releases
