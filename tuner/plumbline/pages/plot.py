"""Small pictures within a page, as SVG in the page's own colours: run times by size, and an
interval on a line. They need no script: they are there at once and take their room from the start.
Pure: numbers in, SVG out, with no text but numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

_WIDTH, _HEIGHT = 260, 140
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 8, 8, 20
_BAR_WIDTH, _BAR_HEIGHT = 180, 22


def curves(series: Mapping[str, Mapping[int, float]]) -> Markup:
    """Seconds by bytes on logarithmic axes, a line for each class of the stylesheet (`default`,
    `winner`). Each has a point at least."""
    sizes = sorted({size for line in series.values() for size in line})
    times = [1e6 * seconds for line in series.values() for seconds in line.values()]
    across = _Scale(max(1, sizes[0]), max(1, sizes[-1]), _LEFT, _WIDTH - _RIGHT)
    up = _Scale(min(times), max(times), _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<path class="axis" d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}"/>',
        *(_y_label(value, up) for value in _decades(min(times), max(times))),
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{_bytes(sizes[0])}</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">'
        f"{_bytes(sizes[-1])}</text>",
    ]
    for name, line in series.items():
        points = [(across.at(max(1, size)), up.at(1e6 * line[size])) for size in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="{name}" points="{path}"/>')
        if len(points) == 1:
            parts.append(
                f'<circle class="{name}" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3"/>'
            )
    return _svg(_WIDTH, _HEIGHT, parts)


def interval(low: float, middle: float, high: float, largest: float) -> Markup:
    """Return how many times as fast, with its interval, on an axis from below 1 to the `largest` of
    all that stand below each other; a line marks 1."""
    scale = _Scale(min(0.9, low), max(largest, high, 1.1), 3, _BAR_WIDTH - 3)
    y = _BAR_HEIGHT / 2
    return _svg(
        _BAR_WIDTH,
        _BAR_HEIGHT,
        [
            f'<path class="once" d="M{scale.at(1):.1f} 0V{_BAR_HEIGHT}"/>',
            f'<path class="interval" d="M{scale.at(low):.1f} {y}H{scale.at(high):.1f}"/>',
            f'<circle class="winner" cx="{scale.at(middle):.1f}" cy="{y}" r="4.5"/>',
        ],
    )


class _Scale:
    """Logarithmic, from two values to two places."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low = math.log(low)
        self._span = math.log(high) - self._low or 1.0
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (math.log(value) - self._low) / self._span
        return self._start + share * (self._end - self._start)


def _bytes(size: int) -> str:
    """A size on an axis: `64 Ki`."""
    for word, unit in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if size >= unit:
            return f"{size / unit:.3g} {word}"
    return str(size)


def _decades(low: float, high: float) -> Sequence[float]:
    """Powers of ten between both, or both where there is none."""
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [10.0**power for power in powers] or [low, high]


def _y_label(value: float, up: _Scale) -> str:
    y = up.at(value)
    return (
        f'<path class="axis" d="M{_LEFT - 4} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    )


def _svg(width: int, height: int, parts: Sequence[str]) -> Markup:
    return Markup(  # noqa: S704 - numbers and our own words alone
        f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )
