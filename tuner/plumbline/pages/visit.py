"""One request for a page: what was asked for, read strictly, and the database as it is at that
moment. What is asked for and is not there is 404, what nobody can mean is 400."""

from __future__ import annotations

import contextlib
import re
import typing
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from plumbline.search.outcome import label
from plumbline.system import chart
from plumbline.system.lru import BoundedCache
from plumbline.system.words import number_of_bytes
from plumbline.verify.statistics import stars
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import typed
from plumbline_db.layout import layout
from plumbline_db.records import Campaign
from plumbline_exporters import frame
from plumbline_exporters.bundle import choice, sizes
from plumbline_exporters.frame import JSON

_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf"}


def ending(visit: Visit, *others: str) -> str:
    """Return the ending of the path. Raises HTTPException (404) if it is neither a picture's nor
    one of the `others`."""
    suffix = f".{visit.path('format')}"
    if suffix not in (*_TYPES, *others):
        raise HTTPException(404, f"endings are {', '.join((*_TYPES, *others))}")
    return suffix


def picture_response(visit: Visit, name: str, suffix: str, spec: Mapping[str, Any]) -> Response:
    """Drawn; of another ending than a picture's the specification itself."""
    text = msgspec.json.encode(spec)
    if suffix not in _TYPES:
        return download(visit, name, ".vl.json", text)
    content = visit.pictures.get(
        (name, suffix, text), lambda: chart.drawn(spec, Path(name + suffix))
    )
    return download(visit, name, suffix, content, _TYPES[suffix])


def download(visit: Visit, name: str, suffix: str, content: bytes, kind: str = "") -> Response:
    """Shown where a browser can show it, and saved under this name."""
    answer = Response(content, media_type=kind or JSON)
    answer.headers["Content-Disposition"] = f'inline; filename="{name}{suffix}"'
    return frame.unless_known(visit.request, answer)


MOST_WORDS = 400  # characters of a value
_MOST_SAID = 300  # of them in an answer
_FIELD = re.compile(r"`\$\.(\w+)")  # where msgspec says that a value is wrong

Word = Annotated[str, msgspec.Meta(max_length=MOST_WORDS)]
Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Asked = TypeVar("Asked", bound=msgspec.Struct)

_shown = frame.templates("plumbline.pages")


class Visit(NamedTuple):
    """`pictures`: what was drawn lately, by what it shows."""

    request: Request
    db: Database
    pictures: BoundedCache[bytes]

    def page(self, template: str, **facts: Any) -> Response:
        state_of = partial(campaigns.state, self.db)
        return frame.page(self.request, _shown, template, state_of=state_of, **facts)

    def path(self, name: str) -> Any:
        return self.request.path_params[name]

    def campaign(self, id: str | None = None) -> Campaign:
        """The one that a path names under `run`, or of this id."""
        campaign = campaigns.known(self.db, self.path("run") if id is None else id)
        if campaign is None:
            raise HTTPException(404, "this run does not exist")
        return campaign

    def asked(self, kind: type[Asked]) -> Asked:
        """The query as `kind` has it: unknown keys, values of another form, and keys that stand
        twice where one is meant are errors. What is empty was not filled in."""
        types = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
        fields = {name: _bare(of) for name, of in types.items()}
        self.request.state.keys = tuple(fields)
        fields_given: dict[str, Any] = {}
        for name, value in self.request.query_params.multi_items():
            if fields.get(name) is list:
                fields_given.setdefault(name, []).extend([value] if value else [])
            elif name in fields_given:
                self.request.state.wrong = name
                raise HTTPException(400, f"{name[:_MOST_SAID]!r} stands twice")
            elif value:
                fields_given[name] = (
                    _plain(value) if types.get(name) in (Bytes, Bytes | None) else value
                )
        try:
            return msgspec.convert(fields_given, kind, strict=False)
        except msgspec.ValidationError as error:
            raise HTTPException(
                400, self._refusal(str(error), fields_given, list(fields))
            ) from error

    def _refusal(self, message: str, fields_given: dict[str, Any], keys: Sequence[str]) -> str:
        """Return what is wrong, with the field that it is about kept for the form."""
        at = _FIELD.search(message)
        name = at[1] if at else ""
        self.request.state.wrong = name
        if message.startswith("Expected `int") and "got `str`" in message:
            return f"{name}: {str(fields_given.get(name))[:_MOST_SAID]!r} is not a whole number"
        return f"{message[:_MOST_SAID]}; keys are: {', '.join(keys) or 'none'}"


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a page that knows no keys."""


def _plain(size: str) -> str:
    """A number of bytes without its unit, where it is one: `65536` for `64k`."""
    with contextlib.suppress(ValueError):
        return str(number_of_bytes(size))
    return size


def _bare(kind: Any) -> Any:
    """`list` of lists, whatever is asked of their values."""
    if typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    return typing.get_origin(kind)


def _ratio(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 100 else f"{value:.3g}"


def duration(seconds: float | None) -> str:
    """`12.3 µs`, with three digits that count."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 999 * size else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def _stars(p: float | None) -> str:
    return "" if p is None else stars(p)


def _short(size: int) -> str:
    """A size in a head: `64k` for 65536; what is no multiple of 1024 stays."""
    for word, unit in (("G", 1 << 30), ("M", 1 << 20), ("k", 1 << 10)):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{word}"
    return str(size)


def _marked(text: str) -> Markup:
    """A text with `commands` in it as HTML."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _breakable(name: str) -> Markup:
    """A long name as HTML that may be broken behind `_`, `:` and `=`, and keeps its letters."""
    return Markup(re.sub(r"((?<!MPI)_|[:=])(?=.)", r"\1<wbr>", str(escape(name))))  # noqa: S704


_shown.filters.update(
    breakable=_breakable,
    marked=_marked,
    short=_short,
    ratio=_ratio,
    duration=duration,
    stars=_stars,
    layout=layout,
)
_shown.globals.update(choice=choice, sizes=sizes, label=label, typed=typed)
