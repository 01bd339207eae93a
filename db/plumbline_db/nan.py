"""Keeps NaN out. SQLite stores it as NULL, and nothing may become "unknown" without a reason."""

from __future__ import annotations

import math


def refuse(where: object, *numbers: float | None) -> None:
    """ValueError when one of the numbers of a record is NaN; None is fine."""
    if any(number is not None and math.isnan(number) for number in numbers):
        raise ValueError(f"not a number in {where}")
