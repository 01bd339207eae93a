"""Charts: a Vega-Lite specification in, SVG or the bytes of a file out. Needs no network and no
browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# The Vega-Lite version of the specifications; vl-convert contains several versions.
_VERSION = "5.20"
_SHARP = 2  # pixels of a PNG for one of the specification

ENDINGS = (".svg", ".png", ".pdf")

IN_POWERS_OF_TWO = (
    "datum.value >= 1073741824 ? datum.value / 1073741824 + ' Gi' : "
    "datum.value >= 1048576 ? datum.value / 1048576 + ' Mi' : "
    "datum.value >= 1024 ? datum.value / 1024 + ' Ki' : datum.value"
)
"""The labels of an axis of bytes."""


class Palette(NamedTuple):
    """The colours of a chart. `steps`: slower by how much, four of them, the smallest first."""

    ground: str
    text: str
    line: str
    default: str
    winner: str
    others: str
    holds: str
    undecided: str
    steps: tuple[str, str, str, str]

    def config(self) -> dict[str, Any]:
        """Return what a specification has in `config`, so that its texts and lines have them."""
        words = {"labelColor": self.text, "titleColor": self.text}
        return {
            "background": self.ground,
            "font": "sans-serif",
            "axis": words | {"gridColor": self.line, "domainColor": self.text},
            "legend": words,
            "title": {"color": self.text, "subtitleColor": self.text},
            "view": {"stroke": self.line},
        }


LIGHT = Palette(
    ground="#ffffff",
    text="#222222",
    line="#d5dade",
    default="#1b6ca8",
    winner="#d1761f",
    others="#b8b8b8",
    holds="#edf0f3",
    undecided="#f2e2a8",
    steps=("#f5b5ac", "#e0685f", "#b52a2c", "#6f0716"),
)
DARK = Palette(
    ground="#14181c",
    text="#e4e8eb",
    line="#39424a",
    default="#6db5ee",
    winner="#f29a52",
    others="#6c757d",
    holds="#252c33",
    undecided="#5c5218",
    steps=("#7a3338", "#b8443f", "#ec7b70", "#ffc9c1"),
)


def log_bytes(sizes: Sequence[int]) -> dict[str, Any]:
    """An axis of bytes on which equal factors are equally far apart, with a label at each power of
    four. `sizes` are positive, the smallest first."""
    powers = [4**power for power in range(32) if sizes[0] <= 4**power <= sizes[-1]]
    return {
        "type": "quantitative",
        "title": "bytes",
        "scale": {"type": "log", "base": 2, "nice": False, "padding": 10},
        "axis": {
            "values": powers if len(powers) > 1 else list(sizes),
            "labelExpr": IN_POWERS_OF_TWO,
            "labelOverlap": True,
        },
    }


def layer(mark: str, encoding: Mapping[str, Any], *, valid: str = "", **how: Any) -> dict[str, Any]:
    """Return a layer of one kind of mark and how it looks; `valid`: only of rows with this
    field."""
    drawing = {"mark": {"type": mark, **how}, "encoding": encoding}
    return {"transform": [{"filter": f"isValid(datum.{valid})"}], **drawing} if valid else drawing


def render(spec: Mapping[str, Any]) -> str:
    """The chart as SVG. Raises ValueError where the specification is not valid Vega-Lite 5."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(dict(spec), vl_version=_VERSION))


def drawn(spec: Mapping[str, Any], path: Path) -> bytes:
    """Return what a file of this name holds: SVG, PNG or PDF by its ending, one of ENDINGS. Raises
    as `render`."""
    import vl_convert

    if path.suffix == ".png":
        return bytes(vl_convert.vegalite_to_png(dict(spec), vl_version=_VERSION, scale=_SHARP))
    if path.suffix == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(dict(spec), vl_version=_VERSION))
    return render(spec).encode()


def script() -> str:
    """JavaScript that draws such specifications in a browser, with `vegaEmbed` as a name of the
    window. Takes some seconds."""
    import vl_convert

    # Only the newest version fits the rest of the bundle.
    newest = vl_convert.get_vegalite_versions()[-1]
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=newest))
