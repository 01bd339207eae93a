"""Hints at what a wrong key or value should have been: the message of a converter, with the names
and words that are legal in its place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import inspect

Fields = Mapping[str, inspect.Type]
"""What each key of a table takes."""

SOME_KEY = "[...]"
"""In a message: in a table whose keys anybody may choose."""

_NAMED = {"int": int, "str": str, "float": float, "bool": bool, "array": list, "object": dict}
_WHERE = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`$")


def fields_of(struct: type[Any]) -> Fields:
    return _fields(inspect.type_info(struct))


def told(message: str, fields: Fields) -> tuple[str, tuple[str | int, ...]]:
    """Return what is wrong, in words, and where: keys and indices from the outermost table on.
    `message` is msgspec's; `fields` are those of that table."""
    where = _WHERE.search(message)
    message = _WHERE.sub("", message).replace(" | null", "")  # TOML has none
    place = tuple(_steps(where[1])) if where else ()
    type_there = _type_at(fields, place)
    if unknown := _UNKNOWN.match(message):
        names = _fields(type_there) if place else fields
        return f"unknown key `{unknown[1]}`{nearest(unknown[1], names)}", (*place, unknown[1])
    if missing := _MISSING.match(message):
        table = _named(place)
        return f"{f'{table}: ' if table else ''}key `{missing[1]}` is missing", place
    words = [str(value) for member in _members(type_there) for value in _literals(member)]
    legal = f"; it may be {', '.join(words)}" if words else ""
    key = _named(place)
    return f"{f'{key}: ' if key else ''}{message}{legal}", place


def with_key(message: str, values: Any) -> str:
    """Return the place with the key of such a table that it is about, where the kind of value
    tells."""
    where, got = _WHERE.search(message), re.search(r"got `(\w+)`", message)
    path = where[1] if where else ""
    before, _, after = path.partition(SOME_KEY)
    table = at(values, tuple(_steps(before)))
    if got is None or not isinstance(table, dict) or SOME_KEY in after:
        return message
    wrong = [
        key
        for key, value in table.items()
        if type(at(value, tuple(_steps(after)))) is _NAMED.get(got[1])
    ]
    return message.replace(SOME_KEY, f".{wrong[0]}") if len(wrong) == 1 else message


def at(values: Any, place: tuple[str | int, ...]) -> Any:
    """Return what stands there; None where nothing does."""
    for step in place:
        try:
            values = values[step]
        except (LookupError, TypeError):
            return None
    return values


def near_to(word: str, names: Iterable[str]) -> list[str]:
    """The names that may be meant, whatever their case, the nearest first."""
    import difflib

    lower = {name.lower(): name for name in names}
    return [lower[match] for match in difflib.get_close_matches(word.lower(), lower, cutoff=0.6)]


def instead(words: Iterable[str], names: Iterable[str]) -> str:
    """`; nearest: …` of what may be meant by words that are no names, else `; there are …`."""
    every_name = list(names)
    near = dict.fromkeys(near_name for word in words for near_name in near_to(word, every_name))
    return f"; nearest: {', '.join(near)}" if near else f"; there are {', '.join(every_name)}"


def nearest(word: str, names: Iterable[str]) -> str:
    """`; nearest: …; keys here: …`."""
    legal = sorted(names)
    near = near_to(word, legal)
    text = f"; nearest: {', '.join(near)}" if near else ""
    return f"{text}; keys here: {', '.join(legal)}" if legal else text


def _steps(path: str) -> Iterator[str | int]:
    for name, index in _STEP.findall(path):
        yield int(index) if index.isdigit() else name or index


def _named(place: tuple[str | int, ...]) -> str:
    """`function[0].name`: entries are counted from 0, as in the message of a converter."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return text.removeprefix(".")


def _type_at(fields: Fields, place: tuple[str | int, ...]) -> inspect.Type | None:
    if not place:
        return None
    inner_type = fields.get(str(place[0]))
    for step in place[1:]:
        inner_type = _inner(inner_type, step)
    return inner_type


def _inner(outer: inspect.Type | None, step: str | int) -> inspect.Type | None:
    for member in _members(outer):
        match member:
            case inspect.StructType():
                if step in (fields := _fields(member)):
                    return fields[str(step)]
            case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
                return item
            case inspect.DictType(value_type=value):
                return value
    return None


def _members(kind: inspect.Type | None) -> Iterator[inspect.Type]:
    match kind:
        case None:
            return
        case inspect.Metadata(type=inner):
            yield from _members(inner)
        case inspect.UnionType(types=types):
            for member_type in types:
                yield from _members(member_type)
        case _:
            yield kind


def _fields(kind: inspect.Type | None) -> Fields:
    return {
        field.encode_name: field.type
        for member in _members(kind)
        if isinstance(member, inspect.StructType)
        for field in member.fields
    }


def _literals(kind: inspect.Type) -> tuple[Any, ...]:
    match kind:
        case inspect.LiteralType(values=values):
            return tuple(values)
        case inspect.EnumType(cls=cls):
            return tuple(member.value for member in cls)
    return ()
