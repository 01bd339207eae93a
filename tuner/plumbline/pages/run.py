"""One run: its tables, winners, searches, suites, and what happened; of a run of suites that a file
described, what these are; and a winner with what proves it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import msgspec
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.core.cell import Target
from plumbline.core.winner import holds
from plumbline.pages import curve, plot
from plumbline.pages.visit import Nothing, Visit
from plumbline.results import putting_in_use
from plumbline.results.report import effects_of_factors
from plumbline_db import campaigns, cost, findings, machines, points, runs
from plumbline_db.connection import Database
from plumbline_db.findings import about
from plumbline_db.layout import asked, fixed, use
from plumbline_db.points import SuitePoint
from plumbline_db.records import EVERY_FUNCTION, Event, Export, Run, Suite, Verdict, Winner


class CountedTable(msgspec.Struct, frozen=True):
    stage: str
    cells: int
    violated: int
    undecided: int
    worst: float | None


class CountedSuite(msgspec.Struct, frozen=True):
    """`failed`: so many of its launches."""

    name: str
    suite: Suite
    launches: int
    failed: int
    seconds: float


class DrawnWinner(msgspec.Struct, frozen=True):
    """A winner with its number in the run, and its speed-up as a picture."""

    place: int
    winner: Winner
    picture: Markup


class DescribedCurves(msgspec.Struct, frozen=True):
    """A suite that a file described: the names of its curves, and the points that were added."""

    name: str
    axis: str
    curves: list[tuple[str, str]]
    asked: int
    added: list[SuitePoint]


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    db, campaign = visit.db, visit.campaign()
    launched = runs.listing(db, campaign.id)
    return visit.page(
        "run.html",
        campaign=campaign,
        machine=machines.machine(db, campaign.machine),
        library=machines.library(db, campaign.library_fingerprint),
        use=use(campaign),
        fixed=fixed(campaign),
        asked=asked(campaign),
        cost=cost.cost(db, campaign.id),
        tables=[
            counted(stage, findings.get_verdicts(db, campaign.id, stage))
            for stage in findings.stages(db, campaign.id)
        ],
        winners=drawn_winners(findings.get_winners(db, campaign.id)),
        multiples=plot.of_run(visit, campaign),
        searches=findings.all_searches(db, campaign.id),
        exports=_folders(campaigns.exports(db, campaign.id)),
        events=campaigns.events(db, campaign.id),
        factors=effects_of_factors(db, campaign.machine, campaign.library_fingerprint),
        described=_described(db, campaign.id),
        suites=_suites(runs.suites(db, campaign.id), launched),
        failed=[launch for launch in launched if launch.failure is not None],
    )


def drawn_winners(all_winners: Sequence[Winner]) -> list[DrawnWinner]:
    """Return the winners by function and size, the winners for every function first."""
    largest = max((winner.speedup_high for winner in all_winners), default=1.0)
    every = [
        DrawnWinner(
            place,
            winner,
            plot.interval(winner.speedup_low, winner.speedup, winner.speedup_high, largest),
        )
        for place, winner in enumerate(all_winners)
    ]
    return sorted(every, key=lambda drawn: (drawn.winner.function, drawn.winner.bytes_from))


def _folders(exported: Sequence[Export]) -> dict[str, list[str]]:
    """The names of exported files by their folder."""
    names_by_folder: dict[str, list[str]] = {}
    for export in exported:
        path = PurePath(export.path)
        names_by_folder.setdefault(str(path.parent), []).append(path.name)
    return {folder: sorted(names) for folder, names in names_by_folder.items()}


def counted(stage: str, table: list[Verdict]) -> CountedTable:
    words = [verdict.verdict for verdict in table]
    ratios = [verdict.ratio for verdict in table if verdict.ratio is not None]
    worst = max(ratios, default=None)
    return CountedTable(stage, len(table), words.count("violated"), words.count("undecided"), worst)


def _suites(suites_by_name: dict[str, Suite], launched: list[Run]) -> list[CountedSuite]:
    by_suite: dict[str, list[Run]] = {name: [] for name in suites_by_name}
    for launch in launched:
        by_suite[launch.suite].append(launch)
    return [
        CountedSuite(
            name,
            suite,
            len(by_suite[name]),
            sum(launch.failure is not None for launch in by_suite[name]),
            sum(launch.seconds for launch in by_suite[name]),
        )
        for name, suite in suites_by_name.items()
    ]


def _described(db: Database, campaign: str) -> list[DescribedCurves]:
    every = points.get(db, campaign)
    if not every:
        return []
    described = []
    for source in curve.offered(db, campaign, every=False):
        name = source.side.removeprefix(f"{campaign}/")
        own = [point for point in every if point.suite == points.stored_suite(name).name]
        curves = [
            (curve, f"{function} {words}")
            for function, names in source.functions.items()
            for curve, words in names
        ]
        added = [point for point in own if point.why != "asked"]
        described.append(DescribedCurves(name, source.axis, curves, len(own) - len(added), added))
    return described


class _Removed(msgspec.Struct, frozen=True):
    """A cell of the first table that was violated where the winner holds, and what it is in the
    last one (None: it is not there)."""

    before: Verdict
    after: Verdict | None


def winner_page(visit: Visit) -> Response:
    visit.asked(Nothing)
    db, campaign, place = visit.db, visit.campaign(), visit.path("place")
    all_winners = findings.get_winners(db, campaign.id)
    if place >= len(all_winners):
        raise HTTPException(404, "this run has no such winner")
    won = all_winners[place]
    stages = findings.stages(db, campaign.id)
    last = {about(verdict): verdict for verdict in findings.get_verdicts(db, campaign.id, "after")}
    first = [
        verdict
        for verdict in findings.get_verdicts(db, campaign.id, "before")
        if _is_its(won, verdict)
    ]
    return visit.page(
        "winner.html",
        campaign=campaign,
        stages=stages,
        won=won,
        every="every function" if won.function == EVERY_FUNCTION else won.function,
        removed=[
            _Removed(verdict, last.get(about(verdict)))
            for verdict in first
            if verdict.verdict == "violated"
        ],
        searches=[
            search
            for search in findings.all_searches(db, campaign.id)
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
