"""How the samples of a case lie in its row of `series`: which are of which block, and which numbers
about each block stand in `notes`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from plumbline_db.blobs import numbers, whole_bytes
from plumbline_db.probe_records import Samples


class BlockShape(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """`warmup_from`, `samples_from`: where its times begin among those of the series. The view
    `sample` knows this order."""

    number: int
    warmup_from: int
    warmups: int
    samples_from: int
    samples: int


class Column(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A number about each block in so many bytes (0: all are 0). `places`: which of the blocks have
    it; None: all."""

    name: str
    width: int
    places: list[int] | None = None


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`own` are fields of Samples that are not as usual in all blocks, `counts` what was counted;
    `notes` has them in this order. `warmups`, `samples`: how many times there are in all."""

    blocks: list[BlockShape]
    own: list[Column]
    counts: list[Column]
    warmups: int
    samples: int


_MOST_COLUMNS = 256

_decoder = msgspec.json.Decoder(Layout)

# Whether a field of Samples is kept as it is, or as whether it is not what it is as a rule.
_USUAL = {"late": 0, "overrun": 0, "window_ns": 0, "budget_spent": False, "settled": True}
_fields = attrgetter(*_USUAL)
_AS_USUAL = tuple(_USUAL.values())


def laid_out(blocks: Sequence[Samples]) -> tuple[Layout, bytes]:
    """The layout of a case's blocks, which are in their order, and their `notes`."""
    places = []
    warmup_from = samples_from = 0
    for block in blocks:
        warmups, samples = len(block.warmup_ns), len(block.ns)
        places.append(BlockShape(block.block, warmup_from, warmups, samples_from, samples))
        warmup_from, samples_from = warmup_from + warmups, samples_from + samples
    own, own_notes = _own(blocks)
    counts, counted = _counts(blocks)
    return Layout(places, own, counts, warmup_from, samples_from), own_notes + counted


def _own(blocks: Sequence[Samples]) -> tuple[list[Column], bytes]:
    columns: list[Column] = []
    notes = b""
    if all(_fields(block) == _AS_USUAL for block in blocks):  # nearly always
        return columns, notes
    for name, usual in _USUAL.items():
        values = [getattr(block, name) for block in blocks]
        if any(value != usual for value in values):
            unusual = [value != usual for value in values] if usual is True else values
            stored = _stored(unusual)
            columns.append(Column(name, len(stored) // len(blocks)))
            notes += stored
    return columns, notes


def _counts(blocks: Sequence[Samples]) -> tuple[list[Column], bytes]:
    columns, notes = [], b""
    names = blocks[0].counts.keys()
    everywhere = all(block.counts.keys() == names for block in blocks)
    for name in sorted(names if everywhere else {n for block in blocks for n in block.counts}):
        having = [place for place, block in enumerate(blocks) if everywhere or name in block.counts]
        stored = _stored([blocks[place].counts[name] for place in having])
        width = len(stored) // len(having)
        columns.append(Column(name, width, None if len(having) == len(blocks) else having))
        notes += stored
    return columns, notes


def _stored(values: Sequence[int]) -> bytes:
    """As `whole_bytes`, which takes longer for a few small numbers."""
    import numpy as np

    greatest = max(values)
    if greatest < 256:
        return bytes(values) if greatest else b""
    return whole_bytes(np.array(values, "<i8").view("<u8"))


class Notes(NamedTuple):
    """What `notes` say, by block."""

    own: list[dict[str, Any]]
    counts: list[dict[str, int]]


def read(layout: Layout, notes: bytes) -> Notes:
    """Raises ValueError where `notes` are not laid out like this."""
    blocks = len(layout.blocks)
    found = Notes([{} for _ in range(blocks)], [{} for _ in range(blocks)])
    at = 0
    for column, values_of in (
        *((column, found.own) for column in layout.own),
        *((column, found.counts) for column in layout.counts),
    ):
        places = range(blocks) if column.places is None else column.places
        end = at + column.width * len(places)
        if end > len(notes):
            raise ValueError(f"notes end within {column.name}")
        values = numbers(notes[at:end], len(places)).tolist()
        at = end
        for place, value in zip(places, values, strict=True):
            is_own = values_of is found.own
            values_of[place][column.name] = _field(column.name, value) if is_own else value
    if at != len(notes):
        raise ValueError(f"{len(notes)} bytes of notes where there must be {at}")
    return found


def _field(name: str, value: int) -> int | bool:
    usual = _USUAL[name]
    return (value == 0) == usual if isinstance(usual, bool) else value


def text_of(layout: Layout) -> str:
    return msgspec.json.encode(layout).decode()


def of_text(text: str) -> Layout:
    """Raises ValueError where it is none, or its blocks do not follow each other."""
    layout = _decoder.decode(text)
    ends = BlockShape(-1, layout.warmups, 0, layout.samples, 0)
    for block, after in pairwise([*layout.blocks, ends]):
        warmup_end = block.warmup_from + block.warmups
        samples_end = block.samples_from + block.samples
        follows = after.warmup_from == warmup_end and after.samples_from == samples_end
        if not follows or block.warmups < 0 or block.samples < 0:
            raise ValueError(f"block {block.number} is not where the next one begins")
    if min(layout.warmups, layout.samples) < 0:
        raise ValueError("fewer times than none")
    every = [*layout.own, *layout.counts]
    if len(every) > _MOST_COLUMNS or any(column.name not in _USUAL for column in layout.own):
        raise ValueError("notes of numbers that no block has")
    blocks = frozenset(range(len(layout.blocks)))
    for column in every:
        if column.width not in range(9) or not blocks.issuperset(column.places or ()):
            raise ValueError(f"notes of {column.name:.50} are of no such blocks")
    if layout.blocks and (layout.blocks[0].warmup_from or layout.blocks[0].samples_from):
        raise ValueError("the first block does not begin at the beginning")
    return layout
