"""Choose runs, choose suites and operations of each, see one picture with all of them. What is
chosen stands in the address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlencode

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.pages import curve, curves_chart, listing
from plumbline.pages import curve as choices
from plumbline.pages.curve import Curve, Offered
from plumbline.pages.visit import Bytes, Visit, Word, download, ending, picture_response

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
    listed = [run for run in listing.every(visit, asked.text) if run.campaign.id not in ids]
    return visit.page(
        "curves.html",
        asked=asked,
        chosen=[run for run in listing.every(visit) if run.campaign.id in ids],
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
    spec = curves_chart.specification(
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
