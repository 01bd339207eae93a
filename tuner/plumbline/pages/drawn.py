"""Pictures of pages as files: SVG, PNG, PDF, and the specification that browsers draw by."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Return that of the path; raises HTTPException (404) for none of a picture's and none of the
    `others`."""
    suffix = f".{visit.path('format')}"
    if suffix not in (*_TYPES, *others):
        raise HTTPException(404, f"endings are {', '.join((*_TYPES, *others))}")
    return suffix


def picture(visit: Visit, name: str, suffix: str, spec: Mapping[str, Any]) -> Response:
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
