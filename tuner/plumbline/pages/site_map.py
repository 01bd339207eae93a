"""The map of a site: functions and numbers of ranks by size, what holds and what does not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from plumbline.pages.visit import Bytes, Visit
from plumbline_db import coverage, verdicts
from plumbline_db.coverage import Coverage
from plumbline_db.verdicts import NewestVerdict

ON_A_PAGE = 6  # libraries on machines
_RANK = {"holds": 0, "undecided": 1, "violated": 2}


class MapQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"first": "from"}):
    """`first`: so many libraries on machines are left out."""

    first: Bytes = 0


class MapCell(msgspec.Struct, frozen=True):
    """All guidelines of a function at a size: the worst answer, and how many are violated."""

    state: str
    violated: int
    guidelines: int
    campaign: str
    stage: str


class MapRow(msgspec.Struct, frozen=True):
    function: str
    nprocs: int
    ppn: int
    cells: list[MapCell | None]


class LibraryMap(msgspec.Struct, frozen=True):
    """The map of a library on a machine."""

    host: str
    library: str
    fingerprint: str
    sizes: list[int]
    rows: list[MapRow]


def page(visit: Visit) -> Response:
    asked = visit.asked(MapQuery)
    grouped: dict[tuple[str, str, str, str], list[Coverage]] = {}
    for each in coverage.of_campaigns(visit.db):
        at = each.place
        grouped.setdefault((at.host, at.library, at.fingerprint, at.machine), []).append(each)
    shown = list(grouped.items())[asked.first : asked.first + ON_A_PAGE]
    return visit.page(
        "map.html",
        maps=[_map(visit, key[0], key[1], key[2], places) for key, places in shown],
        count=len(grouped),
        first=asked.first,
        after=asked.first + ON_A_PAGE if asked.first + ON_A_PAGE < len(grouped) else None,
    )


def _map(
    visit: Visit, host: str, library: str, fingerprint: str, places: Sequence[Coverage]
) -> LibraryMap:
    rows: dict[tuple[str, int, int], dict[int, MapCell]] = {}
    for each in places:
        stage = "after" if "after" in each.stages else "before"
        for newest_verdict in verdicts.newest_of_place(visit.db, each, stage):
            key = (newest_verdict.verdict.function, each.place.nprocs, each.place.ppn)
            cells = rows.setdefault(key, {})
            size = newest_verdict.verdict.bytes
            cells[size] = _joined(cells.get(size), newest_verdict, stage)
    sizes = sorted({size for cells in rows.values() for size in cells})
    listed = [MapRow(*key, [rows[key].get(size) for size in sizes]) for key in sorted(rows)]
    return LibraryMap(host, library, fingerprint, sizes, listed)


def _joined(joined: MapCell | None, newest_verdict: NewestVerdict, stage: str) -> MapCell:
    word = newest_verdict.verdict.verdict
    violated = int(word == "violated")
    if joined is None:
        return MapCell(word, violated, 1, newest_verdict.campaign, stage)
    worse = _RANK[word] > _RANK[joined.state]
    return MapCell(
        word if worse else joined.state,
        joined.violated + violated,
        joined.guidelines + 1,
        newest_verdict.campaign if worse else joined.campaign,
        stage,
    )
