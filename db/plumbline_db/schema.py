"""Whose file it is, and which version of the schema it has.

A file is recognised by SQLite's application_id in its header, read as plain bytes, so that a file
that is not ours is refused before SQLite touches it. `user_version` is the version.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import apsw
import msgspec
from apsw import sqlite_extra

from plumbline_db import backups, lock, user_files
from plumbline_db.backups import DamagedError
from plumbline_db.blobs import records_blob
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    ClockError,
    ClockModel,
    ClockSync,
    ConfigRecord,
    KnobReading,
    Nrep,
    Order,
    Overlap,
    OverlapLatency,
    OverlapTrace,
    PingPong,
    ProbeRecord,
    RankSamples,
    Refused,
    Samples,
    Transit,
)
from plumbline_db.records import by_number

_VIEWS = ("measured_case", "launch_median", "sample")
# The tables to drop, those that refer to others first.
_OLD_TABLES = (
    *("series", "shape", "rank_series", "summary", "nrep", "refusal", "transit", "measurement"),
    *("run_configuration", "block_order", "clock_sync", "clock_model", "clock_error", "pingpong"),
    *("host_load", "overlap", "overlap_latency", "overlap_trace"),
)
_NEW = ("run", "notice", "cell_time", "measured_case", "launch_median")
_SUMMARY = """summary.n, summary.least_ns, quartile_1_ns, median_ns, quartile_3_ns,
              percentile_95_ns, greatest_ns"""
_RUN = """number, id, suite, sequence, failure, reason, failed_case, under_way, argv, environment,
          plan, stderr, started, seconds, timed_seconds, member, visit, header"""
_LOAD = """(SELECT json_object('record', 'load', 'hosts', json_group_array(json_object(
                'host', host, 'load_start', load_start, 'load_end', load_end,
                'busy_seconds', busy_seconds, 'own_seconds', own_seconds,
                'stolen_seconds', stolen_seconds)))
            FROM host_load WHERE host_load.run = old.number HAVING count(*) > 0)"""
_CELL_TIMES = f"""INSERT INTO cell_time
    SELECT m.run, m.case_id, m.planned_case, m.outcome, m.detail, refusal.reason,
           coalesce(transit.blocks, 0),
           NOT EXISTS (SELECT 1 FROM json_each(shape.layout, '$.own') AS own
                       WHERE json_extract(own.value, '$[0]') = 'settled'),
           {_SUMMARY}
    FROM measurement m LEFT JOIN refusal ON refusal.measurement = m.number
    LEFT JOIN transit ON transit.measurement = m.number
    LEFT JOIN summary ON summary.measurement = m.number
    LEFT JOIN series ON series.measurement = m.number
    LEFT JOIN shape ON shape.number = series.shape"""  # noqa: S608
# The fields of Samples that were stored as values, or as flags for unusual values.
_USUAL = {"late": 0, "overrun": 0, "window_ns": 0, "budget_spent": False, "settled": True}


def convert(connection: apsw.Connection, statements: dict[str, str]) -> None:
    """Bring a file of schema 1 to schema 2, inside the caller's transaction, without checks of
    foreign keys. `statements` make the tables and views of schema 2, by name."""
    for view in _VIEWS:
        connection.execute(f"DROP VIEW {view}")
    connection.pragma("legacy_alter_table", True)  # others refer to `run`, not to what it was
    connection.execute("ALTER TABLE run RENAME TO old")
    connection.execute("ALTER TABLE notice RENAME TO old_notice")
    connection.pragma("legacy_alter_table", False)
    for name in _NEW:
        connection.execute(statements[name])
    connection.execute(
        f"""INSERT INTO run SELECT {_RUN}, {_LOAD}, footer, x'' FROM old ORDER BY number"""  # noqa: S608
    )
    for (number,) in list(connection.execute("SELECT number FROM run ORDER BY number")):
        records = records_blob(_Launch(connection, number).records())
        connection.execute("UPDATE run SET records = ? WHERE number = ?", (records, number))
    connection.execute(_CELL_TIMES)
    connection.execute(
        """INSERT INTO notice SELECT number, time, iif(way = 'mail', 'command', way), subject,
                  state, detail FROM old_notice"""
    )
    for table in (*_OLD_TABLES, "old", "old_notice"):
        connection.execute(f"DROP TABLE {table}")


def _join_coverage(connection: apsw.Connection, statement: str) -> None:
    """Bring a file of schema 2 to schema 3: a place is one row of the table of `statement`."""
    stages: dict[int, dict[str, dict[str, Any]]] = {}
    for row in _by_column(connection, "SELECT * FROM coverage_stage ORDER BY stage DESC"):
        place, stage = stages.setdefault(row.pop("coverage"), {}), row.pop("stage")
        place[stage] = {"guidelines": {}, "shares": []} | row
    for row in sorted(
        _by_column(connection, "SELECT * FROM coverage_guideline"),
        key=lambda row: by_number(row["guideline"]),
    ):
        guidelines = stages[row.pop("coverage")][row.pop("stage")]["guidelines"]
        name = row.pop("guideline")
        guidelines[name] = row
    for row in sorted(
        _by_column(connection, "SELECT * FROM coverage_share"),
        key=lambda row: by_number(row["campaign"]),
    ):
        stages[row.pop("coverage")][row.pop("stage")]["shares"].append(row)
    places = _by_column(connection, "SELECT * FROM coverage")
    for table in ("coverage_share", "coverage_guideline", "coverage_stage", "coverage"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute(statement)
    for row in places:
        row["stages"] = msgspec.json.encode(stages.get(row.pop("number"), {})).decode()
        columns = ", ".join(row), ", ".join(f":{name}" for name in row)
        connection.execute(f"INSERT INTO coverage ({columns[0]}) VALUES ({columns[1]})", row)  # noqa: S608


def _widen_pairs(connection: apsw.Connection, statement: str) -> None:
    """Bring a file of schema 3 to schema 4: `statement` knows two classes of pairs more."""
    connection.execute("ALTER TABLE hockney RENAME TO old_hockney")
    connection.execute(statement)
    connection.execute("INSERT INTO hockney SELECT * FROM old_hockney")
    connection.execute("DROP TABLE old_hockney")


def _by_column(connection: apsw.Connection, sql: str) -> list[dict[str, Any]]:
    rows = connection.execute(sql)
    return [
        {column[0]: value for column, value in zip(rows.description, row, strict=True)}
        for row in rows
    ]


class _Launch:
    """The rows of the launch numbered `run`."""

    def __init__(self, connection: apsw.Connection, run: int) -> None:
        self._connection = connection
        self._run = run

    def _rows(self, sql: str, *more: object) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(sql, (self._run, *more)))

    def _all_of(self, table: str, kind: type[msgspec.Struct]) -> Iterator[Any]:
        fields = kind.__struct_fields__
        where = "WHERE run = ? ORDER BY position"
        for row in self._rows(f"SELECT {', '.join(fields)} FROM {table} {where}"):  # noqa: S608
            yield kind(*row)

    def records(self) -> list[ProbeRecord]:
        """Return them as schema 1 gave them back."""
        return [
            *self._configurations(),
            *self._cases(),
            *self._all_of("clock_sync", ClockSync),
            *self._all_of("clock_model", ClockModel),
            *self._clock_errors("start"),
            *self._orders(),
            *self._samples(),
            *self._outcomes(),
            *self._round_trips(),
            *self._overlaps(),
            *self._clock_errors("end"),
        ]

    def _configurations(self) -> Iterator[ProbeRecord]:
        for id, in_force, reason, readings in self._rows(
            """SELECT id, in_force, reason, readings FROM run_configuration
               WHERE run = ? ORDER BY id"""
        ):
            knob_readings = msgspec.json.decode(readings, type=dict[str, KnobReading])
            yield ConfigRecord(id, bool(in_force), reason, knob_readings)

    def _cases(self) -> Iterator[ProbeRecord]:
        fields = ", ".join(CaseRecord.__struct_fields__[1:])
        rows = self._rows(
            f"""SELECT case_id, {fields}, begun, outcome, detail
                FROM measurement m JOIN planned_case p ON p.number = m.planned_case
                WHERE run = ? ORDER BY m.number"""  # noqa: S608
        )
        for row in rows:
            yield CaseRecord(*row[:-3])
        for case, *_, begun, outcome, detail in rows:
            if begun:
                yield Begin(case)
            if outcome is not None:
                yield Check(case, outcome, detail)

    def _clock_errors(self, moment: str) -> Iterator[ProbeRecord]:
        for when, since, *lists in self._rows(
            """SELECT moment, since_ns, errors_ns, bounds_ns FROM clock_error
               WHERE run = ? AND moment = ?""",
            moment,
        ):
            errors, bounds = (msgspec.json.decode(text, type=list[int]) for text in lists)
            yield ClockError(when, since, errors, bounds)

    def _orders(self) -> Iterator[ProbeRecord]:
        times: dict[tuple[int, int], list[list[int]]] = {}
        for block, case, n, least, packed in self._rows(
            """SELECT r.block, m.case_id, r.n, r.least_ns, r.samples
               FROM measurement m JOIN rank_series r ON r.measurement = m.number
               WHERE m.run = ? ORDER BY r.block, m.case_id, r.rank"""
        ):
            times.setdefault((block, case), []).append(_unpacked(least, packed, n))
        for block, cases in self._rows(
            "SELECT block, cases FROM block_order WHERE run = ? ORDER BY block"
        ):
            order = _listed(cases)
            yield Order(block, order)
            for case in order:
                if (block, case) in times:
                    yield RankSamples(case, block, times.pop((block, case)))
        for (block, case), ns in times.items():
            yield RankSamples(case, block, ns)

    def _samples(self) -> Iterator[ProbeRecord]:
        for case, layout, warmup_least, warmup, least, samples, notes in self._rows(
            """SELECT m.case_id, shape.layout, warmup_least_ns, warmup, least_ns, samples, notes
               FROM measurement m JOIN series s ON s.measurement = m.number
               JOIN shape ON shape.number = s.shape WHERE m.run = ? ORDER BY m.number"""
        ):
            shape = msgspec.json.decode(layout)
            blocks = shape["blocks"]
            own, counts = _notes(shape, notes)
            yield Samples(
                case,
                [block[0] for block in blocks],
                [block[2] for block in blocks],
                [block[4] for block in blocks],
                _unpacked(warmup_least, warmup, shape["warmups"]),
                _unpacked(least, samples, shape["samples"]),
                counts=counts,
                **own,
            )

    def _outcomes(self) -> Iterator[ProbeRecord]:
        of_case = """t JOIN measurement m ON m.number = t.measurement
                     WHERE m.run = ? ORDER BY m.number"""
        for case, nrep, ended_by, criteria in self._rows(
            f"SELECT m.case_id, nrep, ended_by, criteria FROM nrep {of_case}"  # noqa: S608
        ):
            yield msgspec.convert(
                {
                    "record": "nrep",
                    "case": case,
                    "nrep": nrep,
                    "ended_by": ended_by,
                    "criteria": msgspec.json.decode(criteria),
                },
                Nrep,
            )
        for row in self._rows(f"SELECT m.case_id, blocks FROM transit {of_case}"):  # noqa: S608
            yield Transit(*row)
        for row in self._rows(f"SELECT m.case_id, reason FROM refusal {of_case}"):  # noqa: S608
            yield Refused(*row)

    def _round_trips(self) -> Iterator[ProbeRecord]:
        for first, second, pair, size, trips in self._rows(
            """SELECT first, second, pair, bytes, round_trips FROM pingpong
               WHERE run = ? ORDER BY position"""
        ):
            yield PingPong(first, second, pair, size, _listed(trips))

    def _overlaps(self) -> Iterator[ProbeRecord]:
        latencies = [
            OverlapLatency(when, _listed(ns))
            for when, ns in self._rows(
                'SELECT "when", ns FROM overlap_latency WHERE run = ? ORDER BY position'
            )
        ]
        placed: dict[int, ProbeRecord] = {}
        for position, cell, rank, triple, part, names, *lists in self._rows(
            """SELECT position, cell, rank, triple, part, names, peers, numbers, "begin", "end"
               FROM overlap_trace WHERE run = ?"""
        ):
            events = msgspec.json.decode(names, type=list[str])
            peers, numbers, begin, end = map(_listed, lists)
            placed[position] = OverlapTrace(
                cell, rank, triple, part, events, peers, numbers, begin, end
            )
        for position, *row in self._rows(
            """SELECT position, cell, bench, bytes, sent, kernel, work_ns, test_ns, units,
                      latencies, halves, rank, function, requests, threads, helper, spare,
                      delivered, communication, computation, both
               FROM overlap WHERE run = ?"""
        ):
            placed[position] = Overlap(*row[:14], *map(bool, row[14:17]), *map(_listed, row[17:]))
        yield from (latency for latency in latencies if latency.when == "start")
        yield from (placed[position] for position in sorted(placed))
        yield from (latency for latency in latencies if latency.when == "end")


def _listed(stored: bytes) -> list[int]:
    """Return a list that stood alone: its width, the least value, the differences to it."""
    if not stored:
        return []
    least = int.from_bytes(stored[1:9], "little", signed=True)
    return _unpacked(least, stored[9:], (len(stored) - 9) // stored[0])


def _unpacked(least: int, stored: bytes, count: int) -> list[int]:
    """Return so many values: the least one, and how much more each is."""
    if not stored:
        return [least] * count
    width = len(stored) // count
    return [
        least + int.from_bytes(stored[at : at + width], "little")
        for at in range(0, width * count, width)
    ]


def _notes(
    shape: dict[str, Any], notes: bytes
) -> tuple[dict[str, list[Any]], dict[str, list[int]]]:
    """Return what stood beside the blocks of a case: fields of Samples, and what was counted."""
    blocks, at = len(shape["blocks"]), 0
    own: dict[str, list[Any]] = {}
    counts: dict[str, list[int]] = {}
    for target, columns in ((own, shape["own"]), (counts, shape["counts"])):
        for name, width in columns:
            values = _unpacked(0, notes[at : at + width * blocks], blocks)
            at += width * blocks
            usual = _USUAL[name] if target is own else 0
            is_truth = isinstance(usual, bool)
            target[name] = [(value == 0) == usual for value in values] if is_truth else values
    return own, counts


# A checksum on each page of the file, checked whenever the page is read: SQLite's own `cksumvfs`
# (sqlite.org/cksumvfs.html), which apsw's wheels bring along. Other programs may read such a file;
# what they write into it counts as damage.

# The bytes that checksums take in each page; byte 20 of a file has this number.
_RESERVED_BYTES = 8


@cache
def _checksum_vfs() -> str:
    """The name of the VFS that computes and checks them."""
    with closing(apsw.Connection(":memory:")) as connection:
        try:
            sqlite_extra.load(connection, "cksumvfs")
        except (LookupError, sqlite_extra.NotAvailable, apsw.Error) as error:
            raise PlumblineError(
                f"this apsw has no page checksums ({error}): install its wheel, "
                "`pip install --force-reinstall --only-binary apsw apsw`"
            ) from error
    return "cksmvfs"


def add(connection: apsw.Connection) -> None:
    """The pages of a new file have them; one that has them already stays as it is."""
    reserved = ctypes.c_int(_RESERVED_BYTES)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(reserved))


class OtherSchemaError(PlumblineError):
    """The file was made by a Plumbline with other tables: it is whole, and not for this one."""


APPLICATION_ID = 0x504C4D42  # "PLMB"
_MAGIC = b"SQLite format 3\x00"


VERSION = 4


@cache
def text() -> str:
    """Return the SQL that makes the tables in an empty file."""
    return resources.files("plumbline_db").joinpath("schema.sql").read_text("utf-8")


def recognise(path: Path) -> bool:
    """True: a Plumbline database. False: an empty file, which may become one. Else an error:
    DamagedError where it was ours, by what lies beside it."""
    head = _head(path)
    if not head and backups.newest_backup(path) is None:
        return False
    if head[:16] != _MAGIC or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        what = "an SQLite database of another program" if head[:16] == _MAGIC else "no database"
        if lock.beside(path).exists():
            raise DamagedError(path, f"by its first bytes it is {what}")
        raise PlumblineError(
            f"{path} is {what}, not Plumbline's: it was left as it is; name another file with --db"
        )
    if head[20] != _RESERVED_BYTES:
        raise DamagedError(path, "by its first bytes its pages have no checksums")
    return True


def is_database(path: Path) -> bool:
    """Return whether it is a database, of whatever program."""
    return _head(path)[:16] == _MAGIC


def has_log(path: Path) -> bool:
    """Return whether what is written goes to a write-ahead log; not so in a backup."""
    return _head(path)[18:19] == b"\x02"


def _head(path: Path) -> bytes:
    try:
        with user_files.open_file(path) as file:
            return file.read(100)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}") from error


def version(connection: apsw.Connection) -> int:
    """Return that of the file; 0 for an empty one."""
    return int(connection.pragma("user_version"))


def require_readable(path: Path, version_found: int, *, write: bool) -> None:
    """Refuse a file of another version of the code; one that is to be written may be older."""
    version_known = VERSION
    if version_found > version_known:
        raise OtherSchemaError(
            f"{path} was made by a newer Plumbline (schema {version_found}), this one knows "
            "schemas up to "
            f"{version_known}: use the newer Plumbline, or name another file with --db"
        )
    if version_found < version_known and not write:
        raise OtherSchemaError(
            f"{path} was made by an older Plumbline (schema {version_found}), this one reads "
            "schema "
            f"{version_known}: copy the file; then any command that writes brings it up to date"
        )


def differences(connection: apsw.Connection) -> list[str]:
    """Return each table or index that is not as in a file that this version of the code makes."""
    statements_expected, statements_there = statements(), dict(connection.execute(_TABLES))
    differences_found = []
    for name in sorted(statements_expected.keys() | statements_there.keys()):
        if name not in statements_there:
            differences_found.append(f"table {name} is missing")
        elif name not in statements_expected:
            differences_found.append(f"table {name} is not part of this schema")
        elif statements_expected[name] != statements_there[name]:
            differences_found.append(f"table {name} differs from the schema")
    return differences_found


@cache
def statements() -> dict[str, str]:
    """Return what makes each table, view and index, by name."""
    with closing(apsw.Connection(":memory:")) as new:
        new.execute(text())
        return dict(new.execute(_TABLES))


def other_tables(path: Path, version_found: int, difference: str) -> OtherSchemaError:
    """Return what to raise for a whole file of a schema with this number and other tables."""
    return OtherSchemaError(
        f"{path} was made by an older Plumbline (schema {version_found} with other tables: "
        f"{difference}): "
        "read it with that Plumbline, or measure into another file with --db"
    )


def advance(connection: apsw.Connection) -> None:
    """Bring the file to this version of the code, or leave it as it is: one transaction."""
    keys = connection.pragma("foreign_keys")
    connection.pragma("foreign_keys", False)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version_found = version(connection)
        if version_found == 1:
            convert(connection, statements())
        if version_found in (1, 2):
            _join_coverage(connection, statements()["coverage"])
        if version_found in (1, 2, 3):
            _widen_pairs(connection, statements()["hockney"])
        elif version_found == 0:
            connection.execute(text())
        if version_found < VERSION:
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", VERSION)
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise
    finally:
        connection.pragma("foreign_keys", keys)


# Name and SQL of each table and index.
_TABLES = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
