"""The first page: what is violated now, what has changed since the campaign before, what to do."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from plumbline.pages import next_steps
from plumbline.pages.visit import Nothing, Visit
from plumbline.results import headline
from plumbline_db import campaigns, coverage, newest, verdicts
from plumbline_db.coverage import Coverage, StageCoverage
from plumbline_db.layout import use
from plumbline_db.newest import NewestVerdict
from plumbline_db.records import Verdict

_PLACES = 10  # those that were measured last
_WORST = 8  # violations of a place
_CHANGES = 12  # of a place


class Change(msgspec.Struct, frozen=True):
    """A cell that held, or was violated, in the full table before the newest one."""

    campaign: str
    stage: str
    now: Verdict
    then: str


class PlaceNow(msgspec.Struct, frozen=True):
    """`stage`: what is in force, `after` where exported files are. `violated`: in every way of use
    that was measured; `more`: a text about other cells. `since`: the campaign that `changes` are
    counted from (None: there is nothing to compare with)."""

    coverage: Coverage
    stage: str
    violated: int
    more: str
    undecided: int
    before: int
    worst: list[NewestVerdict]
    since: str | None
    changes: list[Change]
    unseen: int

    @property
    def now(self) -> StageCoverage:
        return self.coverage.stages[self.stage]


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    every = coverage.of_campaigns(visit.db)
    every.sort(key=_measured, reverse=True)
    places = [_place_now(visit, each) for each in every[:_PLACES]]
    known = campaigns.all_campaigns(visit.db)
    return visit.page(
        "overview.html",
        places=places,
        more=len(every) - len(places),
        runs=known[::-1][:5],
        count=len(known),
        steps=next_steps.of(visit.db, known, every),
    )


def _measured(each: Coverage) -> str:
    return max((found.newest_measured for found in each.stages.values()), default="")


def _place_now(visit: Visit, each: Coverage) -> PlaceNow:
    stage = "after" if "after" in each.stages else "before"
    verdict = newest.of_place(visit.db, each, stage)
    violated = [found for found in verdict if found.verdict.violated_everywhere]
    violated.sort(key=lambda found: found.verdict.ratio or 0.0, reverse=True)
    changes = _changes(visit, each, stage)
    before = each.stages.get("before")
    counts = before.guidelines.values() if before else ()
    return PlaceNow(
        coverage=each,
        stage=stage,
        violated=len(violated),
        more=headline.more(
            [found.verdict for found in verdict],
            use(campaigns.get(visit.db, each.stages[stage].newest)),
        ),
        undecided=sum(found.verdict.verdict == "undecided" for found in verdict),
        before=sum(count.violations for count in counts),
        worst=violated[:_WORST],
        since=each.stages[stage].compared,
        changes=changes[:_CHANGES],
        unseen=max(0, len(changes) - _CHANGES),
    )


def _changes(visit: Visit, each: Coverage, stage: str) -> list[Change]:
    """Of the newest table; what is violated now comes first."""
    found = each.stages[stage]
    if found.compared is None:
        return []
    then = {
        newest.about(verdict): verdict.verdict
        for verdict in verdicts.get(visit.db, found.compared, stage)
    }
    changed = []
    for now in verdicts.get(visit.db, found.newest, stage):
        before = then.get(newest.about(now), "")
        if {before, now.verdict} == {"holds", "violated"}:
            changed.append(Change(found.newest, stage, now, before))
    return sorted(changed, key=lambda change: (change.then, -(change.now.ratio or 0.0)))
