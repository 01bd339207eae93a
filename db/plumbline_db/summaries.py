"""Samples of a launch in short: what is left of them when they are thrown away, and what is asked
for most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from plumbline_db import columns
from plumbline_db.probe_records import ProbeRecord, Samples, Transit
from plumbline_db.statements import Statements

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Of the table, but for the measurement.
FIELDS = (
    "n",
    "least_ns",
    "quartile_1_ns",
    "median_ns",
    "quartile_3_ns",
    "percentile_95_ns",
    "greatest_ns",
)
_SHARES = {"quartile_1_ns": 0.25, "quartile_3_ns": 0.75, "percentile_95_ns": 0.95}


def put(db: Statements, rows: Mapping[int, int], records: Iterable[ProbeRecord]) -> None:
    """Store those of a launch, inside the caller's transaction. `rows`: measurements, by case id.
    Blocks of a transit do not count, and a case without samples has none."""
    values = {rows[case]: summary for case, summary in _by_case(records).items()}
    listed = [{"measurement": number, **values[number]} for number in sorted(values)]
    columns.put_rows(db, "summary", listed)


def require(db: Statements, run_id: str, records: Iterable[ProbeRecord]) -> None:
    """Raises ValueError where those of a launch are not of its samples, as far as these are
    there."""
    stored = _stored(db, run_id, "")
    for case, summary in _by_case(records).items():
        if stored.get(case) != summary:
            raise ValueError(f"launch {run_id}: summaries of case {case} are not of its samples")


def without_samples(db: Statements, run_id: str) -> dict[int, dict[str, Any]]:
    """Those of a launch whose samples were thrown away, by case id."""
    gone = "AND NOT EXISTS (SELECT 1 FROM series WHERE series.measurement = s.measurement)"
    return _stored(db, run_id, gone)


def _stored(db: Statements, run_id: str, condition: str) -> dict[int, dict[str, Any]]:
    rows = db.rows(
        f"""SELECT m.case_id, {", ".join(FIELDS)} FROM summary s
            JOIN measurement m ON m.number = s.measurement JOIN run ON run.number = m.run
            WHERE run.id = :run {condition} ORDER BY m.case_id""",  # noqa: S608
        {"run": run_id},
    )
    return {case: dict(zip(FIELDS, values, strict=True)) for case, *values in rows}


def add(db: Statements, run_id: str, those: Mapping[int, Mapping[str, Any]]) -> None:
    """What `without_samples` has of the same launch elsewhere, inside the caller's transaction."""
    rows = dict(
        db.rows(
            """SELECT m.case_id, m.number FROM measurement m JOIN run ON run.number = m.run
               WHERE run.id = :run""",
            {"run": run_id},
        )
    )
    listed = [{"measurement": rows[case], **values} for case, values in those.items()]
    columns.put_rows(db, "summary", listed)


def _by_case(records: Iterable[ProbeRecord]) -> dict[int, dict[str, Any]]:
    import numpy as np

    kept = list(records)
    first = {record.case: record.blocks for record in kept if isinstance(record, Transit)}
    times: dict[int, list[int]] = {}
    for record in kept:
        if not isinstance(record, Samples) or not record.ns:
            continue
        if ns := record.from_block(first.get(record.case, 0)):
            times[record.case] = ns
    by_number: dict[int, list[int]] = {}
    for case, samples in times.items():
        by_number.setdefault(len(samples), []).append(case)
    found: dict[int, dict[str, Any]] = {}
    for cases in by_number.values():
        summaries = of(np.array([times[case] for case in cases], dtype="<i8"))
        found |= dict(zip(cases, summaries, strict=True))
    return found


def of(samples: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Of each row. A quantile is the shortest sample that so large a share does not exceed
    (definition 1 of Hyndman, Fan 1996), the median the usual one."""
    import numpy as np

    n = samples.shape[1]
    ordered = np.sort(samples, axis=1)
    # As Python's own: exact where two are so long that their sum is no 64-bit integer.
    low, high = ordered[:, (n - 1) // 2], ordered[:, n // 2]
    found = {
        "n": np.full(len(samples), n),
        "least_ns": ordered[:, 0],
        "median_ns": low / 2 + high / 2 if n % 2 == 0 else low.astype("<f8"),
        "greatest_ns": ordered[:, -1],
    }
    for name, share in _SHARES.items():
        found[name] = ordered[:, int(np.ceil(share * n)) - 1]
    listed = [found[name].tolist() for name in FIELDS]
    return [dict(zip(FIELDS, row, strict=True)) for row in zip(*listed, strict=True)]
