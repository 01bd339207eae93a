"""Checks of a campaign that somebody else has written: its records must have the types and values
of records, names that may stand in paths and commands, and texts of limited length. Readers decide
which of its contents may have an effect."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from plumbline_db import layout
from plumbline_db.contents import Content, Launch
from plumbline_db.errors import PlumblineError
from plumbline_db.record import Record
from plumbline_db.records import NOT_KNOWN, Library

# Some libraries have `+` in their names. No option of a command and no folder begins like this.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]{0,199}\Z")
# Names of suites and launches: the words of a suite, after their campaign.
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+=,@/*-]{0,599}\Z")
_TEXT_CHARACTERS = 2**22
_WORD_CHARACTERS = 2**16
_TEXTS = {"plan", "stderr", "settings", "site_rules"}
_TIMES = {"started", "finished", "time"}
_NAMES = {
    "Machine": ("id", "host"),
    "Library": ("id", "fingerprint", "family", "version"),
    "Campaign": ("id", "machine", "library_fingerprint"),
    "Transfer": ("campaign", "sha256", "host"),
    "Pruned": ("campaign",),
}
# The placeholder for a name that is missing in a program's output.
_NONE = {("Machine", "host"): NOT_KNOWN, ("Library", "id"): NOT_KNOWN, ("Library", "version"): ""}
_LABELS = {"Suite": ("name",), "Run": ("id", "suite")}


class UnbelievableError(ValueError):
    """A record that is none of ours."""


def require(part: Content | Launch) -> None:
    """Raises UnbelievableError; ValueError for settings that are none."""
    if isinstance(part, Content):
        records = [part.machine, part.library, part.campaign, *_records(part.conclusions)]
        layout.asked(part.campaign)
    else:
        records = [part.run, part.suite, *part.records]
        for case, values in part.summaries:
            if type(case) is not int or not all(_is_number(value) for value in values.values()):
                raise UnbelievableError(f"case {case!r:.50} has an invalid summary")
    for record in records:
        require_record(record)


def require_record(record: Record) -> None:
    """Raises UnbelievableError."""
    kind = type(record).__name__
    try:
        read = msgspec.convert(msgspec.to_builtins(record), type(record))
    except (ValueError, RecursionError, OverflowError) as error:
        raise UnbelievableError(f"{kind}: {_short(str(error))}") from error
    if read != record:
        raise UnbelievableError(f"{kind}: its values have wrong types")
    for field in record.__struct_fields__:
        value = getattr(record, field)
        is_named = field in _NAMES.get(kind, ()) and value != _NONE.get((kind, field))
        if is_named and not NAME.match(value):
            raise UnbelievableError(f"{kind}, {field}: {_short(value)} is not a name")
        if isinstance(value, str):
            _require_text(kind, field, value)
        else:
            for text in _texts(value):
                _require_text(kind, field, text)
    for field in _LABELS.get(kind, ()):
        if not _LABEL.match(getattr(record, field)):
            text = _short(getattr(record, field))
            raise UnbelievableError(f"{kind}, {field}: {text} is not a name")


def of_elsewhere(library: Library, host: str) -> Library:
    """Return the library as it is stored after an import. Programs are looked for under the prefix
    of a library, so the prefix names the other host and is no folder here."""
    return msgspec.structs.replace(library, prefix=f"{host}:{library.prefix}")


def _require_text(kind: str, field: str, text: str) -> None:
    most = _TEXT_CHARACTERS if field in _TEXTS else _WORD_CHARACTERS
    if len(text) > most:
        raise UnbelievableError(f"{kind}, {field}: a text of {len(text)} characters")
    if field in _TIMES and text:
        try:
            datetime.datetime.fromisoformat(text)
        except ValueError as error:
            raise UnbelievableError(f"{kind}, {field}: {_short(text)} is not a time") from error


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts inside a list, a dictionary or a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        if value and type(value[0]) is int:  # times
            return
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from _texts(getattr(value, field))


def _records(part: Any) -> Iterator[Record]:
    if isinstance(part, Record):
        yield part
    elif isinstance(part, dict):
        for key, inner in part.items():
            _require_text("table", "stage", key)
            yield from _records(inner)
    elif isinstance(part, (list, tuple)):
        for inner in part:
            yield from _records(inner)


def _is_number(value: object) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _short(text: object) -> str:
    """Return the start of a text as a literal that is safe to print."""
    shown = repr(text)
    return shown if len(shown) <= 100 else f"{shown[:100]}… ({len(shown)} characters)"


def problem(path: object, error: Exception) -> PlumblineError:
    """Return the error for a file that cannot be imported."""
    return PlumblineError(
        f"{path} is not what `plumbline db export` writes ({_short(str(error))}): fetch it again, "
        "or ask who made it"
    )
