"""The times of single ranks, of cases that ask for them: stored and read back with a launch, by
`measurements`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from plumbline_db import columns
from plumbline_db.blobs import packed, require_bytes, unpacked
from plumbline_db.probe_records import ProbeRecord, RankSamples
from plumbline_db.record import Record
from plumbline_db.statements import Statements

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def put(db: Statements, rows: Mapping[int, int], records: Sequence[ProbeRecord]) -> None:
    """Store them, inside the caller's transaction. `rows`: measurements, by case id."""
    values = []
    for record in records:
        if isinstance(record, RankSamples):
            for rank, times in enumerate(record.ns):
                least, samples = packed(times)
                values.append(
                    {
                        "measurement": rows[record.case],
                        "block": record.block,
                        "rank": rank,
                        "n": len(times),
                        "least_ns": least,
                        "samples": samples,
                    }
                )
    columns.put_rows(db, "rank_series", values)


def of_run(db: Statements, run: int) -> list[RankSamples]:
    """Those of the launch numbered `run`, by block and case."""
    found: dict[tuple[int, int], list[list[int]]] = {}
    rows = db.rows(
        """SELECT r.block, m.case_id, r.n, r.least_ns, r.samples
           FROM measurement m JOIN rank_series r ON r.measurement = m.number
           WHERE m.run = :run ORDER BY r.block, m.case_id, r.rank""",
        {"run": run},
    )
    require_bytes((n, samples) for _, _, n, _, samples in rows)
    for block, case, n, least, samples in rows:
        found.setdefault((block, case), []).append(unpacked(least, samples, n).tolist())
    return [RankSamples(case, block, ns) for (block, case), ns in found.items()]


class RankTimes(Record, frozen=True):
    """Of a case in one launch: the median of a rank's times, all blocks together."""

    launch: int
    function: str
    variant: str
    bytes: int
    ranks: int
    rank: int
    seconds: float


def medians(db: Statements, campaign: str, suites: Sequence[str]) -> list[RankTimes]:
    """Of results in the finished launches of some suites, by launch, case and rank."""
    import numpy as np

    rows = db.rows(
        """SELECT c.measurement, c.launch_number, c.function, c.variant, c.bytes, c.ranks, r.rank,
                  r.n, r.least_ns, r.samples
           FROM measured_case c JOIN rank_series r ON r.measurement = c.measurement
           WHERE c.run = :campaign AND c.is_result
             AND c.suite IN (SELECT value FROM json_each(:suites))
           ORDER BY c.measurement, r.rank, r.block""",
        {"campaign": campaign, "suites": msgspec.json.encode(list(suites)).decode()},
    )
    require_bytes((n, samples) for *_, n, _, samples in rows)
    whole: dict[tuple[int, int, str, str, int, int, int], list[NDArray[np.int64]]] = {}
    for measurement, run, function, variant, size, ranks, rank, n, least, samples in rows:
        key = (measurement, run, function, variant, size, ranks, rank)
        whole.setdefault(key, []).append(unpacked(least, samples, n))
    return [
        RankTimes(*key[1:], float(np.median(np.concatenate(blocks))) / 1e9)
        for key, blocks in whole.items()
        if any(len(block) for block in blocks)
    ]
