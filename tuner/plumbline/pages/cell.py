"""A cell: a function at a size on the ranks of a run, what its guidelines say, and all its variants
side by side in the same launches."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.pages import distribution_chart, drawn
from plumbline.pages.distribution_chart import Distribution
from plumbline.pages.visit import Visit, Word
from plumbline.results import remaining
from plumbline.results.cell_variants import CellVariant, compared, named
from plumbline.results.remaining import Remaining
from plumbline_db import runs, table_samples, verdicts
from plumbline_db.launch_records import PrunedError
from plumbline_db.records import Campaign, Verdict


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
    suffix = drawn.ending(visit, ".json")
    shown = _read(visit)
    times = _distributions(visit, shown)
    name = f"{shown.function}-{shown.size}-{shown.stage}"
    title = f"{shown.function} at {shown.size} bytes, {shown.campaign.id}, {shown.stage}"
    spec = distribution_chart.specification(times, title)
    return drawn.picture(visit, name, suffix, spec)


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


def _distributions(visit: Visit, shown: CellData) -> list[Distribution]:
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
        distribution_chart.of(
            variant.name, list(variant.seconds.values()), samples.get(variant.name)
        )
        for variant in shown.variants
    ]
