"""A cell: a function at a size on the ranks of a run, what its guidelines say, and all its variants
side by side in the same launches."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.pages import distribution_chart, drawn
from plumbline.pages.distribution_chart import Distribution
from plumbline.pages.visit import Visit, Word
from plumbline.search.outcome import label
from plumbline.verify.statistics import DEFAULT_TEST, TESTS, Comparison, benjamini_hochberg
from plumbline_db import runs, table_samples, verdicts
from plumbline_db.records import Campaign, Case, Medians, Verdict
from plumbline_db.series import PrunedError


class CellQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stage`: which table; empty: the last one."""

    stage: Word = ""


class CellVariant(msgspec.Struct, frozen=True):
    """`seconds`: medians by launch number. `ratio`: its time over that of the library's own call in
    the same launches (None: it is that call, or they share no launch); `p_adjusted` over all
    variants of the cell."""

    name: str
    case: Case
    seconds: dict[int, float]
    ratio: Comparison | None = None
    p_adjusted: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds.values())


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
        uses=[(verdict, use) for verdict in found.verdicts for use in verdict.uses],
    )


def picture(visit: Visit) -> Response:
    suffix = drawn.ending(visit, ".json")
    found = _read(visit)
    times = _distributions(visit, found)
    name = f"{found.function}-{found.size}-{found.stage}"
    title = f"{found.function} at {found.size} bytes, {found.campaign.id}, {found.stage}"
    spec = distribution_chart.specification(times, title)
    if suffix == ".json":
        return drawn.download(visit, name, ".vl.json", drawn.encoded(spec))
    return drawn.picture(visit, name, suffix, drawn.encoded(spec), lambda: spec)


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


def compared(medians: Sequence[Medians]) -> list[CellVariant]:
    """The library's own call first, the others by their time."""
    every = [
        CellVariant(named(each.case), each.case, dict(zip(each.runs, each.seconds, strict=True)))
        for each in medians
    ]
    default = next((each for each in every if each.name == "default"), None)
    others = [_with_ratio(each, default) for each in every if each is not default]
    tested = [each for each in others if each.ratio is not None]
    adjusted = benjamini_hochberg([each.ratio.p for each in tested if each.ratio])
    by_name = {each.name: float(p) for each, p in zip(tested, adjusted, strict=True)}
    others = [msgspec.structs.replace(each, p_adjusted=by_name.get(each.name)) for each in others]
    others.sort(key=lambda each: each.median)
    return ([default] if default else []) + others


def named(case: Case) -> str:
    on = f" on {case.ranks} ranks" if case.ranks else ""
    return label(case.variant, case.knobs) + on


def _with_ratio(variant: CellVariant, default: CellVariant | None) -> CellVariant:
    if default is None:
        return variant
    shared = sorted(variant.seconds.keys() & default.seconds.keys())
    ours = [variant.seconds[run] for run in shared]
    theirs = [default.seconds[run] for run in shared]
    if not shared or min(*ours, *theirs) <= 0:
        return variant
    found = TESTS[DEFAULT_TEST].run(ours, theirs, "two-sided", 0.95)
    return msgspec.structs.replace(variant, ratio=found)


def _distributions(visit: Visit, found: CellData) -> list[Distribution]:
    """Of the samples; of the launches' medians alone where samples were thrown away."""
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
