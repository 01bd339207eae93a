"""The order of names that have numbers in them, for people: GL2 before GL10."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(\d+)")


def by_number(name: str) -> tuple[tuple[int, str], ...]:
    """A key for `sorted`."""
    return tuple((int(part) if part.isdecimal() else -1, part) for part in _NUMBER.split(name))
