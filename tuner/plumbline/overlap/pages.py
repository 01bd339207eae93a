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

from plumbline.overlap import classes, difference, heatmap, sheet, stored, suite
from plumbline.overlap.benches import LOAD
from plumbline.overlap.difference import Between
from plumbline.overlap.metric import Ratio
from plumbline.overlap.stored import MeasuredCampaign, Stored
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
    """Over one database, which is opened anew for every request; what was read and drawn is kept as
    long as nothing was stored since."""
    measured: BoundedCache[MeasuredCampaign] = BoundedCache(_MOST)
    maps_of: BoundedCache[list[str]] = BoundedCache(_MOST)
    differences_of: BoundedCache[list[tuple[str, list[str]]]] = BoundedCache(_MOST)

    def read(db: Database, campaign: Stored) -> MeasuredCampaign:
        return measured.get(_state(db, campaign), lambda: stored.measured(db, campaign))

    def listing(request: Request) -> Response:
        with Database.open(db_path) as db:
            every = stored.every(db)
            states = {
                campaign.campaign.id: campaigns.state(db, campaign.campaign) for campaign in every
            }
        return frame.page(request, _shown, "overlap.html", every=every[::-1], states=states)

    def cells_of(db: Database, campaign: Stored) -> list[OverlapResult]:
        return read(db, campaign).cells if runs.surroundings(db, campaign.campaign.id) else []

    def maps(request: Request) -> Response:
        with _opened(db_path) as db:
            shown_campaign = stored.one(db, request.path_params["id"])
            others = [
                other_campaign
                for other_campaign in stored.every(db)
                if other_campaign != shown_campaign
            ]
            cells, state = cells_of(db, shown_campaign), _state(db, shown_campaign)
            standing = campaigns.state(db, shown_campaign.campaign)
        drawn: list[str] = []
        if any(cell.ratio for cell in cells):
            drawn = maps_of.get(state, lambda: [*map(chart.render, sheet.views(cells))])
        return frame.page(
            request,
            _shown,
            "overlap_campaign.html",
            one=shown_campaign,
            state=standing,
            pictures=drawn,
            words=classes.library_words(classes.of(cells), None),
            tables=tables(cells),
            others=others[::-1],
        )

    def maps_json(request: Request) -> Response:
        with _opened(db_path) as db:
            shown_campaign = stored.one(db, request.path_params["id"])
            cells = cells_of(db, shown_campaign)
        library_classes = classes.of(cells)
        document = {
            "cells": cells,
            "classes": library_classes,
            "words": classes.library_words(library_classes, None),
        }
        return frame.json(request, difference.about(shown_campaign) | msgspec.to_builtins(document))

    def pair(request: Request) -> tuple[Between, Hashable]:
        with _opened(db_path) as db:
            a, b = (stored.one(db, request.path_params[name]) for name in ("id", "other"))
            compared = difference.campaigns_apart(read(db, a), read(db, b))
            return compared, (_state(db, a), _state(db, b))

    def differences(request: Request) -> Response:
        compared, state = pair(request)
        sides = [compared.a.stored, compared.b.stored]
        drawn = differences_of.get(
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

    def differences_json(request: Request) -> Response:
        return frame.json(request, difference.document(pair(request)[0]))

    return Pages(
        [
            Route("/overlap", listing),
            Route("/overlap/{id}.json", maps_json),
            Route("/overlap/{id}", maps),
            Route("/overlap/{id}/with/{other}.json", differences_json),
            Route("/overlap/{id}/with/{other}", differences),
        ],
        [Link("Applications", "overlap", "Overlap")],
    )


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
