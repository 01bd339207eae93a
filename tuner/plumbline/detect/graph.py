"""The communication graph of a finding, as SVG: ranks on a circle, an arrow for each pair that
sends, as thick as it sends much."""

from __future__ import annotations

import math
from collections.abc import Sequence

from plumbline.detect.findings import Edge, HandMade

SIDE = 420  # pixels
_MARGIN = 46
_DOT = 13
_MOST_RANKS = 64


def graph(finding: HandMade) -> str:
    """SVG of its own; "" where there are no messages, or too many ranks to tell apart."""
    ranks = sorted({rank for edge in finding.edges for rank in (edge.source, edge.target)})
    if not ranks or len(ranks) > _MOST_RANKS:
        return ""
    roots = set(finding.roots) | set(finding.ambiguous_roots)
    dot = max(6.0, min(_DOT, math.pi * (SIDE / 2 - _MARGIN) / len(ranks) * 0.8))
    places = {rank: _place(at, len(ranks)) for at, rank in enumerate(ranks)}
    largest = max(edge.bytes for edge in finding.edges) or 1
    title = f"{finding.function}: who sends to whom"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" '
        f'height="{SIDE}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
        'markerHeight="5" orient="auto"><path d="M0 0 8 4 0 8z" fill="#4c78a8"/></marker></defs>',
    ]
    lines += [
        _arrow(edge, places, dot, largest) for edge in finding.edges if edge.source != edge.target
    ]
    for rank in ranks:
        x, y = places[rank]
        colour = "#f58518" if rank in roots else "#e8edf2"
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{dot:.1f}" fill="{colour}" stroke="#333"/>'
            f'<text x="{x:.1f}" y="{y + dot / 3:.1f}" font-size="{dot:.1f}" text-anchor="middle" '
            f'font-family="sans-serif">{rank}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _place(at: int, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * at / count - math.pi / 2
    radius = SIDE / 2 - _MARGIN
    return SIDE / 2 + radius * math.cos(angle), SIDE / 2 + radius * math.sin(angle)


def _arrow(edge: Edge, places: dict[int, tuple[float, float]], dot: float, largest: int) -> str:
    """Bent a little, so that two directions lie beside each other."""
    (x, y), (to_x, to_y) = places[edge.source], places[edge.target]
    length = math.hypot(to_x - x, to_y - y)
    step_x, step_y = (to_x - x) / length, (to_y - y) / length
    start = (x + step_x * dot, y + step_y * dot)
    end = (to_x - step_x * (dot + 2), to_y - step_y * (dot + 2))
    bend = (
        (x + to_x) / 2 - step_y * length * 0.08,
        (y + to_y) / 2 + step_x * length * 0.08,
    )
    width = 0.8 + 2.2 * edge.bytes / largest
    told = f"{edge.source} to {edge.target}: {edge.messages} messages, {edge.bytes} bytes"
    return (
        f'<path d="{_curve((start, bend, end))}" fill="none" stroke="#4c78a8" '
        f'stroke-width="{width:.1f}" stroke-opacity="0.75" marker-end="url(#head)">'
        f"<title>{told}</title></path>"
    )


def _curve(points: Sequence[tuple[float, float]]) -> str:
    (x, y), (bend_x, bend_y), (to_x, to_y) = points
    return f"M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}"
