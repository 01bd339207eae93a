"""The pages of one run: its tables, winners, searches, suites, and what happened; a winner with
what proves it; and the summary of a campaign, one page that can be printed, for people who pay for
the machine and do not read tables of cells, with the page that explains its cells by models."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

import msgspec
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.core.cell import Target
from plumbline.core.winner import holds
from plumbline.explain import explain
from plumbline.explain import picture as explained_picture
from plumbline.explain.explain import Explained, Explanation
from plumbline.libraries import space_file
from plumbline.pages import curve, svg
from plumbline.pages.visit import Nothing, Visit, Word, ending, picture_response
from plumbline.results import putting_in_use, report, spread
from plumbline.results.report import effects_of_factors
from plumbline.system import chart, paths
from plumbline_db import campaigns, cost, findings, machines, points, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.findings import about
from plumbline_db.layout import asked, fixed, use
from plumbline_db.points import SuitePoint
from plumbline_db.records import (
    EVERY_FUNCTION,
    Campaign,
    Event,
    Export,
    Run,
    Suite,
    Verdict,
    Winner,
)
from plumbline_exporters.bundle import sizes


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
        multiples=svg.of_run(visit, campaign),
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
            svg.interval(winner.speedup_low, winner.speedup, winner.speedup_high, largest),
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
        if verdict.replaceable and holds(won, Target(verdict.function, verdict.bytes))
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


def _tells_of(won: Winner, event: Event) -> bool:
    return won.function in (event.function, EVERY_FUNCTION)


# Two pictures in one: violated cells of each function before and after, and how many times as fast
# each winner makes the calls that it is for. Pure: numbers in, a Vega-Lite specification out.

_MOST_FUNCTIONS = 24  # winners, those that gain most
_BEFORE, _AFTER = "#a33b12", "#2f6f9f"


class _FunctionSummary(msgspec.Struct, frozen=True):
    """Cells and violations of one function, before and after; `after` None: there is no last table.
    `best`: the winner that gains most, of the function's own where there are any."""

    function: str
    cells: int
    before: int
    after: int | None
    winners: int
    best: Winner | None


def _chart_of(functions: Sequence[_FunctionSummary], winners: Sequence[Winner]) -> dict[str, Any]:
    panels = [_violations(functions)]
    if winners:
        panels.append(_gains(winners))
    return {
        "vconcat": panels,
        "resolve": {"scale": {"color": "independent"}},  # the legend stands below its own panel
        # A browser's letters are wider than those that the picture was laid out for.
        "padding": {"left": 50, "right": 10, "top": 5, "bottom": 5},
        "config": {"background": "white", "font": "sans-serif", "view": {"stroke": None}},
    }


def _violations(functions: Sequence[_FunctionSummary]) -> dict[str, Any]:
    rows = [
        {"function": summary.function, "table": table, "cells": count}
        for summary in functions
        if summary.before or summary.after
        for table, count in (("before", summary.before), ("after", summary.after))
        if count is not None
    ]
    most = max((max(summary.before, summary.after or 0) for summary in functions), default=0)
    y = {"field": "function", "type": "nominal", "sort": None, "title": None}
    return {
        "title": {"text": "Violated cells, before and after", "anchor": "start", "fontSize": 12},
        "width": 460,
        "height": {"step": 10},
        "data": {"values": rows},
        "mark": "bar",
        "encoding": {
            "y": y,
            "yOffset": {"field": "table", "sort": ["before", "after"]},
            "x": {"field": "cells", "type": "quantitative", "title": "violated cells",
                  "axis": {"format": "d", "tickCount": min(10, max(1, most))}},
            "color": {"field": "table", "type": "nominal", "title": None,
                      "scale": {"domain": ["before", "after"], "range": [_BEFORE, _AFTER]}},
            "tooltip": [{"field": "function"}, {"field": "table"}, {"field": "cells"}],
        },
    }  # fmt: skip


def _gains(winners: Sequence[Winner]) -> dict[str, Any]:
    best = sorted(winners, key=lambda winner: -winner.speedup)[:_MOST_FUNCTIONS]
    rows = [
        {
            "winner": f"{_name(winner)}, {sizes(winner).partition(' (')[0]}",
            "times": winner.speedup,
            "low": winner.speedup_low,
            "high": winner.speedup_high,
        }
        for winner in best
    ]
    y = {"field": "winner", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelLimit": 320}}  # fmt: skip
    x = {"field": "low", "type": "quantitative", "title": "times as fast, with intervals",
         "scale": {"zero": False}}  # fmt: skip
    tooltip = [{"field": name, "format": ".3f"} for name in ("times", "low", "high")]
    once = {"x": {"field": "once", "type": "quantitative"}, "y": None, "tooltip": None}
    once_data = {"data": {"values": [{"once": 1}]}}
    return {
        "title": {"text": "What winners gain", "anchor": "start", "fontSize": 12},
        "width": 460,
        "height": {"step": 15},
        "data": {"values": rows},
        "encoding": {"y": y, "tooltip": [{"field": "winner"}, *tooltip]},
        "layer": [
            chart.layer("rule", {"x": x, "x2": {"field": "high"}}, color=_AFTER),
            chart.layer("point", {"x": x | {"field": "times"}}, filled=True, size=45, color=_AFTER),
            once_data | chart.layer("rule", once, strokeDash=[3, 3]),
        ],
    }


def _name(winner: Winner) -> str:
    return "every function" if winner.function == EVERY_FUNCTION else winner.function


_MOST = 20  # rows of a table


class Summary(msgspec.Struct, frozen=True):
    """`last`: the stage that has the last word."""

    campaign: Campaign
    last: str
    before: list[Verdict]
    after: list[Verdict]
    winners: list[Winner]

    @property
    def functions(self) -> list[_FunctionSummary]:
        names = {verdict.function for verdict in self.before + self.after}
        return sorted(
            (self._of(name) for name in names),
            key=lambda summary: (-summary.before, summary.function),
        )

    def _of(self, function: str) -> _FunctionSummary:
        own = [winner for winner in self.winners if winner.function == function]
        shared = [winner for winner in self.winners if winner.function == EVERY_FUNCTION]
        return _FunctionSummary(
            function,
            sum(verdict.function == function for verdict in self.before),
            _violated([verdict for verdict in self.before if verdict.function == function]),
            _violated([verdict for verdict in self.after if verdict.function == function])
            if self.last != "before"
            else None,
            len(own + shared),
            max(own or shared, key=lambda winner: winner.speedup, default=None),
        )

    @property
    def headline(self) -> str:
        way = use(self.campaign)
        if self.last == "before":
            return report.standing(self.before, way)
        return report.change(self.before, self.after, way)

    @property
    def violated_before(self) -> int:
        return _violated(self.before)

    @property
    def violated_after(self) -> int:
        return _violated(self.after)

    @property
    def middle_speedup(self) -> float | None:
        return (
            statistics.median(winner.speedup for winner in self.winners) if self.winners else None
        )


def _violated(table: Sequence[Verdict]) -> int:
    return len(report.everywhere(table))


def summary_page(visit: Visit) -> Response:
    visit.asked(Nothing)
    db, summary = visit.db, _read(visit)
    campaign = summary.campaign
    spent = cost.cost(db, campaign.id)
    still_violated = [verdict for verdict in summary.after if verdict.verdict == "violated"]
    still_violated.sort(key=lambda verdict: -(verdict.ratio or 0.0))
    hours = spread.hours(db, campaign)
    machine = machines.machine(db, campaign.machine)
    cores = machine.processing_units * campaign.nodes
    return visit.page(
        "summary.html",
        found=summary,
        campaign=campaign,
        machine=machine,
        library=machines.library(db, campaign.library_fingerprint),
        use=use(campaign),
        winners=spread.with_hours(summary.winners, hours)[:_MOST],
        hours=None if hours is None or not summary.winners else hours.text(),
        left=still_violated[:_MOST],
        left_out=max(0, len(still_violated) - _MOST),
        cost=spent,
        core_hours=spent.seconds * min(campaign.nprocs, cores) / 3600,
        exports=campaigns.exports(db, campaign.id),
        use_of_winners=putting_in_use.use(db, campaign, summary.winners),
        curves=_curves(visit, campaign, summary),
    )


def picture(visit: Visit) -> Response:
    visit.asked(Nothing)
    suffix = ending(visit, ".json")
    summary = _read(visit)
    spec = _chart_of(summary.functions, summary.winners)
    return picture_response(visit, "summary", suffix, spec)


def _curves(visit: Visit, campaign: Campaign, summary: Summary) -> dict[str, str]:
    """Return by function the query of its curves: the library's own call in the first and last
    table."""
    queries: dict[str, list[str]] = {}
    for stage, table in {"before": summary.before, summary.last: summary.after}.items():
        for sweep in points.sweeps(visit.db, campaign.id, table_samples.suites(table)):
            if sweep.variant == "default" and not sweep.knobs and not sweep.ranks:
                name = quote(curve.named(f"{campaign.id}:{stage}", sweep.function, "default"))
                queries.setdefault(sweep.function, []).append(f"curve={name}")
    return {function: "&".join(dict.fromkeys(names)) for function, names in queries.items()}


def _read(visit: Visit) -> Summary:
    campaign = visit.campaign()
    stages = findings.stages(visit.db, campaign.id)
    last = "after" if "after" in stages else "before"
    return Summary(
        campaign,
        last,
        findings.get_verdicts(visit.db, campaign.id, "before"),
        findings.get_verdicts(visit.db, campaign.id, last),
        findings.get_winners(visit.db, campaign.id),
    )


# The page that explains a run's cells: run times of the default, the winners and all other
# candidates by size, with the lower bound below them; as `plumbline results --explain --picture`.


class _PictureQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`function`: of which alone; empty: of all."""

    function: Word = ""


class _ExplainedFunction(msgspec.Struct, frozen=True):
    """The cells of a function, that with the most to gain first; `won`: so many have a winner."""

    function: str
    cells: list[Explained]
    won: int


def explained_page(visit: Visit) -> Response:
    visit.asked(Nothing)
    campaign = visit.campaign()
    explanation = _read_explained(visit, campaign)
    return visit.page(
        "explained.html",
        campaign=campaign,
        has_bounds=explanation.basis is not None,
        functions=_by_function(explanation),
    )


def _by_function(explanation: Explanation) -> list[_ExplainedFunction]:
    """Return the functions, that with the most to gain first."""
    cells: dict[str, list[Explained]] = {}
    for cell in sorted(explanation.cells, key=_still_to_gain, reverse=True):
        cells.setdefault(cell.function, []).append(cell)
    return [
        _ExplainedFunction(function, own, sum(cell.winner is not None for cell in own))
        for function, own in cells.items()
    ]


def picture_of_explained(visit: Visit) -> Response:
    function = visit.asked(_PictureQuery).function
    suffix = ending(visit, ".json")
    campaign = visit.campaign()
    explanation = _read_explained(visit, campaign)
    if function:
        explanation = msgspec.structs.replace(
            explanation,
            cells=[cell for cell in explanation.cells if cell.function == function],
            curves=[point for point in explanation.curves if point.function == function],
        )
    if not explanation.curves:
        raise HTTPException(404, "this run has nothing to explain")
    spec = explained_picture.specification(explanation, [campaign.id])
    return picture_response(visit, f"explained{function and '-'}{function}", suffix, spec)


def _read_explained(visit: Visit, campaign: Campaign) -> Explanation:
    """Read without the models of variants, which only a probe knows: no program is started for a
    page."""
    try:
        run_report = report.read(visit.db, campaign.id)
        space = space_file.for_library(paths.layout().search_spaces, run_report.library)
    except PlumblineError as error:
        raise HTTPException(404, "this run has nothing to explain") from error
    if run_report.of_benchmarks():
        raise HTTPException(404, "benchmarks of overlap have no cost models")
    return explain.explain(visit.db, run_report, space, {})


def _still_to_gain(cell: Explained) -> float:
    """Return how many times the lower bound a call takes with the winner, or as it is."""
    return cell.winner_over_floor or cell.default_over_floor or 0.0
