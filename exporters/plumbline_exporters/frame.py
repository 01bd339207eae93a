"""What all pages of `plumbline serve` have in common: the frame around them, their headers, and
that a page which a browser has already is not sent again.

Pages load what this server has, and their policy forbids everything else, scripts within them
too."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any, NamedTuple

import msgspec
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import NotModifiedResponse, StaticFiles

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # Asked for again each time; `ETag` says whether there is something new.
    "Cache-Control": "private, no-cache",
}

STATIC = Mount("/static", StaticFiles(packages=[("plumbline_exporters", "static")]))


class Pages(NamedTuple):
    """What a room adds: its routes, and the links to them that stand on all pages (path from the
    root, words)."""

    routes: list[BaseRoute]
    links: list[tuple[str, str]]


def templates(*packages: str) -> Environment:
    """Those of the named packages, which may extend the layout that is here."""
    rooms = [PackageLoader(name) for name in (*packages, "plumbline_exporters")]
    found = Environment(loader=ChoiceLoader(rooms), autoescape=True, undefined=StrictUndefined)
    found.filters["moment"] = _moment
    return found


def _moment(text: str) -> str:
    """`2026-11-22 10:31` of ISO 8601, in UTC; what is no time stays."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    if found.tzinfo is not None:
        found = found.astimezone(datetime.UTC)
    return f"{found:%Y-%m-%d %H:%M}"


def page(request: Request, shown: Environment, template: str, **facts: Any) -> Response:
    """A template within the frame. All links of a page begin with its `root`, so that it works
    under whatever prefix a proxy gives it."""
    path = request.scope.get("raw_path", request.url.path.encode()).partition(b"?")[0]
    text = shown.get_template(template).render(
        root="../" * (path.count(b"/") - 1) or "./",
        links=request.app.state.links,
        here=request.url.path.lstrip("/"),
        **facts,
    )
    return unless_known(request, HTMLResponse(text))


def json(request: Request, value: object) -> Response:
    return unless_known(request, Response(msgspec.json.encode(value), media_type=JSON))


JSON = "application/json"


def unless_known(request: Request, answer: Response) -> Response:
    """The answer with the headers of all pages; 304 where the browser has it."""
    # Weak: compressed or not, it is the same.
    tag = f'W/"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
    answer.headers.update(HEADERS | {"ETag": tag})
    known = request.headers.get("if-none-match", "")
    if tag in [each.strip() for each in known.split(",")]:
        return NotModifiedResponse(Headers(raw=answer.headers.raw))
    return answer
