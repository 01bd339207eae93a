"""Tables for other programs: samples, medians, counters, times of ranks, verdicts and winners, a
row a thing, part by part, so that one part is in memory at a time. They say run ⊃ suite ⊃
measurement: a campaign is a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from plumbline_db import campaigns, columns, findings, launch_records, runs, table_samples
from plumbline_db.errors import UsageError
from plumbline_db.probe_records import Samples
from plumbline_db.records import Record, Verdict, Winner
from plumbline_db.statements import Statements
from plumbline_db.table_samples import RankTimes

_CASE = {
    "run": str,
    "suite": str,
    "launch": str,
    "function": str,
    "variant": str,
    "knobs": str,
    "bytes": int,
    "type": str,
    "op": str,
    "root": int,
    "counts": str,
    "ranks": int,
    "use": str,
}
_PLACE = dict.fromkeys(("block", "place", "ns"), int)
_SUMMARY = {name: float if name == "median_ns" else int for name in launch_records.SUMMARY}

# What the kernel and PAPI may have counted, in the order of the columns.
_COUNTERS = (
    *("voluntary_switches", "involuntary_switches", "migrations"),
    *("PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L2_TCM", "PAPI_L3_TCM", "PAPI_TLB_DM"),
    *("perf::TASK-CLOCK", "perf::PAGE-FAULTS"),
)

# A part of a table: values by column, all lists or arrays of the same length.
Part = dict[str, Any]


def _kinds(record: type[msgspec.Struct]) -> dict[str, type]:
    """Return the types of its fields; what is a list or a table goes as JSON."""
    plain: dict[Any, type] = {int: int, float: float, float | None: float}
    return {field.name: plain.get(field.type, str) for field in msgspec.structs.fields(record)}


# The types of each table's columns: int, float (may be missing), str or bool.
COLUMNS: dict[str, dict[str, type]] = {
    "samples": _CASE
    | {"is_result": bool, "is_warmup": bool, "block": int, "place": int, "ns": int},
    "medians": _CASE | _SUMMARY,
    "counters": _CASE | {"is_result": bool, "calls": int} | dict.fromkeys(_COUNTERS, float),
    "ranks": {"run": str} | _kinds(RankTimes),
    "verdicts": {"run": str} | _kinds(Verdict),
    "winners": {"run": str} | _kinds(Winner),
}


def of(db: Statements, what: str, names: Sequence[str] = ()) -> Iterator[Part]:
    """The table `what` of these campaigns, in their order (none named: of all). Raises UsageError
    where one is not there, PrunedError where samples are asked for that were thrown away."""
    campaign_ids = [campaign.id for campaign in campaigns.every(db)]
    missing = [name for name in names if name not in campaign_ids]
    if missing:
        listed = ", ".join(campaign_ids) or "none"
        raise UsageError(f"{db.path} contains no run {missing[0]}; it contains: {listed}")
    for name in names or campaign_ids:
        yield from _TABLES[what](db, name)


def _samples(db: Statements, campaign: str) -> Iterator[Part]:
    """A part a launch."""
    import numpy as np

    for cases in _taken(db, campaign):
        parts = [_of_case(about, taken) for about, taken in cases]
        yield {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _counters(db: Statements, campaign: str) -> Iterator[Part]:
    """A part a launch: what was counted for each call, over all ranks; missing where the machine
    could not count it."""
    for cases in _taken(db, campaign):
        rows = []
        for about, taken in cases:
            counts = taken.counts_of_call()
            calls = len(taken.warmup_ns) + len(taken.ns)
            *case, is_result = about
            rows.append([*case, bool(is_result), calls, *map(counts.get, _COUNTERS)])
        columns_of_rows = map(list, zip(*rows, strict=True))
        yield dict(zip(COLUMNS["counters"], columns_of_rows, strict=True))


def _taken(db: Statements, campaign: str) -> Iterator[Sequence[tuple[Sequence[Any], Samples]]]:
    """The cases of each launch that has any, with what they have taken. Raises PrunedError where
    that was thrown away."""
    launches = db.rows(
        """SELECT run.number FROM run JOIN suite ON suite.number = run.suite
           WHERE suite.campaign = :campaign ORDER BY run.number""",
        {"campaign": campaign},
    )
    names = ", ".join(_CASE)
    for (launch,) in launches:
        taken = {
            record.case: record for record in launch_records.of_kind(db, [launch], Samples)[launch]
        }
        rows = db.rows(
            f"""SELECT case_id, {names}, is_result FROM measured_case
                WHERE launch_number = :launch ORDER BY case_id""",  # noqa: S608
            {"launch": launch},
        )
        cases = [(about, taken[case]) for case, *about in rows if case in taken]
        if len(cases) < _timed(db, launch):
            raise launch_records.pruned(db, launch)
        if cases:
            yield cases


def _timed(db: Statements, launch: int) -> int:
    """Count the cases of a launch that have samples, or had some."""
    ((count,),) = db.rows(
        "SELECT count(*) FROM cell_time WHERE run = :launch AND n IS NOT NULL", {"launch": launch}
    )
    return int(count)


def _of_case(about: Sequence[Any], taken: Samples) -> Part:
    import numpy as np

    count = len(taken.warmup_ns) + len(taken.ns)
    case = dict(zip([*_CASE, "is_result"], about, strict=True))
    part: Part = {
        name: np.full(count, value, dtype=object if isinstance(value, str) else None)
        for name, value in case.items()
    }
    part["is_result"] = part["is_result"].astype(bool)
    part["is_warmup"] = np.repeat([True, False], [len(taken.warmup_ns), len(taken.ns)])
    part["block"] = np.concatenate(
        [np.repeat(taken.blocks, taken.warmups), np.repeat(taken.blocks, taken.samples)]
    )
    part["place"] = np.concatenate([np.arange(n) for n in (*taken.warmups, *taken.samples)])
    part["ns"] = np.array([*taken.warmup_ns, *taken.ns], "<i8")
    return part


def _medians(db: Statements, campaign: str) -> Iterator[Part]:
    names = list(COLUMNS["medians"])
    rows = db.rows(
        f"""SELECT {", ".join(names)} FROM launch_median
            WHERE run = :run ORDER BY launch_number, case_id""",  # noqa: S608
        {"run": campaign},
    )
    if rows:
        yield dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def _ranks(db: Statements, campaign: str) -> Iterator[Part]:
    """The medians of what single ranks took, where launches kept that."""
    rank_medians = table_samples.rank_medians(db, campaign, list(runs.suites(db, campaign)))
    if rank_medians:
        yield _of_records(campaign, rank_medians)


def _verdicts(db: Statements, campaign: str) -> Iterator[Part]:
    for stage in findings.stages(db, campaign):
        yield _of_records(campaign, findings.get_verdicts(db, campaign, stage))


def _winners(db: Statements, campaign: str) -> Iterator[Part]:
    all_winners = findings.get_winners(db, campaign)
    if all_winners:
        yield _of_records(campaign, all_winners)


def _of_records(campaign: str, records: Sequence[Record]) -> Part:
    rows = [{"run": campaign} | columns.values(record) for record in records]
    return {name: [row[name] for row in rows] for name in rows[0]}


_TABLES: dict[str, Callable[[Statements, str], Iterator[Part]]] = {
    "samples": _samples,
    "medians": _medians,
    "counters": _counters,
    "ranks": _ranks,
    "verdicts": _verdicts,
    "winners": _winners,
}
