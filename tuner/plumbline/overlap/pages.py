"""Overlap on the web page of `plumbline serve`: the campaigns that are stored, the heat maps of
each, and difference maps of two; with tables of the same numbers, and all of them as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from plumbline.overlap import classes, difference, heatmap, sheet, suite
from plumbline.overlap.benches import LOAD
from plumbline.overlap.difference import Between, MeasuredCampaign, Stored
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import OverlapResult
from plumbline.system import chart
from plumbline.system.lru import BoundedCache
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError, typed
from plumbline_exporters import frame
from plumbline_exporters.frame import Link, Pages

_MOST = 16  # campaigns, and pictures, in memory

_shown = frame.templates("plumbline.overlap")
_shown.globals["typed"] = typed


class MapTable(msgspec.Struct, frozen=True):
    """The numbers of a map: a row a height, the largest first, a column a size; empty where nothing
    was measured. `of`: how many ranks a number is the median of."""

    bench: str
    load: bool
    of: int
    cells: int
    noisy: int
    median: float | None
    sizes: list[int]
    rows: list[tuple[float, list[Ratio | None]]]


def pages(db_path: Path) -> Pages:
    """Return the pages over one database, which is opened anew for every request."""
    shown = _OverlapPages(db_path)
    return Pages(
        [
            Route("/overlap", shown.listing),
            Route("/overlap/{id}.json", shown.maps_json),
            Route("/overlap/{id}", shown.maps),
            Route("/overlap/{id}/with/{other}.json", shown.differences_json),
            Route("/overlap/{id}/with/{other}", shown.differences),
        ],
        [Link("Applications", "overlap", "Overlap")],
    )


class _OverlapPages:
    """The pages of one database; what was read and drawn is kept as long as nothing was stored
    since."""

    def __init__(self, db_path: Path) -> None:
        self._path = db_path
        self._measured: BoundedCache[MeasuredCampaign] = BoundedCache(_MOST)
        self._maps: BoundedCache[list[str]] = BoundedCache(_MOST)
        self._differences: BoundedCache[list[tuple[str, list[str]]]] = BoundedCache(_MOST)

    def listing(self, request: Request) -> Response:
        with Database.open(self._path) as db:
            every = difference.every(db)
            states = {each.campaign.id: campaigns.state(db, each.campaign) for each in every}
        return frame.page(request, _shown, "overlap.html", every=every[::-1], states=states)

    def maps(self, request: Request) -> Response:
        with _opened(self._path) as db:
            campaign = difference.one(db, request.path_params["id"])
            others = [each for each in difference.every(db) if each != campaign]
            cells, state = self._cells(db, campaign), _state(db, campaign)
            standing = campaigns.state(db, campaign.campaign)
        drawn: list[str] = []
        if any(cell.ratio for cell in cells):
            drawn = self._maps.get(state, lambda: [*map(chart.render, sheet.views(cells))])
        return frame.page(
            request,
            _shown,
            "overlap_campaign.html",
            one=campaign,
            state=standing,
            pictures=drawn,
            words=classes.library_words(classes.of(cells), None),
            tables=tables(cells),
            others=others[::-1],
        )

    def maps_json(self, request: Request) -> Response:
        with _opened(self._path) as db:
            campaign = difference.one(db, request.path_params["id"])
            cells = self._cells(db, campaign)
        library_classes = classes.of(cells)
        words = classes.library_words(library_classes, None)
        document = {"cells": cells, "classes": library_classes, "words": words}
        return frame.json(request, difference.about(campaign) | msgspec.to_builtins(document))

    def differences(self, request: Request) -> Response:
        compared, state = self._pair(request)
        sides = [compared.a.stored, compared.b.stored]
        drawn = self._differences.get(
            state,
            lambda: [
                (title, [*map(chart.render, views)])
                for title, views in sheet.difference_views(compared.found)
            ],
        )
        return frame.page(
            request,
            _shown,
            "overlap_difference.html",
            compared=compared,
            sides=list(zip("AB", sides, compared.conditions, compared.launches, strict=True)),
            rows=drawn,
            load=LOAD,
        )

    def differences_json(self, request: Request) -> Response:
        return frame.json(request, difference.document(self._pair(request)[0]))

    def _pair(self, request: Request) -> tuple[Between, Hashable]:
        with _opened(self._path) as db:
            a, b = (difference.one(db, request.path_params[name]) for name in ("id", "other"))
            compared = difference.campaigns_apart(self._read(db, a), self._read(db, b))
            return compared, (_state(db, a), _state(db, b))

    def _read(self, db: Database, campaign: Stored) -> MeasuredCampaign:
        return self._measured.get(_state(db, campaign), lambda: difference.measured(db, campaign))

    def _cells(self, db: Database, campaign: Stored) -> list[OverlapResult]:
        """Return the cells of a campaign; none before its first launch."""
        return self._read(db, campaign).cells if runs.surroundings(db, campaign.campaign.id) else []


@contextmanager
def _opened(db_path: Path) -> Iterator[Database]:
    """All of one moment; what is asked for and is not there is Not Found."""
    with Database.open(db_path) as db, db.snapshot():
        try:
            yield db
        except UsageError as error:
            raise HTTPException(404, "this campaign does not exist") from error


def _state(db: Database, campaign: Stored) -> Hashable:
    """Changes whenever something of the campaign was stored."""
    return (campaign.campaign, runs.last(db, campaign.campaign.id))


def tables(cells: Sequence[OverlapResult]) -> list[MapTable]:
    """One for each map."""
    return [
        _table(bench, [cell for cell in cells if cell.bench == bench])
        for bench in sheet.benches_of(cells)
    ]


def _table(bench: str, cells: Sequence[OverlapResult]) -> MapTable:
    middle = {
        (heatmap.height(bench, result.work_ns, result.threads), result.bytes): ratio
        for result, ratio in heatmap.middle(cells)
    }
    clear_ratios = [ratio.value for ratio in middle.values() if not ratio.noisy]
    sizes = sorted({size for _, size in middle})
    heights = sorted({height for height, _ in middle}, reverse=True)
    return MapTable(
        bench=bench,
        load=bench == LOAD,
        of=max(spread.ranks for spread in suite.spreads(cells)),
        cells=len(middle),
        noisy=len(middle) - len(clear_ratios),
        median=statistics.median(clear_ratios) if clear_ratios else None,
        sizes=sizes,
        rows=[(height, [middle.get((height, size)) for size in sizes]) for height in heights],
    )
