"""Files in TOML that people write: read, or refused in one sentence that names file, line and key.
What keys mean others know; mistakes.py says what a wrong one should have been."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from plumbline.system import mistakes
from plumbline.system.words import LARGEST
from plumbline_db import user_files
from plumbline_db.errors import UsageError

_MOST_BYTES = 1 << 20
_DEEPEST = 20  # tables in tables
_KEYS = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*")

Anything = TypeVar("Anything")
Place = tuple[str | int, ...]
"""A key, or an entry of a list, from the outermost table on: `("function", 0, "name")`."""


class Document(msgspec.Struct, frozen=True):
    """A file as it was read. `name` is what errors call it; nothing was read where `text` is
    empty."""

    name: str
    text: str = ""
    values: dict[str, Any] = {}

    def convert(self, type: type[Anything], values: Mapping[str, Any] | None = None) -> Anything:
        """`values`: what became of those of the file. Raises UsageError."""
        try:
            return msgspec.convert(self.values if values is None else values, type)
        except msgspec.ValidationError as error:
            raise self.mistake(error, mistakes.fields_of(type), values) from error

    def mistake(
        self,
        error: msgspec.ValidationError,
        known: mistakes.Fields,
        values: Mapping[str, Any] | None = None,
    ) -> UsageError:
        """Return the error with the line, the key and what may stand there. `known` are the fields
        of the outermost table; `values` as above: entries of their lists need not be those of the
        file."""
        message = str(error)
        if mistakes.SOME_KEY in message:
            message = mistakes.with_key(message, self.values if values is None else values)
        problem, place = mistakes.told(message, known)
        line = self.line(place) if values is None else self._alone(place, values)
        return UsageError(f"{self.name}: {_at(line)}{problem}")

    def refused(self, problem: str, within: Place = ()) -> UsageError:
        """Return the error with the line of the first key that `problem` names, else that of the
        table `within`."""
        line = self.line(within) if within else None
        for word in _KEYS.findall(problem):
            line_of_key = self.line((*within, *word.split(".")))
            if line_of_key is not None:
                line = line_of_key
                break
        return UsageError(f"{self.name}: {_at(line)}{problem}")

    def line(self, place: Place) -> int | None:
        """Return where it stands, from 1 on: the first line of its statement. None: it does not."""
        if not place or mistakes.at(self.values, place) is None:
            return None
        lines = self.text.split("\n")
        low, high = 0, len(lines)  # the file is whole at its end, and holds it there
        while high - low > 1:
            middle = (low + high) // 2
            is_there = mistakes.at(_whole(lines, middle), place) is not None
            low, high = (low, middle) if is_there else (middle, high)
        return high

    def _alone(self, place: Place, values: Mapping[str, Any]) -> int | None:
        """The line of the one key of this name with this value that the file has; None: there are
        several."""
        key = place[-1] if place else None
        value_there = mistakes.at(values, place)
        places = [
            each
            for each, value in _places((), self.values)
            if each[-1] == key and type(value) is type(value_there) and value == value_there
        ]
        return self.line(places[0]) if len(places) == 1 and isinstance(key, str) else None


def read(path: Path, name: str) -> Document:
    """`name` is what errors call it. Raises UsageError."""
    try:
        with user_files.open_file(path) as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{name}: longer than {_MOST_BYTES >> 20} MiB, so not such a file")
        text = data.decode().replace("\r\n", "\n")
        document = Document(name, text, tomllib.loads(text))
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
    except RecursionError as error:
        raise UsageError(f"{name}: it is nested too deeply") from error
    except ValueError as error:  # also bytes that are no UTF-8, and numbers without end
        raise UsageError(f"{name}: not a TOML file: {error}") from error
    for value in _values(name, document.values):
        if isinstance(value, str) and "\0" in value:
            raise UsageError(f"{name}: {value!r} has a NUL character")
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{name}: {value} is not a valid number here")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UsageError(f"{name}: a number is larger than {LARGEST}")
    return document


def _at(line: int | None) -> str:
    return "" if line is None else f"line {line}: "


def _whole(lines: Sequence[str], count: int) -> dict[str, Any]:
    """Return what the first `count` lines hold: of a list that goes on, its entries so far; of
    another statement, all of it."""
    texts = ["\n".join(lines[:end]) for end in range(count, len(lines) + 1)]
    for text in (texts[0], f"{texts[0]}\n]", *texts[1:]):
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError):
            continue
    return {}


def _places(within: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """Each key and entry, with its value."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for step, member in inner:
        yield (*within, step), member
        yield from _places((*within, step), member)


def _values(name: str, values: dict[str, Any]) -> Iterator[Any]:
    """Keys and values of all tables and lists."""
    to_visit: list[tuple[int, Any]] = [(0, values)]
    while to_visit:
        depth, value_here = to_visit.pop()
        if depth > _DEEPEST:
            raise UsageError(f"{name}: it is nested too deeply")
        if isinstance(value_here, dict):
            to_visit += [(depth + 1, value) for value in (*value_here, *value_here.values())]
        elif isinstance(value_here, list):
            to_visit += [(depth + 1, value) for value in value_here]
        else:
            yield value_here
