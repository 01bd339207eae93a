"""The page of a guideline: what it says, and where it fails, in the cells that speak for their
places today."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.core import guidelines
from plumbline.core.guidelines import ExplainedGuideline
from plumbline.pages.visit import Nothing, Visit
from plumbline_db import coverage, verdicts
from plumbline_db.coverage import Count, Coverage
from plumbline_db.order import by_number
from plumbline_db.verdicts import NewestVerdict


class KnownGuideline(msgspec.Struct, frozen=True):
    """Counts are over all places, of what is in force there; `measured`: there are any."""

    id: str
    name: str
    says: str
    violated: int = 0
    undecided: int = 0
    worst: float | None = None
    measured: bool = False


class FailingPlace(msgspec.Struct, frozen=True):
    coverage: Coverage
    stage: str
    count: Count
    cells: list[NewestVerdict]


def every(visit: Visit) -> Response:
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


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    name = visit.path("guideline")
    places = [
        FailingPlace(place, _stage(place), place.stages[_stage(place)].guidelines[name], [])
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
    """Return that of another way of use is the same: `GL12 (loop)`."""
    return name.partition(" ")[0]


def _counted(name: str, entry: ExplainedGuideline | None, counts: list[Count]) -> KnownGuideline:
    ratios = [count.worst_ratio for count in counts if count.worst_ratio is not None]
    return KnownGuideline(
        name,
        entry.name if entry else "of a file of guidelines that is not here",
        f"{entry.meaning} The right side: {entry.right_side}." if entry else "",
        sum(count.violations for count in counts),
        sum(count.undecided for count in counts),
        max(ratios, default=None),
        measured=bool(counts),
    )


def _with_cells(visit: Visit, place: FailingPlace, name: str) -> FailingPlace:
    """Return those that are violated, worst first."""
    if not place.count.violations:
        return place
    of_overlap = place.coverage in coverage.of_overlap(visit.db)
    command = "overlap tune" if of_overlap else ""
    violated_cells = [
        cell
        for cell in verdicts.newest_of_place(visit.db, place.coverage, place.stage, command)
        if cell.verdict.guideline == name and cell.verdict.verdict == "violated"
    ]
    violated_cells.sort(key=lambda cell: cell.verdict.ratio or 0.0, reverse=True)
    return msgspec.structs.replace(place, cells=violated_cells)
