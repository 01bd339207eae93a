"""Statements for a table whose columns are the fields of a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, get_origin

import msgspec

from plumbline_db.record import Record

_Read = TypeVar("_Read", bound=Record)


def names(record: type[Record]) -> str:
    """`campaign, round, …`, in the order of the fields."""
    return ", ".join(record.__struct_fields__)


def insert(table: str, record: type[Record], *more: str, but: Sequence[str] = ()) -> str:
    """With a named parameter a column: `more` of them, `but` not all fields."""
    columns = [*more, *(name for name in record.__struct_fields__ if name not in but)]
    fields = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({fields}) "  # noqa: S608


def renewed(record: type[Record], *but: str) -> str:
    """What follows SET: all columns `but` these."""
    return ", ".join(f"{name} = :{name}" for name in record.__struct_fields__ if name not in but)


def update(table: str, record: type[Record]) -> str:
    """All columns; the condition follows."""
    return f"UPDATE {table} SET {renewed(record)} "  # noqa: S608


def select(table: str, record: type[Record]) -> str:
    """All columns; the condition follows. `read` makes a record of a row."""
    return f"SELECT {names(record)} FROM {table} "  # noqa: S608


def values(record: Record) -> dict[str, Any]:
    """By name; lists and dictionaries as JSON."""
    found = msgspec.structs.asdict(record)
    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else value
        for name, value in found.items()
    }


def read(record: type[_Read], row: Sequence[Any]) -> _Read:
    """Of the columns of `select`."""
    found = list(row)
    for place, reader in _readers(record):
        found[place] = reader(found[place])
    return record(*found)


@cache
def _readers(record: type[Record]) -> list[tuple[int, Callable[[Any], Any]]]:
    """Of the columns that SQLite has as something else."""
    types = [field.type for field in msgspec.structs.fields(record)]
    flags: list[tuple[int, Callable[[Any], Any]]] = [
        (place, bool) for place, type in enumerate(types) if type is bool
    ]
    return flags + [
        (place, msgspec.json.Decoder(type).decode)
        for place, type in enumerate(types)
        if get_origin(type) in (list, dict)
    ]
