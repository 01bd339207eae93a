"""Small multiples: run times of each function by size, as the library is and with the winners that
are in force, as tables of a run have them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from urllib.parse import quote

import msgspec
from markupsafe import Markup

from plumbline.pages import curve, plot
from plumbline.pages.visit import Visit
from plumbline_db import runs, table_samples, verdicts
from plumbline_db.records import Campaign

Line = dict[int, float]


class Multiple(msgspec.Struct, frozen=True):
    """`gain`: the largest quotient of both lines at a size (None: there is one line alone).
    `query`: of the page that shows its curves."""

    function: str
    picture: Markup
    gain: float | None
    query: str


def of_run(visit: Visit, campaign: Campaign) -> list[Multiple]:
    """A picture for each function with several sizes in the first table; none where the run has no
    table."""
    stages = verdicts.stages(visit.db, campaign.id)
    if "before" not in stages:
        return []
    last = "after" if "after" in stages else ""
    key = ("multiples", campaign.id, campaign.state, runs.last(visit.db, campaign.id))
    text = visit.pictures.get(key, lambda: msgspec.json.encode(_read(visit, campaign, last)))
    return [
        Multiple(function, Markup(picture), gain, query)  # noqa: S704 - by plot.py
        for function, picture, gain, query in msgspec.json.decode(text)
    ]


def _read(visit: Visit, campaign: Campaign, last: str) -> list[tuple[str, str, float | None, str]]:
    before = _lines(visit, campaign, "before")
    after = _lines(visit, campaign, last) if last else {}
    multiples = []
    for function, line in sorted(before.items()):
        if len(line) < 2:
            continue
        series = {"default": line}
        if function in after:
            series["winner"] = after[function]
        shared = line.keys() & after.get(function, {}).keys()
        gain = max((line[size] / after[function][size] for size in shared), default=None)
        sides = [f"{campaign.id}:{stage}" for stage in ("before", last) if stage]
        names = [curve.named(side, function, "default") for side in sides]
        query = "&".join([f"run={quote(campaign.id)}", *(f"curve={quote(name)}" for name in names)])
        multiples.append((function, str(plot.curves(series)), gain, query))
    return multiples


def _lines(visit: Visit, campaign: Campaign, stage: str) -> dict[str, Line]:
    """Medians of the library's own call by function and size."""
    table = verdicts.get(visit.db, campaign.id, stage)
    functions: Sequence[str] = sorted({verdict.function for verdict in table})
    sizes = sorted({verdict.bytes for verdict in table})
    line_by_function: dict[str, Line] = {}
    for variant in table_samples.medians(visit.db, campaign.id, table, sizes, functions):
        case = variant.case
        plain = case.variant == "default" and not case.knobs and not case.ranks and not case.use
        if plain and variant.seconds:
            line = line_by_function.setdefault(case.function, {})
            line.setdefault(case.bytes, statistics.median(variant.seconds))
    return line_by_function
