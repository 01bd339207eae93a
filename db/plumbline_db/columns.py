"""Statements for a table whose columns are the fields of a record."""

from __future__ import annotations

from typing import Any

import msgspec

from plumbline_db.record import Record


def names(record: type[Record]) -> str:
    """`campaign, round, …`, in the order of the fields."""
    return ", ".join(record.__struct_fields__)


def insert(table: str, record: type[Record]) -> str:
    """With a named parameter a column."""
    fields = ", ".join(f":{name}" for name in record.__struct_fields__)
    return f"INSERT INTO {table} ({names(record)}) VALUES ({fields}) "  # noqa: S608


def update(table: str, record: type[Record]) -> str:
    """All columns; the condition follows."""
    fields = ", ".join(f"{name} = :{name}" for name in record.__struct_fields__)
    return f"UPDATE {table} SET {fields} "  # noqa: S608


def values(record: Record) -> dict[str, Any]:
    """By name; dictionaries as JSON."""
    found = msgspec.structs.asdict(record)
    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, dict) else value
        for name, value in found.items()
    }
