"""The pages that put runs side by side: chosen curves in one picture, two sides cell by cell, the
facts that two runs do not share. What is chosen stands in the address."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.measure import factors
from plumbline.pages import curve, overview, svg
from plumbline.pages import curve as choices
from plumbline.pages.curve import Curve, Offered, PlottedPoint
from plumbline.pages.svg import DrawnTopology
from plumbline.pages.visit import Bytes, Visit, Word, download, ending, picture_response
from plumbline.results import comparison_files, sides
from plumbline.results.compare import ComparedCell, How, SideComparison, Verdict, compare
from plumbline.results.sides import ComparedSide
from plumbline.system import chart
from plumbline_db import campaigns, findings, hockney, machines, runs
from plumbline_db.errors import PlumblineError
from plumbline_db.launch_records import PrunedError
from plumbline_db.records import Campaign

MOST_RUNS = 12
MOST_CURVES = 24
_ON_A_PAGE = 60  # runs to choose from

Scale = Literal["log", "linear"]


class CurvesQuery(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename={"bytes_from": "from", "bytes_to": "to"},
):
    """`curve`: as curve.py writes them. `base`: the curve that others are compared with, from 1.
    `show`: times, or ratios to the base. `every`: suites beside the tables too. `at`: rank by rank,
    at so many bytes."""

    run: Annotated[list[Word], msgspec.Meta(max_length=MOST_RUNS)] = []
    curve: Annotated[list[Word], msgspec.Meta(max_length=MOST_CURVES)] = []
    x: Scale = "log"
    y: Scale = "log"
    show: Literal["times", "ratios"] = "times"
    base: Annotated[int, msgspec.Meta(ge=1, le=MOST_CURVES)] = 1
    bytes_from: Bytes = 0
    bytes_to: Bytes = 2**63 - 1
    at: Bytes | None = None
    text: Word = ""
    every: Literal["", "yes"] = ""


def page(visit: Visit) -> Response:
    asked = visit.asked(CurvesQuery)
    chosen = [visit.campaign(id) for id in dict.fromkeys(asked.run)]
    offered = [
        (campaign, choices.offered(visit.db, campaign.id, every=bool(asked.every)))
        for campaign in chosen
    ]
    shown_curves = _curves(visit, asked)
    ids = {campaign.id for campaign in chosen}
    listed = [run for run in overview.every_run(visit, asked.text) if run.campaign.id not in ids]
    return visit.page(
        "curves.html",
        asked=asked,
        chosen=[run for run in overview.every_run(visit) if run.campaign.id in ids],
        runs=listed[:_ON_A_PAGE],
        left_out=max(0, len(listed) - _ON_A_PAGE),
        offered=offered,
        quick=[(campaign.id, both) for campaign, sources in offered if (both := _quick(sources))],
        curves=shown_curves,
        query=visit.request.url.query,
        together=curve.together(shown_curves),
        by_rank=sorted(
            {size for _, sources in offered for source in sources for size in source.by_rank}
        ),
        axis=shown_curves[0].axis if shown_curves else "bytes",
        no_end=2**63 - 1,
    )


def _quick(sources: Sequence[Offered]) -> list[tuple[str, str]]:
    """Functions of a run with the query of their curves before and after: the library's own call in
    the first and in the last table."""
    tables = [source for source in sources if source.axis == "bytes" and ":" in source.side]
    if len(tables) < 2:
        return []
    queries = []
    for function in tables[0].functions:
        names = [curve.named(side.side, function, "default") for side in (tables[0], tables[-1])]
        run = tables[0].side.rpartition(":")[0]
        queries.append((function, urlencode({"run": run, "curve": names}, doseq=True)))
    return queries


def picture(visit: Visit) -> Response:
    suffix = ending(visit, ".csv", ".json", ".spec")
    asked = visit.asked(CurvesQuery)
    shown_curves = _curves(visit, asked)
    if not shown_curves:
        raise HTTPException(400, "curve: at least one")
    if suffix == ".csv":
        text = curve.csv_of(shown_curves).encode()
        return download(visit, "curves", ".csv", text, "text/csv; charset=utf-8")
    if suffix == ".json":
        return download(visit, "curves", ".json", msgspec.json.encode({"curves": shown_curves}))
    spec = specification(
        shown_curves, x=asked.x, y=asked.y, ratios=asked.show == "ratios", zoom=suffix == ".spec"
    )
    return picture_response(visit, "curves", suffix, spec)


def _curves(visit: Visit, asked: CurvesQuery) -> list[Curve]:
    names = list(dict.fromkeys(asked.curve))
    if names and asked.base > len(names):
        raise HTTPException(400, f"base: there are {len(names)} curves")
    bounds = (asked.bytes_from, asked.bytes_to)
    base = names[asked.base - 1] if names else ""
    return curve.read(visit.db, names, base, bounds, asked.at)


# Two sides, cell by cell: libraries, versions, settings, tables. Only what was measured together is
# called faster; that is decided in results/compare.py.

_OFFERED = 20  # runs
_EXAMPLES = 4
_DIFFERING = frozenset[Verdict](("A faster", "B faster", "differs", "differs (unpaired)"))


class _ComparisonQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`a`, `b`: RUN[:STAGE | /SUITE][@VARIANT], as in `plumbline compare`."""

    a: Word = ""
    b: Word = ""


def comparison_page(visit: Visit) -> Response:
    asked = visit.asked(_ComparisonQuery)
    compared = _compared(visit, asked) if asked.a and asked.b else None
    every = [*campaigns.all_campaigns(visit.db), *campaigns.of_suites(visit.db)]
    newest = sorted(every, key=lambda campaign: campaign.started)[::-1][:_OFFERED]
    offered = [side for run in newest for side in sides.offered(visit.db, run.id)]
    lines = sorted(compared.lines, key=_likeness) if compared else []
    return visit.page(
        "compare.html",
        asked=asked,
        compared=compared,
        differing=[line for line in lines if line.verdict in _DIFFERING],
        alike=[line for line in lines if line.verdict not in _DIFFERING],
        offered=list(dict.fromkeys([*(side for side in (asked.a, asked.b) if side), *offered])),
        examples=_examples(visit, [run.id for run in newest]),
    )


def _likeness(line: ComparedCell) -> float:
    """Return a number that is the smaller the more the sides differ."""
    return -abs(math.log(line.ratio)) if line.ratio else 0.0


def _examples(visit: Visit, newest: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return what somebody may want to compare: words and two sides."""
    examples = []
    for run in newest:
        of_run = sides.offered(visit.db, run)
        if len(of_run) > 1:
            examples.append((f"first and last table of {run}", of_run[0], of_run[-1]))
    cells = {run: _cells(visit, run) for run in newest}
    for b, a in itertools.pairwise([run for run in newest if cells[run]]):
        if cells[a] & cells[b]:
            examples.append((f"{a} and {b}", f"{a}:before", f"{b}:before"))
    return examples[:_EXAMPLES]


def _cells(visit: Visit, run: str) -> set[tuple[str, int, int]]:
    """Return what the first table of a run is about."""
    table = findings.get_verdicts(visit.db, run, "before")
    return {
        (verdict.function, verdict.bytes, verdict.nprocs)
        for verdict in table
        if verdict.launches > 2
    }


def comparison_picture(visit: Visit) -> Response:
    suffix = ending(visit, ".json")
    asked = visit.asked(_ComparisonQuery)
    if not (asked.a and asked.b):
        raise HTTPException(400, "a and b: two sides, RUN[:STAGE | /SUITE][@VARIANT]")
    compared = _compared(visit, asked)
    spec = comparison_files.chart_specification(compared, asked.a, asked.b)
    return picture_response(visit, "comparison", suffix, spec)


def _compared(visit: Visit, asked: _ComparisonQuery) -> SideComparison:
    try:
        return compare(_side(visit, asked.a), _side(visit, asked.b), How())
    except PrunedError as error:
        raise HTTPException(410, "the samples of a side were thrown away") from error
    except PlumblineError as error:
        text = str(error).replace(str(visit.db.path), "the database")
        raise HTTPException(400, text) from error


def _side(visit: Visit, text: str) -> ComparedSide:
    name = sides.parse(text)
    if name.file is not None:
        raise HTTPException(400, f"{text!r} names a file: sides are of this database")
    if campaigns.known(visit.db, name.campaign) is None:
        raise HTTPException(404, f"there is no run {name.campaign}")
    return sides.read(visit.db, name)


_RUNS_OFFERED = 100


class _EnvironmentQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`a`, `b`: ids of runs."""

    a: Word = ""
    b: Word = ""


class _FactorLine(msgspec.Struct, frozen=True):
    """A factor with its value in each run. `join`: whether launches may be joined that differ in
    it."""

    factor: str
    values: list[str]
    join: str

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def environment_page(visit: Visit) -> Response:
    asked = visit.asked(_EnvironmentQuery)
    chosen = [visit.campaign(id) for id in (asked.a, asked.b) if id]
    newest = [campaign.id for campaign in campaigns.all_campaigns(visit.db)[::-1][:_RUNS_OFFERED]]
    offered = list(dict.fromkeys([*newest, *(campaign.id for campaign in chosen)]))
    every = [_facts(visit, campaign.id) for campaign in chosen]
    lines = [
        _FactorLine(
            name,
            [values.get(name, factors.NOT_SET if _variable(name) else "") for values in every],
            factors.rule_of(name).join,
        )
        for name in dict.fromkeys(name for values in every for name in values)
    ]
    return visit.page(
        "environment.html",
        asked=asked,
        chosen=chosen,
        offered=offered,
        differing=[line for line in lines if line.differs],
        equal=[line for line in lines if not line.differs],
        topologies=_topologies(visit, chosen),
    )


def _topologies(visit: Visit, chosen: Sequence[Campaign]) -> list[tuple[str, DrawnTopology]]:
    """Return each topology of the runs' hosts once, with its first run's id, and with what the
    last ping-pongs of its machine and library have measured."""
    run_by_text: dict[str, Campaign] = {}
    for campaign in chosen:
        first = runs.first_header(visit.db, campaign.id)
        for factor in first[1].factors if first is not None else ():
            if factor.name == "topology":
                for text in factor.values:
                    run_by_text.setdefault(text, campaign)
    pictures = []
    for text, campaign in run_by_text.items():
        lines = hockney.latest(visit.db, campaign.machine, campaign.library_fingerprint)
        picture = svg.drawn(text, lines)
        if picture is not None:
            pictures.append((campaign.id, picture))
    return pictures


def _variable(name: str) -> bool:
    return name.startswith(factors.ENVIRONMENT + " ")


def _facts(visit: Visit, id: str) -> dict[str, str]:
    """Return the facts about the first finished launch, and about what was measured with."""
    campaign = visit.campaign(id)
    machine = machines.machine(visit.db, campaign.machine)
    library = machines.library(visit.db, campaign.library_fingerprint)
    first = runs.first_header(visit.db, id)
    launch = {} if first is None else factors.facts(first[1])
    about: dict[str, object] = msgspec.to_builtins(machine)
    return (
        {f"machine {name}": str(value) for name, value in about.items()}
        | {"library prefix": library.prefix, "library fingerprint": library.fingerprint}
        | {f"library build {name}": value for name, value in library.build.items()}
        | launch
    )


# All chosen curves in one picture. Pure: curves in, a Vega-Lite specification out.

# Okabe and Ito's colours that stand out on white, told apart without colour by shape and dashes.
_COLOURS = ["#0072b2", "#d55e00", "#007a5a", "#b0508c", "#8a6d00", "#3b3b3b", "#1f8fc4", "#a33b00"]
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
_DASHES = [[1, 0], [6, 3], [2, 2]]
_MOST_TEXT = 80


def specification(
    curves: Sequence[Curve], *, x: str, y: str, ratios: bool, zoom: bool
) -> dict[str, Any]:
    """`ratios`: to the base in place of times. `zoom`: by wheel and dragging, for browsers."""
    texts = [
        _short(f"{place}. {single_curve.text}") for place, single_curve in enumerate(curves, 1)
    ]
    values = [
        {"curve": text} | _row(point, ratios=ratios)
        for text, single_curve in zip(texts, curves, strict=True)
        for point in single_curve.points
        if not ratios or point.factor is not None
    ]
    base = next((place for place, single_curve in enumerate(curves, 1) if single_curve.is_base), 0)
    title = f"run time over that of curve {base}" if ratios else "run time, µs"
    axis = curves[0].axis if curves else "bytes"
    places = sorted({point.place for single_curve in curves for point in single_curve.points})
    encoding = _encoding(texts, axis, places, x, y, title)
    marked = {"shape": _shape(texts), "tooltip": _tooltip(axis, base)}
    points = chart.layer("point", marked, filled=True, size=45)
    if zoom:
        points["params"] = [{"name": "zoom", "select": "interval", "bind": "scales"}]
    interval = {"y": encoding["y"] | {"field": "low"}, "y2": {"field": "high"}}
    layers = [
        chart.layer("rule", interval, valid="low", opacity=0.55),
        chart.layer("line", {"strokeDash": _dash(texts)}, opacity=0.8),
        points,
    ]
    if axis == "rank":  # between ranks there is nothing
        del layers[1]
    if ratios:
        once = {"y": {"datum": 1}, "x": None, "color": None}
        layers.insert(0, chart.layer("rule", once, color="#555", strokeDash=[3, 3]))
    return {
        "width": 640,
        "height": 400,
        "data": {"values": values},
        "encoding": encoding,
        "layer": layers,
        "config": {"background": "white", "font": "sans-serif"},
    }


def below_each_other(pictures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several of them in one."""
    panels = [
        {key: picture[key] for key in picture if key != "config"} | {"width": 520, "height": 260}
        for picture in pictures
    ]
    return {
        "vconcat": panels,
        "resolve": {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "independent")},
        "config": pictures[0]["config"],
    }


def _encoding(
    texts: list[str], over: str, places: list[int], x: str, y: str, title: str
) -> dict[str, Any]:
    scale: dict[str, Any] = {"type": "symlog" if x == "log" else "linear"}
    scale |= {"nice": False, "padding": 10, "zero": False}
    axis: dict[str, Any] = {"labelOverlap": True, "labelExpr": chart.IN_POWERS_OF_TWO}
    if over != "bytes":
        axis = {"labelOverlap": True, "values": places, "format": "d"}
        scale["type"] = "linear" if x == "linear" or over == "rank" else "log"
    if scale["type"] == "log":
        del scale["zero"]
    elif x == "log" and over == "bytes":
        axis["values"] = [0, *(4**power for power in range(31))]
    colour = {"domain": texts, "range": _cycle(_COLOURS, texts)}
    return {
        "x": {
            "field": "place",
            "type": "quantitative",
            "title": over,
            "scale": scale,
            "axis": axis,
        },
        "y": {
            "field": "value",
            "type": "quantitative",
            "title": title,
            "scale": {"type": "log"} if y == "log" else {"type": "linear", "zero": False},
        },
        "color": {
            "field": "curve",
            "type": "nominal",
            "scale": colour,
            "legend": {"title": None, "orient": "bottom", "columns": 1, "labelLimit": 620},
        },
    }


def _cycle(values: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    return [values[place % len(values)] for place in range(len(texts))]


def _shape(texts: list[str]) -> dict[str, Any]:
    scale = {"domain": texts, "range": _cycle(_SHAPES, texts)}
    return {"field": "curve", "type": "nominal", "scale": scale}


def _dash(texts: list[str]) -> dict[str, Any]:
    """Another one when all colours were used."""
    dashes = [_DASHES[place // len(_COLOURS) % len(_DASHES)] for place in range(len(texts))]
    scale = {"domain": texts, "range": dashes}
    return {"field": "curve", "type": "nominal", "scale": scale}


def _tooltip(over: str, base: int) -> list[dict[str, str]]:
    return [
        {"field": "curve", "title": "curve"},
        {"field": "place", "title": over},
        {"field": "n", "title": "launches (n)"},
        {"field": "time", "title": "median, µs"},
        {"field": "interval", "title": "95 % interval, µs"},
        {"field": "factor", "title": f"times that of curve {base}"},
        {"field": "why", "title": "added for"},
    ]


def _row(point: PlottedPoint, *, ratios: bool) -> dict[str, Any]:
    factor = point.factor
    row: dict[str, Any] = {
        "place": point.place,
        "n": point.n,
        "time": f"{1e6 * point.seconds:.4g}",
        "interval": "too few launches",
        "factor": "",
        "why": point.why or "it was asked for",
    }
    if point.low is not None and point.high is not None:
        row["interval"] = f"{1e6 * point.low:.4g} to {1e6 * point.high:.4g}"
    if factor is not None:
        row["factor"] = f"{factor.ratio:.3g}"
        if factor.low is not None and factor.high is not None:
            row["factor"] += f" ({factor.low:.3g} to {factor.high:.3g})"
        row["factor"] += "" if factor.together else ", measured apart"
    if ratios and factor is not None:
        return row | {"value": factor.ratio, "low": factor.low, "high": factor.high}
    low, high = (None if seconds is None else 1e6 * seconds for seconds in (point.low, point.high))
    return row | {"value": 1e6 * point.seconds, "low": low, "high": high}


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"
