"""How long samples are kept. With neither key nothing is thrown away; with both, samples stay that
either of them keeps."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from plumbline.core.unmeasured import Unmeasured
from plumbline_db.old_samples import Policy


class Keeping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whose samples stay when the campaign has ended ([database](database.md)); not given: all."""

    keep_days: Unmeasured[float | None] = None
    """Those of campaigns that ended fewer days ago, older ones become medians and quantiles."""
    keep_last: Unmeasured[int | None] = None
    """Those of so many last campaigns of each machine, library and layout."""

    @property
    def policy(self) -> Policy:
        return Policy(self.keep_days, self.keep_last)

    def problems(self) -> Iterator[str]:
        if self.keep_days is not None and not 0 <= self.keep_days < math.inf:
            yield "keep_days must be a number of days, not negative"
        if self.keep_last is not None and self.keep_last < 1:
            yield "keep_last must be at least 1"
