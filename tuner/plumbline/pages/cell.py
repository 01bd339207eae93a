"""A cell: a function at a size on the ranks of a run, what its guidelines say, and all its variants
side by side in the same launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.pages.visit import Visit, Word, ending, picture_response
from plumbline.results import remaining
from plumbline.results.advice import CellVariant, compared, named
from plumbline.results.remaining import Remaining
from plumbline_db import runs, table_samples, verdicts
from plumbline_db.launch_records import PrunedError
from plumbline_db.records import Campaign, Verdict

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
    whole = [{"filter": "isValid(datum.middle)"}]
    layers = [
        {
            "transform": whole,
            "mark": {"type": "rule", "color": "#5b87ad"},
            "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "transform": whole,
            "mark": {"type": "rule", "strokeWidth": 10, "color": "#9dbcd6"},
            "encoding": {
                "x": x | {"field": "quartile_1"},
                "x2": {"field": "quartile_3"},
                "tooltip": tooltip,
            },
        },
        {
            "transform": [{"filter": "isValid(datum.launch_median)"}],
            "mark": {"type": "tick", "color": "#8a3b12", "size": 16, "thickness": 1.5},
            "encoding": {
                "x": x | {"field": "launch_median"},
                "tooltip": [
                    {"field": "variant", "title": "variant"},
                    {"field": "launch_median", "title": "median of a launch, µs", "format": ".4g"},
                ],
            },
        },
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


class CellQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stage`: which table; empty: the last one."""

    stage: Word = ""


class CellData(msgspec.Struct, frozen=True):
    campaign: Campaign
    stage: str
    stages: list[str]
    function: str
    size: int
    verdicts: list[Verdict]
    variants: list[CellVariant]


def page(visit: Visit) -> Response:
    shown = _read(visit)
    numbers = sorted({run for variant in shown.variants for run in variant.seconds})
    names_by_launch = runs.names(visit.db, numbers)
    return visit.page(
        "cell.html",
        cell=shown,
        launches=[(names_by_launch[number], number) for number in numbers],
        still=_still_violated(visit, shown),
        uses=[(verdict, use) for verdict in shown.verdicts for use in verdict.uses],
    )


def _still_violated(visit: Visit, shown: CellData) -> list[Remaining]:
    """The guidelines that the cell still violates in its last table, each with the reason."""
    if shown.stage != shown.stages[-1]:
        return []
    return remaining.of_cell(visit.db, shown.campaign, shown.verdicts)


def picture(visit: Visit) -> Response:
    suffix = ending(visit, ".json")
    shown = _read(visit)
    times = _distributions(visit, shown)
    name = f"{shown.function}-{shown.size}-{shown.stage}"
    title = f"{shown.function} at {shown.size} bytes, {shown.campaign.id}, {shown.stage}"
    spec = _chart_of(times, title)
    return picture_response(visit, name, suffix, spec)


def _read(visit: Visit) -> CellData:
    asked, campaign = visit.asked(CellQuery), visit.campaign()
    function, size = visit.path("function"), visit.path("bytes")
    stages = verdicts.stages(visit.db, campaign.id)
    stage = asked.stage or (stages[-1] if stages else "")
    if stage not in stages or size >= 2**63:
        raise HTTPException(404, "this run has no such table")
    table = verdicts.get(visit.db, campaign.id, stage)
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
    return CellData(campaign, stage, stages, function, size, about, compared(medians))


def _distributions(visit: Visit, shown: CellData) -> list[_Distribution]:
    """Return those of the samples; of the launches' medians alone where samples were thrown
    away."""
    try:
        every = table_samples.samples(
            visit.db,
            shown.campaign.id,
            verdicts.get(visit.db, shown.campaign.id, shown.stage),
            [shown.size],
            [shown.function],
        )
    except PrunedError:
        every = []
    samples = {named(variant.case): variant.ns for variant in every}
    return [
        _of(variant.name, list(variant.seconds.values()), samples.get(variant.name))
        for variant in shown.variants
    ]
