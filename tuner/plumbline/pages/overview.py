"""The pages about all runs: the first page (what is violated, what winners gain and how old that
is, what to do next), the list of runs, the map of a site and the history of its campaigns."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from plumbline.pages import svg
from plumbline.pages.svg import Multiple
from plumbline.pages.visit import Bytes, Nothing, Visit, Word
from plumbline.results import compared_now, putting_in_use, report, site_map, site_picture
from plumbline.results.advice_stored import days_since
from plumbline.results.comparison_files import summary, words_of
from plumbline.results.site_map import SiteMap
from plumbline.system.words import counted
from plumbline_db import campaigns, coverage, findings, machines, watching
from plumbline_db.connection import Database
from plumbline_db.coverage import Coverage, StageCoverage
from plumbline_db.errors import typed
from plumbline_db.findings import NewestVerdict
from plumbline_db.layout import is_simulated, use
from plumbline_db.records import Campaign, Library, Machine, Verdict

_OLD_DAYS = 90  # a table that is older is worth to be measured again
_UNDECIDED = 0.1  # share of a table's cells


class _NextStep(msgspec.Struct, frozen=True):
    """`command` is empty where `text` says why there is none. `run`: id of the run that it is
    about; empty: none."""

    text: str
    command: str
    run: str = ""


def steps_of(db: Database, every_campaign: Sequence[Campaign]) -> list[_NextStep]:
    """Return what concerns no single place, the most urgent step first."""
    if not every_campaign:
        return [_NextStep("The database contains no campaign yet.", typed("campaign"))]
    return [*_watched(db), *_unfinished(db, every_campaign)]


def _watched(db: Database) -> list[_NextStep]:
    waiting = [alarm for _, alarm in watching.every(db) if alarm.is_open]
    if not waiting:
        return []
    text = f"{counted(len(waiting), 'watched cell')} may have changed."
    return [_NextStep(text, typed("watch", "--status"), waiting[-1].campaign)]


def _unfinished(db: Database, every_campaign: Sequence[Campaign]) -> list[_NextStep]:
    """The campaign that runs, and the newest of those that were interrupted."""
    states = {
        campaign.id: campaigns.state(db, campaign)
        for campaign in every_campaign
        if not campaign.imported_from
    }
    running = [id for id, state in states.items() if state == "running"]
    steps = [
        _NextStep(f"{id} is running. What it has found so far:", typed("results", "--campaign", id))
        for id in running
    ]
    interrupted = [id for id, state in states.items() if state == "interrupted"]
    if interrupted:
        id = interrupted[-1]
        others = f" So were {len(interrupted) - 1} more." if interrupted[1:] else ""
        text = f"{id} was interrupted.{others} To continue it:"
        steps.append(_NextStep(text, typed("campaign", "--continue", id), id))
    return steps


def of_place(db: Database, each: Coverage, now: datetime.datetime) -> list[_NextStep]:
    place, before = each.place, each.stages.get("before")
    counts = before.guidelines.values() if before else ()
    violated = sum(count.violations for count in counts)
    steps = []
    if each.in_force and (won := findings.get_winners(db, each.in_force)):
        use = putting_in_use.use(db, campaigns.get(db, each.in_force), won)
        text = use.refused or "Winners exist. To use them:"
        steps.append(_NextStep(text, use.command, each.in_force))
    elif before and "after" not in each.stages and violated:
        text = "Nothing was searched yet. To search what removes the violations:"
        steps.append(_NextStep(text, typed("campaign", "--nprocs", place.nprocs), before.newest))
    if before is None:
        return steps
    undecided = sum(count.undecided for count in counts)
    if undecided > _UNDECIDED * before.cells:
        text = f"{undecided} of {before.cells} cells are undecided. More launches decide:"
        command = typed("verify", "--nprocs", place.nprocs, "--set", "launches_max=60")
        steps.append(_NextStep(text, command, before.newest))
    if (days_since(before.newest_measured, now) or 0.0) > _OLD_DAYS:
        text = f"The newest table is older than {_OLD_DAYS} days. To measure it again:"
        steps.append(
            _NextStep(text, typed("campaign", "--nprocs", place.nprocs, "--new"), before.newest)
        )
    return steps


_PLACES = 10  # those that were measured last
_WITH_CURVES = 3  # of them
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
    counted from (None: there is nothing to compare with). `speedup`: the median of the winners in
    force (None: there are none). `steps`: what to do about this place."""

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
    simulated: bool
    speedup: float | None
    winners: int
    age: str
    multiples: list[Multiple]
    steps: list[_NextStep]

    @property
    def now(self) -> StageCoverage:
        return self.coverage.stages[self.stage]


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    every = coverage.of_campaigns(visit.db)
    every.sort(key=_measured, reverse=True)
    every.sort(key=lambda each: _is_simulated(visit, each))  # real machines first
    now = datetime.datetime.now(datetime.UTC)
    places = [
        _place_now(visit, each, now, curves=number < _WITH_CURVES)
        for number, each in enumerate(every[:_PLACES])
    ]
    every_campaign = campaigns.all_campaigns(visit.db)
    return visit.page(
        "overview.html",
        real=[place for place in places if not place.simulated],
        simulated=[place for place in places if place.simulated],
        more=len(every) - len(places),
        runs=every_campaign[::-1][:5],
        count=len(every_campaign),
        steps=steps_of(visit.db, every_campaign),
    )


def _measured(each: Coverage) -> str:
    return max((stage.newest_measured for stage in each.stages.values()), default="")


def _is_simulated(visit: Visit, each: Coverage) -> bool:
    stage = "after" if "after" in each.stages else "before"
    return stage in each.stages and is_simulated(campaigns.get(visit.db, each.stages[stage].newest))


def _age(text: str, now: datetime.datetime) -> str:
    """`5 min`, `3 h` or `12 days` since a moment."""
    seconds = 86400 * (days_since(text, now) or 0.0)
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.0f} days"


def _place_now(visit: Visit, each: Coverage, now: datetime.datetime, *, curves: bool) -> PlaceNow:
    stage = "after" if "after" in each.stages else "before"
    verdict = findings.newest_of_place(visit.db, each, stage)
    violated = [cell for cell in verdict if cell.verdict.violated_everywhere]
    violated.sort(key=lambda cell: cell.verdict.ratio or 0.0, reverse=True)
    changes = _changes(visit, each, stage)
    before = each.stages.get("before")
    counts = before.guidelines.values() if before else ()
    campaign = campaigns.get(visit.db, each.stages[stage].newest)
    won = findings.get_winners(visit.db, each.in_force) if each.in_force else []
    return PlaceNow(
        coverage=each,
        stage=stage,
        violated=len(violated),
        more=report.more([cell.verdict for cell in verdict], use(campaign)),
        undecided=sum(cell.verdict.verdict == "undecided" for cell in verdict),
        before=sum(count.violations for count in counts),
        worst=violated[:_WORST],
        since=each.stages[stage].compared,
        changes=changes[:_CHANGES],
        unseen=max(0, len(changes) - _CHANGES),
        simulated=is_simulated(campaign),
        speedup=statistics.median(winner.speedup for winner in won) if won else None,
        winners=len(won),
        age=_age(each.stages[stage].newest_measured, now),
        multiples=svg.of_run(visit, campaign) if curves else [],
        steps=of_place(visit.db, each, now),
    )


def _changes(visit: Visit, each: Coverage, stage: str) -> list[Change]:
    """Return the changes of the newest table; what is violated now comes first."""
    covered_stage = each.stages[stage]
    if covered_stage.compared is None:
        return []
    then = {
        findings.about(verdict): verdict.verdict
        for verdict in findings.get_verdicts(visit.db, covered_stage.compared, stage)
    }
    changed = []
    for now in findings.get_verdicts(visit.db, covered_stage.newest, stage):
        before = then.get(findings.about(now), "")
        if {before, now.verdict} == {"holds", "violated"}:
            changed.append(Change(covered_stage.newest, stage, now, before))
    return sorted(changed, key=lambda change: (change.then, -(change.now.ratio or 0.0)))


# All runs, the newest first. A run is a campaign.

_RUNS_ON_A_PAGE = 25


class _RunsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"first": "from"}):
    """`first`: how many newer runs are left out; `text`: what must be in a name."""

    first: Bytes = 0
    text: Word = ""


class _ListedRun(msgspec.Struct, frozen=True):
    campaign: Campaign
    machine: Machine
    library: Library

    def has(self, text: str) -> bool:
        names = (self.campaign.id, self.machine.host, self.library.id, str(self.campaign.nprocs))
        return any(text.casefold() in name.casefold() for name in names)


def every_run(visit: Visit, text: str = "") -> list[_ListedRun]:
    """Return the runs that have a text in a name: of `plumbline campaign`, `verify`, `suite` and
    `overlap tune`, and what other programs have printed."""
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
        _ListedRun(campaign, at[campaign.machine], libraries[campaign.library_fingerprint])
        for campaign in every_run
    ]
    return [run for run in listed if run.has(text)]


def runs_page(visit: Visit) -> Response:
    asked = visit.asked(_RunsQuery)
    listed = every_run(visit, asked.text)
    first = asked.first
    return visit.page(
        "runs.html",
        runs=listed[first : first + _RUNS_ON_A_PAGE],
        count=len(listed),
        text=asked.text,
        first=first,
        newer=None if first == 0 else max(0, first - _RUNS_ON_A_PAGE),
        older=first + _RUNS_ON_A_PAGE if first + _RUNS_ON_A_PAGE < len(listed) else None,
    )


_ROWS_ON_A_PAGE = 6  # libraries on machines


class _MapQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"first": "from"}):
    """`first`: so many libraries on machines are left out."""

    first: Bytes = 0


class _DrawnMap(msgspec.Struct, frozen=True):
    map: SiteMap
    picture: Markup


def map_page(visit: Visit) -> Response:
    asked = visit.asked(_MapQuery)
    every = site_map.every(visit.db)
    end = asked.first + _ROWS_ON_A_PAGE
    return visit.page(
        "map.html",
        maps=[
            _DrawnMap(each, Markup(site_picture.svg(each, site_picture.PAGE)))  # noqa: S704
            for each in every[asked.first : end]
        ],
        mark=site_picture.mark,
        count=len(every),
        first=asked.first,
        after=end if end < len(every) else None,
    )


_MOST_CAMPAIGNS = 60  # campaigns, the newest ones


class _CampaignThen(msgspec.Struct, frozen=True):
    """`after` None: there is no last table; `speedup` None: there are no winners."""

    campaign: Campaign
    before: int
    after: int | None
    speedup: float | None


class _PlaceHistory(msgspec.Struct, frozen=True):
    """The campaigns of an installation's ranks, the oldest first; `most`: violations of any."""

    host: str
    version: str
    nprocs: int
    campaigns: list[_CampaignThen]
    most: int


class _ComparedReleases(msgspec.Struct, frozen=True):
    started: str
    a: str
    b: str
    nprocs: int
    counts: dict[str, int]
    worst: str


def history_page(visit: Visit) -> Response:
    visit.asked(Nothing)
    return visit.page("history.html", places=_place_histories(visit), compared=_compared(visit))


def _place_histories(visit: Visit) -> list[_PlaceHistory]:
    db = visit.db
    at = {machine.id: machine for machine in machines.all_machines(db)}
    libraries = {library.fingerprint: library for library in machines.all_libraries(db)}
    grouped: dict[tuple[str, str, int], list[_CampaignThen]] = {}
    for campaign in campaigns.all_campaigns(db)[-_MOST_CAMPAIGNS:]:
        listed = _ListedRun(campaign, at[campaign.machine], libraries[campaign.library_fingerprint])
        then = _then(visit, campaign)
        if then is not None:
            key = (listed.machine.host, listed.library.version_string, campaign.nprocs)
            grouped.setdefault(key, []).append(then)
    return [
        _PlaceHistory(
            *key,
            campaigns_then,
            max(max(campaign.before, campaign.after or 0) for campaign in campaigns_then),
        )
        for key, campaigns_then in grouped.items()
    ]


def _then(visit: Visit, campaign: Campaign) -> _CampaignThen | None:
    """None: it has no table yet."""
    before = findings.get_verdicts(visit.db, campaign.id, "before")
    if not before:
        return None
    after = findings.get_verdicts(visit.db, campaign.id, "after")
    won = findings.get_winners(visit.db, campaign.id)
    return _CampaignThen(
        campaign,
        len(report.everywhere(before)),
        len(report.everywhere(after)) if after else None,
        statistics.median(winner.speedup for winner in won) if won else None,
    )


def _compared(visit: Visit) -> Sequence[_ComparedReleases]:
    releases = []
    for comparison in compared_now.stored(visit.db):
        worst = comparison.cells[0]
        releases.append(
            _ComparedReleases(
                comparison.a.launches[0].started,
                f"{comparison.a.name.text} ({comparison.a.library.version_string})",
                f"{comparison.b.name.text} ({comparison.b.library.version_string})",
                comparison.a.campaign.nprocs,
                summary(comparison.cells),
                f"{worst.cell.function} {worst.cell.bytes} B: {words_of(worst)}",
            )
        )
    return releases
