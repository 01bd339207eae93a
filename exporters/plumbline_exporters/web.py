"""The HTTP side of `plumbline serve`: /metrics, /healthz and one plain page. Reads only.

The page loads nothing from elsewhere, and its policy forbids it to.
"""

from __future__ import annotations

import socket
from pathlib import Path

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_exporters.bundle import choice, sizes
from plumbline_exporters.metrics import DatabaseCollector
from plumbline_exporters.standing import standing

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def app(db_path: Path) -> Starlette:
    """The application over one database, which is opened anew for every request."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector(db_path))
    pages = Environment(
        loader=PackageLoader("plumbline_exporters"), autoescape=True, undefined=StrictUndefined
    )
    pages.globals.update(sizes=sizes, choice=choice)

    def metrics(request: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    def healthz(request: Request) -> Response:
        with Database.open(db_path):
            return PlainTextResponse("ok\n")

    def index(request: Request) -> Response:
        with Database.open(db_path) as db, db.snapshot():
            those = campaigns.all_campaigns(db) + campaigns.tuned_overlap(db)
            those.sort(key=lambda one: one.started)
            standings = [standing(db, campaign) for campaign in those]
        page = pages.get_template("index.html").render(standings=standings[::-1])
        return HTMLResponse(page, headers=_HEADERS)

    def unavailable(request: Request, error: Exception) -> Response:
        return PlainTextResponse(f"{error}\n", status_code=503)

    return Starlette(
        routes=[Route("/", index), Route("/metrics", metrics), Route("/healthz", healthz)],
        exception_handlers={PlumblineError: unavailable},
    )


def serve(db_path: Path, host: str = "127.0.0.1", port: int = 9464) -> None:
    """Serve until SIGINT or SIGTERM. PlumblineError when the address is taken or not ours."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise PlumblineError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose others with --host and "
            "--port"
        ) from error
    with listener:
        config = uvicorn.Config(app(db_path), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])
