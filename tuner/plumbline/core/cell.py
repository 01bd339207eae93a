"""Cells and sides: what is measured, searched and compared."""

from __future__ import annotations

import msgspec


class Target(msgspec.Struct, frozen=True, order=True):
    """A cell of the library's own calls: a function at a communication volume in bytes."""

    function: str
    bytes: int


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: a variant of a function at a communication volume, on the first
    `ranks` of the launch or, where that is 0, on all."""

    function: str
    variant: str
    bytes: int
    ranks: int = 0
