"""Keys of a campaign file that change no measurement: how long one waits, what one spends, who
pays, where files of jobs lie. With other values it is the same campaign, and goes on with what is
there (going_on.py).

A key is marked where it is declared. What stays in doubt is not: two launches that are joined must
have been made alike."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")

_MARK = msgspec.Meta(extra={"measures": False})
Unmeasured = Annotated[T, _MARK]


def names(table: type[msgspec.Struct]) -> set[str]:
    """The keys of a table that are marked."""
    fields = msgspec.structs.fields(table)
    return {field.name for field in fields if _MARK in getattr(field.type, "__metadata__", ())}


def identifying(table: msgspec.Struct) -> dict[str, Any]:
    """Return what a table says, and the tables in it, but for these keys and for those at their
    defaults: a new key leaves the campaigns that do not name it what they are."""
    marked = names(type(table))
    values = {}
    for field in msgspec.structs.fields(table):
        value = getattr(table, field.name)
        usual = (
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        )
        if field.name not in marked and value != usual:
            inner = isinstance(value, msgspec.Struct)
            values[field.name] = identifying(value) if inner else msgspec.to_builtins(value)
    return values
