"""Pictures of pages as files: SVG, PNG, PDF, and the specification that browsers draw by."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from plumbline.pages.visit import Visit
from plumbline.system import chart
from plumbline_exporters import frame
from plumbline_exporters.frame import JSON

_TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".pdf": "application/pdf"}


def ending(visit: Visit, *others: str) -> str:
    """Of the path; raises HTTPException (404) for none of a picture's and none of the `others`."""
    found = f".{visit.path('format')}"
    if found not in (*_TYPES, *others):
        raise HTTPException(404, f"endings are {', '.join((*_TYPES, *others))}")
    return found


def picture(
    visit: Visit, name: str, suffix: str, key: Hashable, spec: Callable[[], Mapping[str, Any]]
) -> Response:
    """`key`: what the specification depends on."""

    def draw() -> bytes:
        return chart.drawn(spec(), Path(name + suffix))

    content = visit.pictures.get((name, suffix, key), draw)
    return download(visit, name, suffix, content, _TYPES[suffix])


def download(visit: Visit, name: str, suffix: str, content: bytes, kind: str = "") -> Response:
    """Shown where a browser can show it, and saved under this name."""
    answer = Response(content, media_type=kind or JSON)
    answer.headers["Content-Disposition"] = f'inline; filename="{name}{suffix}"'
    return frame.unless_known(visit.request, answer)


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value)
