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
    found = _read(visit)
    numbers = sorted({run for variant in found.variants for run in variant.seconds})
    known = runs.names(visit.db, numbers)
    return visit.page(
        "cell.html",
        cell=found,
        launches=[(known[number], number) for number in numbers],
        still=_still_violated(visit, found),
        uses=[(verdict, use) for verdict in found.verdicts for use in verdict.uses],
    )


def _still_violated(visit: Visit, found: CellData) -> list[Remaining]:
    """The guidelines that the cell still violates in its last table, each with the reason."""
    if found.stage != found.stages[-1]:
        return []
    return remaining.of_cell(visit.db, found.campaign, found.verdicts)


def picture(visit: Visit) -> Response:
    suffix = drawn.ending(visit, ".json")
    found = _read(visit)
    times = _distributions(visit, found)
    name = f"{found.function}-{found.size}-{found.stage}"
    title = f"{found.function} at {found.size} bytes, {found.campaign.id}, {found.stage}"
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
        found
        for found in table_samples.medians(visit.db, campaign.id, table, [size], [function])
        if found.runs
    ]
    about = [each for each in table if each.function == function and each.bytes == size]
    if not medians and not about:
        raise HTTPException(404, "this table has no such cell")
    return CellData(campaign, stage, stages, function, size, about, compared(medians))


def _distributions(visit: Visit, found: CellData) -> list[Distribution]:
    """Return those of the samples; of the launches' medians alone where samples were thrown
    away."""
    try:
        every = table_samples.samples(
            visit.db,
            found.campaign.id,
            verdicts.get(visit.db, found.campaign.id, found.stage),
            [found.size],
            [found.function],
        )
    except PrunedError:
        every = []
    samples = {named(each.case): each.ns for each in every}
    return [
        distribution_chart.of(each.name, list(each.seconds.values()), samples.get(each.name))
        for each in found.variants
    ]
