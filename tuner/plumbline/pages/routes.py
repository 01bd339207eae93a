"""Routes: which path leads to which page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from plumbline.detect import pages as detect
from plumbline.overlap import pages as overlap
from plumbline.pages import curves, overview, run, table
from plumbline.pages.visit import Visit
from plumbline.system import chart
from plumbline.system.lru import BoundedCache
from plumbline_db.connection import Database
from plumbline_exporters import frame
from plumbline_exporters.frame import Link, Pages

_making = threading.Lock()


def _vega(request: Request) -> Response:
    """One script with vegaEmbed and all that it needs."""
    with _making:
        text = _bundle()
    answer = Response(text, media_type="text/javascript")
    return frame.unless_known(request, answer)


@cache
def _bundle() -> bytes:
    """Takes some seconds, once."""
    return chart.script().encode()


def all_pages(db_path: Path) -> list[Pages]:
    return [pages(db_path), overlap.pages(db_path), detect.pages(db_path)]


_PICTURES = 64  # in memory

Show = Callable[[Visit], Response]

# The id of a run may hold anything, so it stands last.
_SHOWN: dict[str, Show] = {
    "/": overview.page,
    "/runs": overview.runs_page,
    "/run/{run:path}": run.page,
    "/report/{run:path}": run.summary_page,
    "/report.{format}/{run:path}": run.picture,
    "/table/{stage}/{run:path}": table.page,
    "/cell/{function}/{bytes:int}/{run:path}": table.cell_page,
    "/distribution.{format}/{function}/{bytes:int}/{run:path}": table.cell_picture,
    "/samples.{format}/{function}/{bytes:int}/{run:path}": table.samples_picture,
    "/repetitions.{format}/{function}/{bytes:int}/{run:path}": table.repetitions_picture,
    "/winner/{place:int}/{run:path}": run.winner_page,
    "/explained/{run:path}": run.explained_page,
    "/explained.{format}/{run:path}": run.picture_of_explained,
    "/history": overview.history_page,
    "/guidelines": table.guidelines_page,
    "/guideline/{guideline:path}": table.guideline_page,
    "/map": overview.map_page,
    "/curves": curves.page,
    "/curves.{format}": curves.picture,
    "/compare": curves.comparison_page,
    "/compare.{format}": curves.comparison_picture,
    "/environment": curves.environment_page,
    "/advise": table.advise_page,
}


def pages(db_path: Path) -> Pages:
    """Over one database, which is opened anew for every request."""
    pictures: BoundedCache[bytes] = BoundedCache(_PICTURES)

    def answer(show: Show) -> Callable[[Request], Response]:
        def answered(request: Request) -> Response:
            with Database.open(db_path) as db, db.snapshot():
                return show(Visit(request, db, pictures))

        return answered

    return Pages(
        [
            *(Route(path, answer(show)) for path, show in _SHOWN.items()),
            Route("/script/vega.js", _vega),
            Mount("/script", StaticFiles(packages=[("plumbline.pages", "static")])),
        ],
        [
            Link("Results", "", "Overview"),
            Link(
                "Results", "runs", "Runs", ("run", "report", "table", "cell", "winner", "explained")
            ),
            Link("Results", "history", "History"),
            Link("Results", "map", "Map"),
            Link("Results", "guidelines", "Guidelines", ("guideline",)),
            Link("Explore", "curves", "Curves"),
            Link("Explore", "compare", "Compare"),
            Link("Explore", "environment", "Environment"),
            Link("Applications", "advise", "Advise"),
        ],
    )
