"""Pictures within a page, as SVG in the page's own colours: run times by size, an interval on a
line, and the topology of a host, with what two ranks of a class of pairs share in it. They need no
script: they are there at once and take their room from the start. The topology is read from hwloc's
synthetic form, which launches record: `Package:2 [NUMANode] L3Cache:4(size=…) Core:2 PU:2`. Pure
but for what `plot` reads: numbers and text in, SVG and words out."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args
from urllib.parse import quote

import msgspec
from markupsafe import Markup, escape

from plumbline.explain.basis import in_force
from plumbline.pages import curve
from plumbline.pages.visit import Visit
from plumbline_db import findings, runs, table_samples
from plumbline_db.hockney import Hockney
from plumbline_db.probe_records import Pair
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
        Multiple(function, Markup(picture), gain, query)  # noqa: S704 - made here
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
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{_bytes_of_tick(sizes[0])}</text>',
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">'
        f"{_bytes_of_tick(sizes[-1])}</text>",
    ]
    for name, line in series.items():
        points = [(across.at(max(1, size)), up.at(1e6 * line[size])) for size in sorted(line)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="{name}" points="{path}"/>')
        if len(points) == 1:
            parts.append(
                f'<circle class="{name}" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3"/>'
            )
    return _plot_svg(_WIDTH, _HEIGHT, parts)


def interval(low: float, middle: float, high: float, largest: float) -> Markup:
    """Return how many times as fast, with its interval, on an axis from below 1 to the `largest` of
    all that stand below each other; a line marks 1."""
    scale = _Scale(min(0.9, low), max(largest, high, 1.1), 3, _BAR_WIDTH - 3)
    y = _BAR_HEIGHT / 2
    return _plot_svg(
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


def _bytes_of_tick(size: int) -> str:
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


def _plot_svg(width: int, height: int, parts: Sequence[str]) -> Markup:
    return Markup(  # noqa: S704 - numbers and our own words alone
        f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


_PART = re.compile(r"(\[)?([A-Za-z][A-Za-z0-9]{0,20})(?::([1-9]\d{0,4}))?(?:\(([^)]*)\))?\]?")
_SIZE = re.compile(r"(?:size|memory)=(\d{1,18})\b")
_MOST_LEVELS = 16
_DRAWN_WHOLE = 4  # processing units
_PAIRS: tuple[Pair, ...] = get_args(Pair)


class TopologyLevel(msgspec.Struct, frozen=True):
    """A level of the topology: `count` objects in each one of the level above. `size`: bytes of a
    cache; `memory`: bytes of the NUMA nodes beside each object, None where there is none."""

    kind: str
    count: int
    size: int = 0
    memory: int | None = None

    @property
    def is_cache(self) -> bool:
        return self.kind.startswith("l") and self.kind.endswith("cache")

    @property
    def name(self) -> str:
        """`L3 32 MiB`."""
        if not self.is_cache:
            return {"pu": "PU"}.get(self.kind, self.kind)
        return f"{self.kind.removesuffix('cache').capitalize()} {_bytes(self.size)}"


class SharedClass(msgspec.Struct, frozen=True):
    """A class of pairs of ranks. `number`: of its processing units in the picture (None: not of
    this host); `shared`: what both share. The rest is measured: the latency of a message in
    seconds, and bytes per second of large ones (None: not measured)."""

    number: int | None
    pair: str
    shared: str
    latency_seconds: float | None = None
    bytes_per_second: float | None = None


class DrawnTopology(msgspec.Struct, frozen=True):
    picture: Markup
    classes: list[SharedClass]


def drawn(text: str, lines: Sequence[Hockney]) -> DrawnTopology | None:
    """Return the picture with its classes, near ones first; None for text that is no such form.
    `lines`: what was fitted to ping-pongs on this machine."""
    levels = parse(text)
    if levels is None:
        return None
    pair_by_level = {
        level: _pair(levels, level)
        for level in range(len(levels) - 1)
        if levels[level + 1].count > 1
    }
    pairs = [pair for pair in _PAIRS if pair in pair_by_level.values()]
    numbers = {level: pairs.index(pair) + 1 for level, pair in pair_by_level.items()}
    measured = {pair: in_force([line for line in lines if line.pair == pair]) for pair in _PAIRS}
    classes = [
        SharedClass(
            pairs.index(pair) + 1 if pair in pairs else None,
            pair,
            _shared(pair, [levels[at] for at, own in pair_by_level.items() if own == pair]),
            measured[pair][0].alpha_seconds if measured[pair] else None,
            _bandwidth(measured[pair]),
        )
        for pair in _PAIRS
        if pair in pairs or measured[pair]
    ]
    whole = math.prod(level.count for level in levels) <= _DRAWN_WHOLE
    box = _Drawing(levels, numbers, whole).box(0, None)
    return DrawnTopology(_svg(box), classes)


def _bandwidth(lines: Sequence[Hockney]) -> float | None:
    """Return bytes per second of the largest messages; None where no line has a slope."""
    slope = lines[-1].beta_seconds_per_byte if lines else 0.0
    return 1 / slope if slope > 0 else None


def parse(text: str) -> list[TopologyLevel] | None:
    """Return the levels from the machine to the processing units, without caches of instructions;
    None for what is no synthetic topology."""
    levels = [TopologyLevel("machine", 1)]
    for word in text.split():
        part = _PART.fullmatch(word)
        if part is None or len(levels) > _MOST_LEVELS:
            return None
        beside, kind, count, attributes = part.groups()
        found_size = _SIZE.search(attributes or "")
        size = int(found_size[1]) if found_size else 0
        if beside:
            nodes = int(count or 1) * size + (levels[-1].memory or 0)
            levels[-1] = msgspec.structs.replace(levels[-1], memory=nodes)
        elif kind.lower() != "l1icache":
            kind = re.sub(r"\d+$", "", kind) if kind.startswith("Group") else kind
            levels.append(TopologyLevel(kind.lower(), int(count or 1), size))
    return levels if levels[-1].kind == "pu" else None


def _pair(levels: Sequence[TopologyLevel], common: int) -> Pair:
    """Return the class of two ranks that have the levels up to `common` in common."""
    shared, apart = levels[: common + 1], levels[common + 1 :]
    if any(level.kind == "package" for level in apart):
        return "other_socket"
    if any(level.kind == "core" for level in shared):
        return "same_core"
    if any(level.is_cache for level in shared):
        return "same_cache"
    return "other_numa" if any(level.memory is not None for level in apart) else "same_socket"


def _shared(pair: Pair, levels: Sequence[TopologyLevel]) -> str:
    if pair == "same_cache":
        return "a cache: " + " or ".join(level.name for level in reversed(levels))
    return {
        "same_core": "a core",
        "same_socket": "a package, and no cache",
        "other_numa": "a package, and neither cache nor NUMA node",
        "other_socket": "the host",
        "other_node": "the network",
    }[pair]


class _Box(NamedTuple):
    width: float
    height: float
    svg: str


_GAP, _LINE, _COLUMN = 6, 20, 62


class _Drawing:
    """Boxes in boxes: caches are bars above what shares them, as in hwloc's own pictures. Of alike
    objects the first is drawn whole, and one box stands for all others."""

    def __init__(
        self, levels: Sequence[TopologyLevel], numbers: dict[int, int], whole: bool
    ) -> None:
        self._levels = levels
        self._numbers = numbers
        self._whole = whole

    def box(self, at: int, number: int | None) -> _Box:
        """Return an object of a level. `number`: the class of its processing units; None: it has
        the one that others are seen from."""
        level = self._levels[at]
        if at == len(self._levels) - 1:
            mark = "here" if number is None else str(number)
            style = "unit here" if number is None else "unit"
            return _Box(_COLUMN, 1.3 * _LINE, _rect(style, _COLUMN, 1.3 * _LINE, [mark]))
        row = self._row(at, number)
        heads = [level.name]
        if level.memory is not None:
            heads.append(f"NUMA {_bytes(level.memory)}" if level.memory else "NUMA")
        if level.is_cache:
            head = _rect("cache", row.width, _LINE, [level.name])
            return _Box(row.width, _LINE + _GAP + row.height, head + _at(0, _LINE + _GAP, row.svg))
        width, top = row.width + 2 * _GAP, _LINE * len(heads) + _GAP / 2
        height = top + row.height + _GAP
        labels = "".join(
            f'<text x="{_GAP}" y="{_LINE * line + 15}">{escape(head)}</text>'
            for line, head in enumerate(heads)
        )
        frame = f'<rect class="{"core" if level.kind == "core" else "part"}" width="{width:g}" '
        frame += f'height="{height:g}" rx="3"/>'
        return _Box(width, height, frame + labels + _at(_GAP, top, row.svg))

    def _row(self, at: int, number: int | None) -> _Box:
        """Return the parts of an object beside each other."""
        below = self._levels[at + 1]
        others = number if number is not None else self._numbers.get(at)
        boxes = [self.box(at + 1, number)]
        if self._whole or (below.count == 2 and below.kind == "pu"):
            boxes += [self.box(at + 1, others) for _ in range(1, below.count)]
        elif below.count > 1:
            parts = self._levels[at + 1 :]
            while parts[0].is_cache and parts[1].count == 1:
                parts = parts[1:]  # a cache of one core: the core is what counts
            named = parts[0].name.split()[0] + ("s" if below.count > 2 else "")
            lines = [f"{below.count - 1} {'more' if below.count > 2 else 'other'}", named]
            lines.append(str(others))
            boxes.append(
                _Box(_COLUMN, boxes[0].height, _rect("more", _COLUMN, boxes[0].height, lines))
            )
        x, svg = 0.0, ""
        for box in boxes:
            svg += _at(x, 0, box.svg)
            x += box.width + _GAP
        return _Box(x - _GAP, max(box.height for box in boxes), svg)


def _rect(style: str, width: float, height: float, lines: Sequence[str]) -> str:
    """A box with words in its middle."""
    first = height / 2 + 4.5 - (len(lines) - 1) * 8
    return f'<rect class="{style}" width="{width:g}" height="{height:g}" rx="3"/>' + "".join(
        f'<text class="{style}" x="{width / 2:g}" y="{first + 16 * place:g}" '
        f'text-anchor="middle">{escape(line)}</text>'
        for place, line in enumerate(lines)
    )


def _at(x: float, y: float, svg: str) -> str:
    return f'<g transform="translate({x:g} {y:g})">{svg}</g>'


def _svg(box: _Box) -> Markup:
    width, height = box.width + 2, box.height + 2
    return Markup(  # noqa: S704 - numbers, our own words and words that _PART lets through, escaped
        f'<svg class="topology" viewBox="-1 -1 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="The topology of a host: caches and cores '
        f'in packages; the table has the classes of pairs.">{box.svg}</svg>'
    )


def _bytes(size: int) -> str:
    """`32 MiB`, `15.7 GiB`."""
    for word, unit in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= unit:
            return f"{size / unit:.3g} {word}"
    return f"{size} B"
