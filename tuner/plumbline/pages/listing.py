"""All runs, the newest first. A run is a campaign."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from plumbline.pages.visit import Bytes, Visit, Word
from plumbline_db import campaigns, machines
from plumbline_db.records import Campaign, Library, Machine

ON_A_PAGE = 25


class RunsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"first": "from"}):
    """`first`: how many newer runs are left out; `text`: what must be in a name."""

    first: Bytes = 0
    text: Word = ""


class ListedRun(msgspec.Struct, frozen=True):
    campaign: Campaign
    machine: Machine
    library: Library

    def has(self, text: str) -> bool:
        names = (self.campaign.id, self.machine.host, self.library.id, str(self.campaign.nprocs))
        return any(text.casefold() in name.casefold() for name in names)


def every(visit: Visit, text: str = "") -> list[ListedRun]:
    """Return those of `plumbline campaign`, `verify`, `suite` and `overlap tune`, and what other
    programs have printed, that have a text in a name."""
    db = visit.db
    every_run = [
        *campaigns.all_campaigns(db),
        *campaigns.tuned_overlap(db),
        *campaigns.of_suites(db),
        *campaigns.foreign(db),
    ]
    every_run.sort(key=lambda campaign: campaign.started, reverse=True)
    at = {machine.id: machine for machine in machines.all_machines(visit.db)}
    libraries = {library.fingerprint: library for library in machines.all_libraries(visit.db)}
    listed = [
        ListedRun(campaign, at[campaign.machine], libraries[campaign.library_fingerprint])
        for campaign in every_run
    ]
    return [run for run in listed if run.has(text)]


def page(visit: Visit) -> Response:
    asked = visit.asked(RunsQuery)
    listed = every(visit, asked.text)
    first = asked.first
    return visit.page(
        "runs.html",
        runs=listed[first : first + ON_A_PAGE],
        count=len(listed),
        text=asked.text,
        first=first,
        newer=None if first == 0 else max(0, first - ON_A_PAGE),
        older=first + ON_A_PAGE if first + ON_A_PAGE < len(listed) else None,
    )
