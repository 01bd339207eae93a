"""How the samples of a case lie in its row of `series`: which are of which block, and which numbers
about each block stand in `notes`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
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
    """A number about each block in so many bytes (0: all are 0)."""

    name: str
    width: int


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

# Fields of Samples that are kept as they are, or as whether they are not what they are as a rule.
_USUAL = {"late": 0, "overrun": 0, "window_ns": 0, "budget_spent": False, "settled": True}


def laid_out(record: Samples) -> tuple[Layout, bytes]:
    """The layout of a case's blocks, and their `notes`."""
    places = []
    warmup_from = samples_from = 0
    for block, warmups, samples in zip(record.blocks, record.warmups, record.samples, strict=True):
        places.append(BlockShape(block, warmup_from, warmups, samples_from, samples))
        warmup_from, samples_from = warmup_from + warmups, samples_from + samples
    unusual: dict[str, Sequence[int]] = {}
    for name, usual in _USUAL.items():
        values = getattr(record, name)
        if any(value != usual for value in values):
            unusual[name] = [value != usual for value in values] if usual is True else values
    own, own_notes = _columns(unusual)
    counts, counted = _columns(dict(sorted(record.counts.items())))
    return Layout(places, own, counts, warmup_from, samples_from), own_notes + counted


def _columns(values: Mapping[str, Sequence[int]]) -> tuple[list[Column], bytes]:
    columns, notes = [], b""
    for name, numbers_of in values.items():
        stored = _stored(numbers_of)
        columns.append(Column(name, len(stored) // max(1, len(numbers_of))))
        notes += stored
    return columns, notes


def _stored(values: Sequence[int]) -> bytes:
    """As `whole_bytes`, which takes longer for a few small numbers."""
    import numpy as np

    greatest = max(values, default=0)
    if greatest < 256:
        return bytes(values) if greatest else b""
    return whole_bytes(np.array(values, "<i8").view("<u8"))


class Notes(NamedTuple):
    """Numbers about the blocks of a case: lists with an element a block. `own` are fields of
    Samples."""

    own: dict[str, list[Any]]
    counts: dict[str, list[int]]


def read(layout: Layout, notes: bytes) -> Notes:
    """Raises ValueError where `notes` are not laid out like this."""
    blocks = len(layout.blocks)
    found = Notes({}, {})
    at = 0
    for column, values_of in (
        *((column, found.own) for column in layout.own),
        *((column, found.counts) for column in layout.counts),
    ):
        end = at + column.width * blocks
        if end > len(notes):
            raise ValueError(f"notes end within {column.name}")
        values = numbers(notes[at:end], blocks).tolist()
        usual = _USUAL[column.name] if values_of is found.own else 0
        is_truth = isinstance(usual, bool)
        values_of[column.name] = [(value == 0) == usual for value in values] if is_truth else values
        at = end
    if at != len(notes):
        raise ValueError(f"{len(notes)} bytes of notes where there must be {at}")
    return found


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
    for column in every:
        if column.width not in range(9):
            raise ValueError(f"notes of {column.name:.50} are of no such width")
    if layout.blocks and (layout.blocks[0].warmup_from or layout.blocks[0].samples_from):
        raise ValueError("the first block does not begin at the beginning")
    return layout
