"""The samples of cases: the one place that writes and reads them.

`put` stores those of a launch, `of` gives them by the number of a measurement; which measurements,
and what becomes of their samples, is for those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from plumbline_db import columns, shapes
from plumbline_db.blobs import packed_lists, require_bytes, unpacked
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.probe_records import Samples
from plumbline_db.shapes import Layout
from plumbline_db.statements import Statements

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PrunedError(PlumblineError):
    """Samples are asked for that were thrown away."""


class Series(NamedTuple):
    """Of one measurement, in nanoseconds, all blocks in their order."""

    layout: Layout
    warmup: NDArray[np.int64]
    ns: NDArray[np.int64]
    notes: bytes

    def from_block(self, number: int) -> NDArray[np.int64]:
        """The samples of that block and of those after it."""
        for block in self.layout.blocks:
            if block.number >= number:
                return self.ns[block.samples_from :]
        return self.ns[:0]

    def by_block(self) -> list[NDArray[np.int64]]:
        """The samples, an array a block; blocks without any are left out."""
        return [
            self.ns[block.samples_from : block.samples_from + block.samples]
            for block in self.layout.blocks
            if block.samples
        ]

    def record(self, case: int) -> Samples:
        """Return what the probe wrote about the case."""
        notes = shapes.read(self.layout, self.notes)
        return Samples(
            case,
            [block.number for block in self.layout.blocks],
            [block.warmups for block in self.layout.blocks],
            [block.samples for block in self.layout.blocks],
            self.warmup.tolist(),
            self.ns.tolist(),
            counts=notes.counts,
            **notes.own,
        )


def put(db: Statements, rows: Mapping[int, int], records: Iterable[Samples]) -> None:
    """Store the samples of a launch, inside the caller's transaction. `rows`: measurements, by case
    id."""
    ordered = sorted(records, key=lambda taken: rows[taken.case])
    before = packed_lists([record.warmup_ns for record in ordered])
    after = packed_lists([record.ns for record in ordered])
    values = []
    for record, (warmup_least, warmup), (least, samples) in zip(
        ordered, before, after, strict=True
    ):
        layout, notes = shapes.laid_out(record)
        values.append(
            {
                "measurement": rows[record.case],
                "shape": columns.number(db, "shape", {"layout": shapes.text_of(layout)}),
                "warmup_least_ns": warmup_least,
                "warmup": warmup,
                "least_ns": least,
                "samples": samples,
                "notes": notes,
            }
        )
    columns.put_rows(db, "series", values)


def of(db: Statements, measurements: Sequence[int]) -> dict[int, Series]:
    """By measurement, in the order of their numbers; without those that have none. Raises
    PrunedError where some were thrown away, ValueError where a row cannot be read."""
    key = {"measurements": msgspec.json.encode(measurements).decode()}
    found = db.rows(
        """SELECT measurement, shape, warmup_least_ns, warmup, least_ns, samples, notes
           FROM series WHERE measurement IN (SELECT value FROM json_each(:measurements))
           ORDER BY measurement""",
        key,
    )
    if len(found) < len(set(measurements)):
        _require_kept(db, key)
    layouts = _layouts(db, {row[1] for row in found})
    require_bytes(
        pair
        for _, shape, _, warmup, _, samples, _ in found
        for pair in _counted(layouts[shape], warmup, samples)
    )
    result = {}
    for number, shape, warmup_least, warmup, least, samples, notes in found:
        layout = layouts[shape]
        before = unpacked(warmup_least, warmup, layout.warmups)
        result[number] = Series(layout, before, unpacked(least, samples, layout.samples), notes)
    return result


def _layouts(db: Statements, shapes_: set[int]) -> dict[int, Layout]:
    rows = db.rows(
        """SELECT number, layout FROM shape
           WHERE number IN (SELECT value FROM json_each(:numbers))""",
        {"numbers": msgspec.json.encode(sorted(shapes_)).decode()},
    )
    return {number: shapes.of_text(layout) for number, layout in rows}


def unsettled_shapes(db: Statements) -> list[int]:
    """Of series some block of which had not settled."""
    found = db.rows(
        """SELECT number FROM shape
           WHERE EXISTS (SELECT 1 FROM json_each(layout, '$.own') AS own
                         WHERE json_extract(own.value, '$[0]') = 'settled')"""
    )
    return [number for (number,) in found]


def forget_shapes(db: Statements) -> None:
    """Those that no series has any more."""
    db.rows("PRAGMA foreign_keys = 0")  # else all series are looked through for each
    with db.transaction():
        db.rows("DELETE FROM shape WHERE number NOT IN (SELECT shape FROM series)")
        db.numbers.clear()
    db.rows("PRAGMA foreign_keys = 1")


def _counted(layout: Layout, warmup: bytes, samples: bytes) -> list[tuple[int, bytes]]:
    """Times and their bytes; blocks beyond the times have none."""
    times = layout.warmups + layout.samples
    rest = max(0, len(layout.blocks) - times)
    return [(layout.warmups, warmup), (layout.samples, samples), (rest, b"")]


def _require_kept(db: Statements, measurements: Mapping[str, Any]) -> None:
    row = db.row(
        """SELECT pruned.campaign, pruned.time, pruned.why FROM summary
           JOIN measurement ON measurement.number = summary.measurement
           JOIN run ON run.number = measurement.run JOIN suite ON suite.number = run.suite
           LEFT JOIN pruned ON pruned.campaign = suite.campaign
           WHERE summary.measurement IN (SELECT value FROM json_each(:measurements))
             AND NOT EXISTS (SELECT 1 FROM series WHERE series.measurement = summary.measurement)
           LIMIT 1""",
        measurements,
    )
    if row is not None:
        raise PrunedError(
            f"{db.path}: samples of campaign {row[0]} were thrown away on {row[1]} ({row[2]}). "
            f"Its medians are there (`{command_name()} db table medians`); a backup may have "
            "the samples, or measure anew"
        )
