"""The pages of one run's cells: its violation table at a stage, each cell a link to what it rests
on; a cell with all its variants; a guideline and where it fails; the call to choose at a size."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.core import guidelines, plan
from plumbline.core.guidelines import ExplainedGuideline
from plumbline.explain import picture
from plumbline.measure import repetitions
from plumbline.pages.run import counted
from plumbline.pages.visit import Bytes, Nothing, Visit, Word, ending, picture_response
from plumbline.results import (
    advice,
    advice_stored,
    counters,
    remaining,
    repetition_curves,
    sample_figures,
)
from plumbline.results.advice import CellVariant, compared, named
from plumbline.results.remaining import Remaining
from plumbline.system import chart
from plumbline_db import campaigns, coverage, findings, runs, table_samples
from plumbline_db.coverage import Count, Coverage
from plumbline_db.findings import NewestVerdict
from plumbline_db.launch_records import PrunedError
from plumbline_db.records import Campaign, Verdict, by_number
from plumbline_db.runs import LaunchSamples


class TableQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`verdict`: rows that have such a cell alone."""

    guideline: Word = ""
    function: Word = ""
    verdict: Literal["", "violated", "undecided", "holds"] = ""


class TableRow(msgspec.Struct, frozen=True):
    """The cells of two sides, by size; of several at a size the worst."""

    guideline: str
    function: str
    sides: str
    cells: list[Verdict | None]

    @property
    def violated(self) -> list[Verdict]:
        return [cell for cell in self.cells if cell and cell.verdict == "violated"]

    @property
    def undecided(self) -> int:
        return sum(cell is not None and cell.verdict == "undecided" for cell in self.cells)

    @property
    def worst(self) -> float:
        return max((cell.ratio or 1.0 for cell in self.violated), default=0.0)


_WORST = {"violated": 2, "undecided": 1, "holds": 0}


def page(visit: Visit) -> Response:
    asked = visit.asked(TableQuery)
    campaign, stage = visit.campaign(), visit.path("stage")
    every = findings.get_verdicts(visit.db, campaign.id, stage)
    if not every:
        raise HTTPException(404, "this table does not exist")
    chosen = [
        verdict
        for verdict in every
        if asked.guideline in ("", verdict.guideline) and asked.function in ("", verdict.function)
    ]
    sizes = sorted({verdict.bytes for verdict in chosen})
    rows = by_row(chosen, sizes)
    if asked.verdict:
        rows = [row for row in rows if any(c and c.verdict == asked.verdict for c in row.cells)]
    names = guidelines.of_settings(campaign.settings).names()
    return visit.page(
        "table.html",
        campaign=campaign,
        stage=stage,
        stages=findings.stages(visit.db, campaign.id),
        counts=counted(stage, every),
        asked=asked,
        sizes=sizes,
        rows=rows,
        by_function=_by_function(rows),
        step=step,
        names=names,
        guidelines=sorted({verdict.guideline for verdict in every}, key=by_number),
        functions=sorted({verdict.function for verdict in every}),
    )


def by_row(table: Sequence[Verdict], sizes: Sequence[int]) -> list[TableRow]:
    """Return the verdicts by guideline and function; rows with violations first."""
    grouped: dict[tuple[str, str, str], dict[int, Verdict]] = {}
    for verdict in table:
        cells = grouped.setdefault((verdict.guideline, verdict.function, sides(verdict)), {})
        worst = cells.get(verdict.bytes)
        if worst is None or _WORST[verdict.verdict] > _WORST[worst.verdict]:
            cells[verdict.bytes] = verdict
    keys = sorted(grouped, key=lambda key: (by_number(key[0]), key[1], by_number(key[2])))
    rows = [TableRow(*key, [grouped[key].get(size) for size in sizes]) for key in keys]
    return sorted(rows, key=lambda row: not row.violated)


def _by_function(rows: Sequence[TableRow]) -> list[tuple[str, list[TableRow]]]:
    """The function with the largest ratio first."""
    grouped: dict[str, list[TableRow]] = {}
    for row in rows:
        grouped.setdefault(row.function, []).append(row)
    return sorted(grouped.items(), key=lambda item: -max(row.worst for row in item[1]))


def step(verdict: Verdict) -> str:
    """The class of a cell: of a violated one, how much slower it is, in four steps."""
    if verdict.verdict != "violated":
        return verdict.verdict
    return f"violated step-{1 + picture.step(verdict.ratio)}"


def sides(verdict: Verdict) -> str:
    """Return what is compared, but for the sizes: `against gather_as_allgather`."""
    variant = "" if verdict.lhs == "default" else f"{verdict.lhs} "
    on = f"on {verdict.ranks} ranks " if verdict.ranks else ""
    if verdict.rhs == verdict.function:
        right = "another number of ranks" if verdict.ranks else "another size"
        return f"{variant}{on}against {right}"
    return f"{variant}{on}against {verdict.rhs}"


# The run times of variants side by side, as a picture: half of the samples lie within the thick
# bar, nine of ten within the thin one, and a tick is the median of a launch. Pure: times in, a
# Vega-Lite specification out.

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_NAME = 60  # characters of a variant's name


class _Distribution(msgspec.Struct, frozen=True):
    """The distribution of one variant, µs. `quantiles` at _SHARES; empty where samples were thrown
    away."""

    name: str
    samples: int
    medians: list[float]
    quantiles: list[float]


def _of(
    name: str, medians: Sequence[float], samples: Sequence[NDArray[np.int64]] | None
) -> _Distribution:
    """`medians` in seconds, a launch each; `samples` in nanoseconds, an array a launch."""
    joined = np.concatenate(samples) if samples else np.array([], dtype=np.int64)
    quantiles = np.quantile(joined, _SHARES) / 1e3 if len(joined) else np.array([])
    return _Distribution(
        name, len(joined), [1e6 * median for median in medians], quantiles.tolist()
    )


def _chart_of(times: Sequence[_Distribution], title: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for distribution in times:
        name = _short(distribution.name)
        about = {
            "variant": name,
            "launches": len(distribution.medians),
            "samples": distribution.samples,
        }
        if distribution.quantiles:
            names = ("low", "quartile_1", "middle", "quartile_3", "high")
            rows.append(about | dict(zip(names, distribution.quantiles, strict=True)))
        rows += [about | {"launch_median": median} for median in distribution.medians]
    y = {
        "field": "variant",
        "type": "nominal",
        "sort": [_short(variant.name) for variant in times],
        "title": None,
        "axis": {"labelLimit": 400},
    }
    x = {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "title": "run time, µs",
    }
    tooltip = [
        {"field": "variant", "title": "variant"},
        {"field": "launches", "title": "launches"},
        {"field": "samples", "title": "samples"},
        {"field": "middle", "title": "median of all, µs", "format": ".4g"},
        {"field": "quartile_1", "title": "a quarter below, µs", "format": ".4g"},
        {"field": "quartile_3", "title": "a quarter above, µs", "format": ".4g"},
    ]
    of_launch = {"field": "launch_median", "title": "median of a launch, µs", "format": ".4g"}
    most = {"x": x | {"field": "low"}, "x2": {"field": "high"}}
    half = {"x": x | {"field": "quartile_1"}, "x2": {"field": "quartile_3"}, "tooltip": tooltip}
    ticks = {"x": x | {"field": "launch_median"}, "tooltip": [tooltip[0], of_launch]}
    tick = {"color": "#8a3b12", "size": 16, "thickness": 1.5}
    layers = [
        chart.layer("rule", most, valid="middle", color="#5b87ad"),
        chart.layer("rule", half, valid="middle", strokeWidth=10, color="#9dbcd6"),
        chart.layer("tick", ticks, valid="launch_median", **tick),
    ]
    return {
        "title": {"text": title, "anchor": "start", "fontSize": 12},
        "width": 560,
        "height": {"step": 24},
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": layers,
        "config": {"background": "white", "font": "sans-serif"},
    }


def _short(name: str) -> str:
    return name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"


class _CellQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stage`: which table; empty: the last one."""

    stage: Word = ""


class _CellData(msgspec.Struct, frozen=True):
    campaign: Campaign
    stage: str
    stages: list[str]
    function: str
    size: int
    verdicts: list[Verdict]
    variants: list[CellVariant]


def cell_page(visit: Visit) -> Response:
    shown = _read(visit)
    numbers = sorted({run for variant in shown.variants for run in variant.seconds})
    names_by_launch = runs.names(visit.db, numbers)
    samples = _samples(visit, shown)
    return visit.page(
        "cell.html",
        cell=shown,
        launches=[(names_by_launch[number], number) for number in numbers],
        still=_still_violated(visit, shown),
        uses=[(verdict, use) for verdict in shown.verdicts for use in verdict.uses],
        counted=_counters(shown, samples),
        has_samples=bool(samples),
        repetitions=repetitions.stored_of(visit.db, shown.campaign.id, shown.function, shown.size),
    )


def repetitions_picture(visit: Visit) -> Response:
    suffix = ending(visit, ".json")
    visit.asked(Nothing)
    campaign, function, size = visit.campaign(), visit.path("function"), visit.path("bytes")
    cells = repetitions.stored_of(visit.db, campaign.id, function, size)
    if not any(launch.curve for cell in cells for launch in cell.launches):
        raise HTTPException(404, "no samples of repetitions that were counted are stored")
    title = f"{function} at {size} bytes, {campaign.id}: how many repetitions are enough"
    spec = repetition_curves.specification(cells, title)
    return picture_response(visit, f"{function}-{size}-repetitions", suffix, spec)


def _still_violated(visit: Visit, shown: _CellData) -> list[Remaining]:
    """The guidelines that the cell still violates in its last table, each with the reason."""
    if shown.stage != shown.stages[-1]:
        return []
    return remaining.of_cell(visit.db, shown.campaign, shown.verdicts)


def cell_picture(visit: Visit) -> Response:
    suffix = ending(visit, ".json")
    shown = _read(visit)
    times = _distributions(visit, shown)
    name = f"{shown.function}-{shown.size}-{shown.stage}"
    title = f"{shown.function} at {shown.size} bytes, {shown.campaign.id}, {shown.stage}"
    spec = _chart_of(times, title)
    return picture_response(visit, name, suffix, spec)


def samples_picture(visit: Visit) -> Response:
    suffix = ending(visit, ".json")
    shown = _read(visit)
    samples = _samples(visit, shown)
    launches = {
        variant.name: [ns for ns in samples[variant.name].ns if len(ns)]
        for variant in shown.variants
        if variant.name in samples
    }
    launches = {name: of_variant for name, of_variant in launches.items() if of_variant}
    if not launches:
        raise HTTPException(404, "no samples of this cell are stored")
    title = f"{shown.function} at {shown.size} bytes, {shown.campaign.id}, {shown.stage}"
    spec = sample_figures.specification(launches, title)
    return picture_response(visit, f"{shown.function}-{shown.size}-samples", suffix, spec)


def _read(visit: Visit) -> _CellData:
    asked, campaign = visit.asked(_CellQuery), visit.campaign()
    function, size = visit.path("function"), visit.path("bytes")
    stages = findings.stages(visit.db, campaign.id)
    stage = asked.stage or (stages[-1] if stages else "")
    if stage not in stages or size >= 2**63:
        raise HTTPException(404, "this run has no such table")
    table = findings.get_verdicts(visit.db, campaign.id, stage)
    medians = [
        variant_medians
        for variant_medians in table_samples.medians(
            visit.db, campaign.id, table, [size], [function]
        )
        if variant_medians.runs
    ]
    about = [verdict for verdict in table if verdict.function == function and verdict.bytes == size]
    if not medians and not about:
        raise HTTPException(404, "this table has no such cell")
    return _CellData(campaign, stage, stages, function, size, about, compared(medians))


def _samples(visit: Visit, shown: _CellData) -> dict[str, LaunchSamples]:
    """Return the samples of each variant by its name; none if samples were thrown away."""
    try:
        every = table_samples.samples(
            visit.db,
            shown.campaign.id,
            findings.get_verdicts(visit.db, shown.campaign.id, shown.stage),
            [shown.size],
            [shown.function],
        )
    except PrunedError:
        every = []
    return {named(variant.case): variant for variant in every}


class _Counted(msgspec.Struct, frozen=True):
    """The heads of the columns of a cell's counters, and the median over launches of each for each
    variant: for a call, over all ranks (None: not counted)."""

    heads: list[str]
    rows: list[tuple[str, list[float | None]]]


def _counters(shown: _CellData, samples: Mapping[str, LaunchSamples]) -> _Counted:
    """Return those that were counted at all, and are not 0 everywhere."""
    counted_variants = counters.of_cell(list(samples.values()))
    by_variant = {variant.variant: variant.counts for variant in counted_variants}
    names = list(dict.fromkeys(name for counts in by_variant.values() for name in counts))
    rows = [
        (variant.name, [by_variant.get(variant.name, {}).get(name) for name in names])
        for variant in shown.variants
    ]
    return _Counted([f"#{name}" for name in names], rows if names else [])


def _distributions(visit: Visit, shown: _CellData) -> list[_Distribution]:
    """Return the distributions of the samples, or of the launches' medians if samples were thrown
    away."""
    samples = {name: variant.ns for name, variant in _samples(visit, shown).items()}
    return [
        _of(variant.name, list(variant.seconds.values()), samples.get(variant.name))
        for variant in shown.variants
    ]


class _KnownGuideline(msgspec.Struct, frozen=True):
    """Counts are over all places, of what is in force there; `measured`: there are any."""

    id: str
    name: str
    says: str
    violated: int = 0
    undecided: int = 0
    worst: float | None = None
    measured: bool = False


class _FailingPlace(msgspec.Struct, frozen=True):
    coverage: Coverage
    stage: str
    count: Count
    cells: list[NewestVerdict]


def guidelines_page(visit: Visit) -> Response:
    visit.asked(Nothing)
    counts: dict[str, list[Count]] = {}
    for place in _places(visit):
        for name, count in place.stages[_stage(place)].guidelines.items():
            counts.setdefault(name, []).append(count)
    explained = _explained()
    listed = [
        _counted(name, explained.get(_plain(name)), counts.get(name, []))
        for name in sorted(explained.keys() | counts.keys(), key=by_number)
    ]
    return visit.page("guidelines.html", guidelines=listed)


def guideline_page(visit: Visit) -> Response:
    visit.asked(Nothing)
    name = visit.path("guideline")
    places = [
        _FailingPlace(place, _stage(place), place.stages[_stage(place)].guidelines[name], [])
        for place in _places(visit)
        if name in place.stages[_stage(place)].guidelines
    ]
    entry = _explained().get(_plain(name))
    if entry is None and not places:
        raise HTTPException(404, "this guideline does not exist")
    return visit.page(
        "guideline.html",
        guideline=_counted(name, entry, [place.count for place in places]),
        places=[_with_cells(visit, place, name) for place in places],
    )


def _places(visit: Visit) -> list[Coverage]:
    return coverage.of_campaigns(visit.db) + coverage.of_overlap(visit.db)


def _stage(place: Coverage) -> str:
    return "after" if "after" in place.stages else "before"


def _explained() -> dict[str, ExplainedGuideline]:
    return {guideline.id: guideline for guideline in guidelines.explained(guidelines.load())}


def _plain(name: str) -> str:
    """Return the guideline's name without its way of use: `GL12 (loop)` is GL12."""
    return name.partition(" ")[0]


def _counted(name: str, entry: ExplainedGuideline | None, counts: list[Count]) -> _KnownGuideline:
    ratios = [count.worst_ratio for count in counts if count.worst_ratio is not None]
    return _KnownGuideline(
        name,
        entry.name if entry else "of a file of guidelines that is not here",
        f"{entry.meaning} The right side: {entry.right_side}." if entry else "",
        sum(count.violations for count in counts),
        sum(count.undecided for count in counts),
        max(ratios, default=None),
        measured=bool(counts),
    )


def _with_cells(visit: Visit, place: _FailingPlace, name: str) -> _FailingPlace:
    """Return the place with its violated cells, worst first."""
    if not place.count.violations:
        return place
    of_overlap = place.coverage in coverage.of_overlap(visit.db)
    command = "overlap tune" if of_overlap else ""
    violated_cells = [
        cell
        for cell in findings.newest_of_place(visit.db, place.coverage, place.stage, command)
        if cell.verdict.guideline == name and cell.verdict.verdict == "violated"
    ]
    violated_cells.sort(key=lambda cell: cell.verdict.ratio or 0.0, reverse=True)
    return msgspec.structs.replace(place, cells=violated_cells)


_EXAMPLES = 4

_Ranks = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]


class _AdviseQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All three or none. `run`: this one alone; empty: the newest of each library and machine."""

    function: Word = ""
    bytes: Bytes | None = None
    nprocs: _Ranks | None = None
    run: Word = ""


def advise_page(visit: Visit) -> Response:
    asked = visit.asked(_AdviseQuery)
    places = coverage.of_campaigns(visit.db)
    every_campaign = campaigns.all_campaigns(visit.db)
    newest = (
        []
        if not every_campaign
        else findings.get_verdicts(visit.db, every_campaign[-1].id, "before")
    )
    measurable = [name for name in guidelines.load().lhs_functions() if name.startswith("MPI_")]
    advised = None
    if asked.function and asked.bytes is not None and asked.nprocs is not None:
        run = visit.campaign(asked.run).id if asked.run else ""
        function = plan.name_of(asked.function)
        question = advice_stored.AdviceQuestion(function, asked.bytes, asked.nprocs)
        advised = advice_stored.read(visit.db, question, run)
    elif asked != _AdviseQuery():
        raise HTTPException(400, "function, bytes and nprocs: all three")
    return visit.page(
        "advise.html",
        asked=asked,
        advised=advised,
        take=advice.TAKE,
        now=datetime.datetime.now(datetime.UTC),
        ranks=sorted({covered.place.nprocs for covered in places}),
        functions=sorted({verdict.function for verdict in newest}),
        can_be_measured=advised is not None and advised.question.function in measurable,
        examples=_examples(newest),
        empty=not every_campaign,
    )


def _examples(table: Sequence[Verdict]) -> list[tuple[str, int, int]]:
    """Function, bytes and ranks of the worst violations."""
    worst = [verdict for verdict in table if verdict.verdict == "violated"]
    worst.sort(key=lambda verdict: verdict.ratio or 0.0, reverse=True)
    examples = ((verdict.function, verdict.bytes, verdict.nprocs) for verdict in worst or table)
    return list(dict.fromkeys(examples))[:_EXAMPLES]
