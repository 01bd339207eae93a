"""When a guideline is violated."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec


class Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a guideline is violated."""

    alpha: float = 0.05
    """The adjusted p-value of a violation is below this."""
    tolerance: float = 0.05
    """Slower by less than this share is no violation."""

    def problems(self) -> Iterator[str]:
        if not 0 < self.alpha < 1:
            yield "alpha must lie between 0 and 1"
        if not 0 <= self.tolerance < 1:
            yield "tolerance must lie between 0 and 1"
