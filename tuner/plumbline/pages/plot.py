"""Small pictures within a page, as SVG in the page's own colours: run times by size, and an
interval on a line. They need no script: they are there at once and take their room from the start.
Pure: numbers in, SVG out, with no text but numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from urllib.parse import quote

import msgspec
from markupsafe import Markup

from plumbline.pages import curve
from plumbline.pages.visit import Visit
from plumbline_db import findings, runs, table_samples
from plumbline_db.records import Campaign

_Line = dict[int, float]


class Multiple(msgspec.Struct, frozen=True):
    """`gain`: the largest quotient of both lines at a size (None: there is one line alone).
    `query`: of the page that shows its curves."""

    function: str
    picture: Markup
    gain: float | None
    query: str


def of_run(visit: Visit, campaign: Campaign) -> list[Multiple]:
    """A picture for each function with several sizes in the first table; none where the run has no
    table."""
    stages = findings.stages(visit.db, campaign.id)
    if "before" not in stages:
        return []
    last = "after" if "after" in stages else ""
    key = ("multiples", campaign.id, campaign.state, runs.last(visit.db, campaign.id))
    text = visit.pictures.get(key, lambda: msgspec.json.encode(_read(visit, campaign, last)))
    return [
        Multiple(function, Markup(picture), gain, query)  # noqa: S704 - by plot.py
        for function, picture, gain, query in msgspec.json.decode(text)
    ]


def _read(visit: Visit, campaign: Campaign, last: str) -> list[tuple[str, str, float | None, str]]:
    before = _lines(visit, campaign, "before")
    after = _lines(visit, campaign, last) if last else {}
    multiples = []
    for function, line in sorted(before.items()):
        if len(line) < 2:
            continue
        series = {"default": line}
        if function in after:
            series["winner"] = after[function]
        shared = line.keys() & after.get(function, {}).keys()
        gain = max((line[size] / after[function][size] for size in shared), default=None)
        sides = [f"{campaign.id}:{stage}" for stage in ("before", last) if stage]
        names = [curve.named(side, function, "default") for side in sides]
        query = "&".join([f"run={quote(campaign.id)}", *(f"curve={quote(name)}" for name in names)])
        multiples.append((function, str(curves(series)), gain, query))
    return multiples


def _lines(visit: Visit, campaign: Campaign, stage: str) -> dict[str, _Line]:
    """Medians of the library's own call by function and size."""
    table = findings.get_verdicts(visit.db, campaign.id, stage)
    functions: Sequence[str] = sorted({verdict.function for verdict in table})
    sizes = sorted({verdict.bytes for verdict in table})
    line_by_function: dict[str, _Line] = {}
    for variant in table_samples.medians(visit.db, campaign.id, table, sizes, functions):
        case = variant.case
        plain = case.variant == "default" and not case.knobs and not case.ranks and not case.use
        if plain and variant.seconds:
            line = line_by_function.setdefault(case.function, {})
            line.setdefault(case.bytes, statistics.median(variant.seconds))
    return line_by_function


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
