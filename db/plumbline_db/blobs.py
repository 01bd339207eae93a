"""Times as SQLite keeps them: 64-bit little-endian integers, nanoseconds, in their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def blob(times_ns: Sequence[int]) -> bytes:
    """OverflowError when a time does not fit 64 bits."""
    return np.asarray(times_ns, dtype="<i8").tobytes()


def times(stored: bytes) -> list[int]:
    """The inverse of `blob`."""
    return [int(value) for value in array(stored)]


def array(stored: bytes) -> NDArray[np.int64]:
    """As `times`, read-only."""
    return np.frombuffer(stored, "<i8").astype(np.int64, copy=False)
