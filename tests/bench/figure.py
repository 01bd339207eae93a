"""A figure that a bench tells."""

from __future__ import annotations

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """`of`: what it is made of."""

    name: str
    value: float
    unit: str
    of: str

    def line(self) -> str:
        return f"{self.name:44} {self.value:8.3g} {self.unit:10} {self.of}"
