"""Parameters of which the default run takes a sample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def by_default(few: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    """Return the `few` parameters of `make test` and the others, which `make test-alone` takes."""
    rows = (each if isinstance(each, tuple) else (each,) for each in others)
    return [*few, *(pytest.param(*row, marks=pytest.mark.alone) for row in rows)]
