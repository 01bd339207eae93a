"""Assignments of a file: names and values, with the lines that say so."""

from __future__ import annotations

import msgspec


class Assignment(msgspec.Struct, frozen=True):
    """`value` is None where it is not known before the file runs. `exported`: programs that are
    started get it. `depends`: it stands under a condition."""

    line: int
    name: str
    value: str | None
    exported: bool = True
    depends: bool = False
