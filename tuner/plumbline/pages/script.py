"""The scripts of pages: Vega-Lite with what it needs, made by its package (vl-convert-python has
the sources), and our own few lines in `static`, which draw with it."""

from __future__ import annotations

import threading
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from plumbline.system import chart
from plumbline_exporters import frame

_making = threading.Lock()


def vega(request: Request) -> Response:
    """One script with vegaEmbed and all that it needs."""
    with _making:
        text = _bundle()
    answer = Response(text, media_type="text/javascript")
    return frame.unless_known(request, answer)


@cache
def _bundle() -> bytes:
    """Takes some seconds, once."""
    return chart.script().encode()
