"""The times of single ranks, of cases that ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from plumbline_db import launch_records
from plumbline_db.probe_records import RankSamples
from plumbline_db.record import Record
from plumbline_db.statements import Statements


class RankTimes(Record, frozen=True):
    """The median of a rank's times of a case in one launch, all blocks together."""

    launch: int
    function: str
    variant: str
    bytes: int
    ranks: int
    rank: int
    seconds: float


def medians(db: Statements, campaign: str, suites: Sequence[str]) -> list[RankTimes]:
    """Return those of results in the finished launches of some suites, by launch, case and rank."""
    cases: dict[tuple[int, int], list[Any]] = {
        (launch, case_id): about
        for launch, case_id, *about in db.rows(
            """SELECT m.launch_number, m.case_id, m.function, m.variant, m.bytes, m.ranks
               FROM measured_case m
               JOIN cell_time ON cell_time.run = m.launch_number AND cell_time.case_id = m.case_id
               JOIN planned_case ON planned_case.number = cell_time.planned_case
               WHERE m.run = :campaign AND m.is_result AND planned_case.by_rank
                 AND m.suite IN (SELECT value FROM json_each(:suites))
               ORDER BY m.launch_number, m.case_id""",
            {"campaign": campaign, "suites": msgspec.json.encode(list(suites)).decode()},
        )
    }
    times: dict[tuple[int, int], list[list[int]]] = {}
    launches = list(dict.fromkeys(launch for launch, _ in cases))
    for launch, records in launch_records.of_kind(db, launches, RankSamples).items():
        for record in sorted(records, key=lambda rank_record: rank_record.block):
            ranks = times.setdefault((launch, record.case), [[] for _ in record.ns])
            for rank_times, ns in zip(ranks, record.ns, strict=True):
                rank_times += ns
    return [
        RankTimes(launch, function, variant, size, ranks, rank, median(ns) / 1e9)
        for (launch, case), (function, variant, size, ranks) in cases.items()
        for rank, ns in enumerate(times.get((launch, case), []))
        if ns
    ]
