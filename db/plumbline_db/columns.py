"""Statements for a table whose columns are the fields of a record, and records in its rows.
Distinct knob sets are rows of one such table; the empty set is the library as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_origin

import msgspec

from plumbline_db.records import Record
from plumbline_db.statements import Statements

_Read = TypeVar("_Read", bound=Record)


def names(record: type[Record]) -> str:
    """`campaign, round, …`, in the order of the fields."""
    return ", ".join(record.__struct_fields__)


def renewed(record: type[Record], *but: str) -> str:
    """Return what follows SET: all columns `but` these."""
    return ", ".join(f"{name} = :{name}" for name in record.__struct_fields__ if name not in but)


def select(table: str, record: type[Record]) -> str:
    """All columns; the condition follows. `read` makes a record of a row."""
    return f"SELECT {names(record)} FROM {table} "  # noqa: S608


def values(record: Record, *but: str) -> dict[str, Any]:
    """Return the values by name, all `but` these; lists and dictionaries as JSON. Raises ValueError
    for NaN, which SQLite stores as NULL: nothing may become "unknown" without a reason."""
    value_by_name = {
        name: getattr(record, name) for name in record.__struct_fields__ if name not in but
    }
    if any(value != value for value in value_by_name.values()):
        raise ValueError(f"not a number in {record}")
    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else value
        for name, value in value_by_name.items()
    }


def read(record: type[_Read], row: Sequence[Any]) -> _Read:
    """Make a record of the columns of `select`."""
    read_values = list(row)
    for place, reader in _readers(record):
        read_values[place] = reader(read_values[place])
    return record(*read_values)


def put_row(db: Statements, table: str, row: Mapping[str, Any], then: str = "") -> Any:
    """Values by column; `then`: what follows. The first value of what that returns."""
    first_row = db.row(_insert(table, row) + then, row)
    return first_row[0] if first_row else None


def number(db: Statements, table: str, row: Mapping[str, Any]) -> int:
    """Return the number of the row with these values, which is made where there is none. Inside the
    caller's transaction."""
    key = (table, *row.values())
    if key not in db.numbers:
        same = " AND ".join(f"{name} = :{name}" for name in row)
        existing = db.row(f"SELECT number FROM {table} WHERE {same}", row)  # noqa: S608
        made = existing[0] if existing else put_row(db, table, row, "RETURNING number")
        db.numbers[key] = int(made)
    return db.numbers[key]


def put_rows(db: Statements, table: str, rows: Sequence[Mapping[str, Any]], then: str = "") -> None:
    """Values by column, which are the same columns in all."""
    if rows:
        db.many(_insert(table, rows[0]) + then, rows)


def _insert(table: str, columns: Iterable[str]) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    fields = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({fields}) "  # noqa: S608


def put(db: Statements, table: str, record: Record, then: str = "", **more: Any) -> Any:
    """A row of it, as `put_row`, with `more` columns or other values in its own."""
    return put_row(db, table, values(record) | more, then)


def put_list(db: Statements, table: str, records: Sequence[Record], **more: Any) -> None:
    """A row each, with their `position` in the list and `more` columns, equal in all."""
    rows = [values(record) | more | {"position": at} for at, record in enumerate(records)]
    put_rows(db, table, rows)


def renew(db: Statements, table: str, number: int, record: Record) -> None:
    """All columns of the row of that number."""
    sql = f"UPDATE {table} SET {renewed(type(record))} WHERE number = :number"  # noqa: S608
    with db.transaction():
        db.rows(sql, values(record) | {"number": number})


def all_of(
    db: Statements,
    table: str,
    record: type[_Read],
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> list[_Read]:
    """The records of a table; `condition`: what follows (`WHERE … ORDER BY …`)."""
    return [read(record, row) for row in db.rows(select(table, record) + condition, values)]


def first_of(
    db: Statements,
    table: str,
    record: type[_Read],
    condition: str = "",
    values: Mapping[str, Any] | None = None,
) -> _Read | None:
    return next(iter(all_of(db, table, record, condition, values)), None)


def numbered(
    db: Statements, table: str, record: type[_Read], condition: str, values: Mapping[str, Any]
) -> list[tuple[int, _Read]]:
    """Return what `all_of` does, each with the number of its row."""
    sql = f"SELECT number, {names(record)} FROM {table} {condition}"  # noqa: S608
    return [(number, read(record, row)) for number, *row in db.rows(sql, values)]


@cache
def _readers(record: type[Record]) -> list[tuple[int, Callable[[Any], Any]]]:
    """Return the readers of those columns that SQLite has as something else."""
    types = [field.type for field in msgspec.structs.fields(record)]
    flags: list[tuple[int, Callable[[Any], Any]]] = [
        (place, bool) for place, type in enumerate(types) if type is bool
    ]
    return flags + [
        (place, msgspec.json.Decoder(type).decode)
        for place, type in enumerate(types)
        if get_origin(type) in (list, dict)
    ]


def configuration(db: Statements, knobs: Mapping[str, str]) -> int:
    """The row of this knob set, made when it is not there. Inside a transaction of the caller."""
    text = msgspec.json.encode(dict(sorted(knobs.items()))).decode()
    return number(db, "configuration", {"knobs": text})


def knobs(text: str) -> dict[str, str]:
    """A stored knob set."""
    return msgspec.json.decode(text, type=dict[str, str])
