"""The topology of a host as a picture, and what two ranks of a class of pairs share in it. Read
from hwloc's synthetic form, which launches record: `Package:2 [NUMANode] L3Cache:4(size=…) Core:2
PU:2`. Pure: text in, SVG and words out."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple, get_args

import msgspec
from markupsafe import Markup, escape

from plumbline.explain.basis import in_force
from plumbline_db.hockney import Hockney
from plumbline_db.probe_records import Pair

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
