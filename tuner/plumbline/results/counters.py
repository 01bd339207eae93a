"""The counters of kernel and processor in the cells of a table, by variant. They are read from the
samples of its launches; there are none where samples were thrown away."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import msgspec

from plumbline.results.advice import named
from plumbline_db import table_samples
from plumbline_db.connection import Database
from plumbline_db.launch_records import PrunedError
from plumbline_db.records import Verdict
from plumbline_db.runs import LaunchSamples


class VariantCounts(msgspec.Struct, frozen=True):
    """The counters of a variant in a cell by name, for a call and over all ranks: medians of
    launches. A counter that is 0 everywhere in the cell is left out."""

    function: str
    bytes: int
    variant: str
    counts: dict[str, float]


def of_table(
    db: Database, campaign: str, table: Sequence[Verdict], cells: Iterable[tuple[str, int]]
) -> list[VariantCounts]:
    """Return the counters of each variant in these cells (function and bytes)."""
    asked = set(cells)
    try:
        samples = table_samples.samples(
            db, campaign, table, {size for _, size in asked}, {function for function, _ in asked}
        )
    except PrunedError:
        return []
    return [
        counts
        for function, size in sorted(asked)
        for counts in of_cell(
            [each for each in samples if (each.case.function, each.case.bytes) == (function, size)]
        )
    ]


def of_cell(samples: Sequence[LaunchSamples]) -> list[VariantCounts]:
    """Return the counters of each variant of one cell, in the order of the samples."""
    medians = [
        {
            name: statistics.median(counts[name] for counts in variant.counts if name in counts)
            for name in dict.fromkeys(name for counts in variant.counts for name in counts)
        }
        for variant in samples
    ]
    moved = {name for counts in medians for name, value in counts.items() if value}
    return [
        VariantCounts(
            variant.case.function,
            variant.case.bytes,
            named(variant.case),
            {name: value for name, value in counts.items() if name in moved},
        )
        for variant, counts in zip(samples, medians, strict=True)
    ]
