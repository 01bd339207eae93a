"""The map of a site as a picture: a row for each function and layout, a column for each size. A
cell has its mark and the speed-up of its winner. Pure: a map and colours in, SVG out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from plumbline.results.site_map import MapCell, MapRow, SiteMap
from plumbline.system.chart import LIGHT

# Colours by name: of a page, which has its own for light and dark, and of a file.
PAGE: Mapping[str, str] = MappingProxyType(
    {
        "text": "var(--text)",
        "quiet": "var(--quiet)",
        "line": "var(--line)",
        "holds": "var(--raised)",
        "holds-text": "var(--quiet)",
        "removed": "var(--good-ground)",
        "removed-text": "var(--good)",
        "violated": "var(--step-3)",
        "violated-text": "var(--step-3-text)",
        "undecided": "var(--unsure-ground)",
        "undecided-text": "var(--unsure)",
    }
)
FILE: Mapping[str, str] = MappingProxyType(
    {
        "text": LIGHT.text,
        "quiet": "#56606b",
        "line": LIGHT.line,
        "holds": LIGHT.holds,
        "holds-text": "#56606b",
        "removed": "#e6f4e9",
        "removed-text": "#14622f",
        "violated": LIGHT.steps[2],
        "violated-text": "#ffffff",
        "undecided": LIGHT.undecided,
        "undecided-text": "#574300",
    }
)
MARKS = {"violated": "•", "removed": "○", "undecided": "?", "holds": ""}

_CELL, _ROW, _GAP = 52, 20, 8
_NAMES, _LAYOUTS, _HEAD, _TITLE = 190, 76, 26, 640


def mark(cell: MapCell) -> str:
    """The state of a cell after tuning: violated, removed, undecided or holds."""
    if cell.state == "holds" and cell.before:
        return "removed"
    return cell.state


def svg(site_map: SiteMap, colours: Mapping[str, str]) -> str:
    """The picture. `colours` are PAGE or FILE; a file has a ground of its own."""
    rows, height = _placed(site_map.rows)
    start = _NAMES + _LAYOUTS
    width = max(start + _CELL * max(1, len(site_map.sizes)), 0 if colours is PAGE else _TITLE)
    parts = [_text(start - 8, 16, "bytes", colours["quiet"], "end")]
    for place, size in enumerate(site_map.sizes):
        middle = start + _CELL * place + _CELL // 2
        parts.append(_text(middle, 16, short(size), colours["quiet"], "middle"))
    for y, row, first in rows:
        if first:
            line = f'<path d="M0 {y - _GAP / 2:.0f}H{width}" stroke="{colours["line"]}"/>'
            parts += [line, _text(0, y + 14, row.function, colours["text"], "start")]
        layout = f"{row.nodes} × {row.ppn}"
        parts.append(_text(start - 8, y + 14, layout, colours["text"], "end"))
        for place, cell in enumerate(row.cells):
            if cell is not None:
                parts += _cell(start + _CELL * place, y, cell, colours)
    top = 0
    if colours is FILE:  # on a page the picture stands on the page's ground, below its title
        top = _HEAD
        parts = [
            f'<rect x="-8" y="-{top}" width="100%" height="100%" fill="#ffffff"/>',
            _text(0, -8, summary(site_map), colours["text"], "start"),
            *parts,
        ]
    margin = 8 if colours is FILE else 0
    box = (-margin, -top, width + 2 * margin, height + top)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="site" viewBox="{" ".join(map(str, box))}" '
        f'width="{box[2]}" height="{box[3]}" font-family="sans-serif" font-size="12" '
        f'role="img" aria-label="{escape(summary(site_map))}">{"".join(parts)}</svg>'
    )


def drawn(site_map: SiteMap, path: Path) -> bytes:
    """Return what a file of this name holds: SVG, PNG or PDF, by its ending."""
    import vl_convert

    text = svg(site_map, FILE)
    if path.suffix == ".png":
        return bytes(vl_convert.svg_to_png(text, scale=2))
    return bytes(vl_convert.svg_to_pdf(text)) if path.suffix == ".pdf" else text.encode()


def summary(site_map: SiteMap) -> str:
    """Return the numbers of violations before and after, as a sentence."""
    return (
        f"Violated guidelines of {site_map.library} on {site_map.host}: {site_map.before} before, "
        f"{site_map.after} after tuning"
    )


def short(size: int) -> str:
    """`64k` for 65536; what is no multiple of 1024 stays."""
    for word, unit in (("G", 1 << 30), ("M", 1 << 20), ("k", 1 << 10)):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{word}"
    return str(size)


def _placed(rows: Sequence[MapRow]) -> tuple[list[tuple[int, MapRow, bool]], int]:
    """The rows with their upper edges and whether they begin a function, and the height of all."""
    y = _HEAD + _GAP
    placed = []
    for _, of_function in groupby(rows, attrgetter("function")):
        for number, row in enumerate(of_function):
            placed.append((y, row, number == 0))
            y += _ROW
        y += _GAP
    return placed, y


def _cell(x: int, y: int, cell: MapCell, colours: Mapping[str, str]) -> Iterator[str]:
    state = mark(cell)
    size = f'width="{_CELL - 2}" height="{_ROW - 2}" rx="2"'
    yield f'<rect x="{x + 1}" y="{y}" {size} fill="{colours[state]}"/>'
    words = [MARKS[state], f"{cell.winner.speedup:.2f}" if cell.winner else ""]
    text = " ".join(filter(None, words))
    if text:
        yield _text(x + _CELL // 2, y + 13, text, colours[f"{state}-text"], "middle")


def _text(x: int, y: int, text: str, colour: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'
