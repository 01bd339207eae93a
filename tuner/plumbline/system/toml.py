"""Files in TOML that people write: read, or refused in one sentence that names the file. What its
keys mean others know."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plumbline_db.errors import UsageError

_MOST_BYTES = 1 << 20
_DEEPEST = 20  # tables in tables
_LARGEST = 2**63 - 1


def read(path: Path, name: str) -> dict[str, Any]:
    """`name` is what errors call it. Raises UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{name}: longer than {_MOST_BYTES >> 20} MiB, and no such file")
        values = tomllib.loads(data.decode().replace("\r\n", "\n"))
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from error
    except RecursionError as error:
        raise UsageError(f"{name}: it is nested too deeply") from error
    except ValueError as error:  # also bytes that are no UTF-8, and numbers without end
        raise UsageError(f"{name}: not a TOML file: {error}") from error
    for value in _values(name, values):
        if isinstance(value, str) and "\0" in value:
            raise UsageError(f"{name}: {value!r} has a NUL character")
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{name}: {value} is no number that anything can have here")
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise UsageError(f"{name}: a number is larger than {_LARGEST}")
    return values


def _values(name: str, values: dict[str, Any]) -> Iterator[Any]:
    """Keys and values of all tables and lists."""
    left: list[tuple[int, Any]] = [(0, values)]
    while left:
        depth, one = left.pop()
        if depth > _DEEPEST:
            raise UsageError(f"{name}: it is nested too deeply")
        if isinstance(one, dict):
            left += [(depth + 1, value) for value in (*one, *one.values())]
        elif isinstance(one, list):
            left += [(depth + 1, value) for value in one]
        else:
            yield one
