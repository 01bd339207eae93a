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
    return {one.name for one in fields if _MARK in getattr(one.type, "__metadata__", ())}


def without(table: msgspec.Struct) -> dict[str, Any]:
    """What a table says, and the tables in it, but for these keys."""
    marked = names(type(table))
    values: dict[str, Any] = msgspec.to_builtins(table)
    for name in marked:
        values.pop(name, None)
    for name in values.keys() - marked:
        inner = getattr(table, name, None)
        if isinstance(inner, msgspec.Struct):
            values[name] = without(inner)
    return values
