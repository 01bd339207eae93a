"""Plumbline's own version, and dotted version numbers as MPI libraries write them (4.1.4,
5.0.0rc2) compared."""

from __future__ import annotations

import re

PLUMBLINE = "0.1.0"


def key(version: str) -> tuple[int, ...]:
    """Sort key: the numeric fields, so that 5.0 equals 5.0.0; anything after the first non-numeric
    part is left out."""
    match = re.match(r"[0-9]{1,18}(?:\.[0-9]{1,18})*(?![0-9])", version)
    if match is None:
        raise ValueError(f"not a version number: {version[:100]!r}")
    fields = [int(field) for field in match[0].split(".")]
    while fields and fields[-1] == 0:
        fields.pop()
    return tuple(fields)


def at_least(version: str, bound: str) -> bool:
    return key(version) >= key(bound)
