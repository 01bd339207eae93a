"""Tables as a picture that needs nothing from elsewhere."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, RenderableType
from rich.terminal_theme import TerminalTheme

from plumbline.system import chart

from . import common
from .fitting import fitted

# Dark text on white, signs in the colours of the terminal.
_THEME = TerminalTheme(
    (255, 255, 255),
    (40, 40, 40),
    [
        (0, 0, 0),
        (200, 30, 30),
        (20, 130, 50),
        (176, 120, 0),
        (30, 80, 200),
        (150, 40, 150),
        (0, 125, 140),
        (90, 90, 90),
    ],
)
_FORMAT = """<svg xmlns="http://www.w3.org/2000/svg"
  viewBox="0 0 {terminal_width} {terminal_height}">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<g class="{unique_id}-matrix">
{backgrounds}
{matrix}
</g>
</svg>
"""


def write_picture(path: Path, renderables: Iterable[RenderableType], *, columns: int) -> None:
    console = Console(
        record=True,
        markup=False,
        emoji=False,
        width=columns,
        file=io.StringIO(),
        force_terminal=True,
    )
    for renderable in renderables:
        for piece in fitted(renderable, columns):
            console.print(piece)
    svg = console.export_svg(theme=_THEME, code_format=_FORMAT, unique_id="plumbline")
    common.write(path, chart.converted(svg, path))
