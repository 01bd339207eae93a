"""Charts: a Vega-Lite specification in, SVG text out. Needs no network and no browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The language of the specifications; vl-convert carries several versions.
_VERSION = "5.20"


def render(spec: Mapping[str, Any]) -> str:
    """The chart as SVG. Raises ValueError where the specification is not valid Vega-Lite 5."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(dict(spec), vl_version=_VERSION))
