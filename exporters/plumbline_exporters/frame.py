"""The common parts of all pages of `plumbline serve`: the frame around them, their headers, and
errors within the frame. A page that a browser has already is not sent again.

Pages load what this server has, and their policy forbids everything else, scripts within them
too."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any, Literal, NamedTuple

import msgspec
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import NotModifiedResponse, StaticFiles

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # Browsers ask again each time; `ETag` shows whether something changed.
    "Cache-Control": "private, no-cache",
}

# Bootstrap's stylesheets come from the Python package of that name.
STATIC = Mount(
    "/static",
    StaticFiles(
        directory=str(resources.files("bootstrap") / "css"),
        packages=[("plumbline_exporters", "static")],
    ),
)

Group = Literal["Results", "Explore", "Applications"]
_GROUPS: tuple[Group, ...] = ("Results", "Explore", "Applications")
_MOST_FIELDS, _MOST_WORDS = 12, 400  # of a form that is shown again


class Link(NamedTuple):
    """A link of the frame: `path` from the root. `owns`: first words of other paths that belong to
    it."""

    group: Group
    path: str
    words: str
    owns: tuple[str, ...] = ()

    def leads(self, here: str) -> bool:
        """Return whether the page at the path `here` is this one or belongs to it."""
        first = here.partition("/")[0]
        return first == self.path or first in self.owns


class Pages(NamedTuple):
    """The routes that a room adds, and the links to them that stand on all pages."""

    routes: list[BaseRoute]
    links: list[Link]


class Field(NamedTuple):
    """A field of a form that is shown again, with what is wrong with its value."""

    name: str
    value: str
    said: str


def templates(*packages: str) -> Environment:
    """Return the templates of the named packages, which may extend the layout that is here."""
    rooms = [PackageLoader(name) for name in (*packages, "plumbline_exporters")]
    environment = Environment(
        loader=ChoiceLoader(rooms), autoescape=True, undefined=StrictUndefined
    )
    environment.filters.update(moment=_moment, headed=_headed)
    return environment


def _moment(text: str) -> str:
    """`2026-11-22 10:31` of ISO 8601, in UTC; what is no time stays."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M}"


def _headed(rows: str, heads: Sequence[str]) -> Markup:
    """Give each cell the head of its column, which a phone shows beside the cell."""
    heads_in_turn: Iterator[str] = iter(())

    def opened(tag: re.Match[str]) -> str:
        nonlocal heads_in_turn
        if tag[0] == "<tr":
            heads_in_turn = itertools.chain(heads, itertools.repeat(""))
            return tag[0]
        head = next(heads_in_turn).removeprefix("#").removeprefix("*")  # asterisks need none
        return f'{tag[0]} data-head="{escape(head)}"'

    return Markup(re.sub(r"<t[rdh](?=[ >])", opened, str(rows)))  # noqa: S704


OWN = templates()


def page(request: Request, shown: Environment, template: str, **facts: Any) -> Response:
    """A template within the frame. All links of a page begin with its `root`, so that it works
    under whatever prefix a proxy gives it."""
    path = request.scope.get("raw_path", request.url.path.encode()).partition(b"?")[0]
    text = shown.get_template(template).render(
        root="../" * (path.count(b"/") - 1) or "./",
        groups=_grouped(request.app.state.links),
        here=request.url.path.lstrip("/"),
        **facts,
    )
    return unless_known(request, HTMLResponse(text))


def _grouped(links: Sequence[Link]) -> list[tuple[str, list[Link]]]:
    return [(group, [link for link in links if link.group == group]) for group in _GROUPS]


def error(request: Request, status: int, detail: str) -> Response:
    """An error as a page for a browser, with the form that was sent, and as text for programs.
    `request.state.keys`: what the page may be asked; `request.state.wrong`: which of them is
    wrong."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(detail, status_code=status, headers=HEADERS)
    shown = page(
        request,
        OWN,
        "error.html",
        title=_TITLES.get(status, "This does not work"),
        detail=detail,
        fields=_fields(request, detail),
    )
    shown.status_code = status
    return shown


def _fields(request: Request, detail: str) -> list[Field]:
    query = dict(request.query_params)
    keys = [*getattr(request.state, "keys", ()), *query]
    wrong = getattr(request.state, "wrong", "")
    if not query:
        return []
    return [
        Field(key[:_MOST_WORDS], query.get(key, "")[:_MOST_WORDS], detail if key == wrong else "")
        for key in list(dict.fromkeys(keys))[:_MOST_FIELDS]
    ]


_TITLES = {
    400: "This cannot be answered",
    404: "Not found",
    405: "Not allowed",
    409: "These launches cannot be joined",
    410: "No longer stored",
    503: "The database cannot be read",
}


def json(request: Request, value: object) -> Response:
    return unless_known(request, Response(msgspec.json.encode(value), media_type=JSON))


JSON = "application/json"


def unless_known(request: Request, answer: Response) -> Response:
    """The answer with the headers of all pages; 304 where the browser has it."""
    # The tag is weak, because it is the same with and without compression.
    tag = f'W/"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
    answer.headers.update(HEADERS | {"ETag": tag})
    tags_known = request.headers.get("if-none-match", "")
    if tag in [tag_known.strip() for tag_known in tags_known.split(",")]:
        return NotModifiedResponse(Headers(raw=answer.headers.raw))
    return answer
