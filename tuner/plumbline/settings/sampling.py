"""Settings that say how many samples are taken, how long one launch may take, and how long samples
are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from plumbline.core.unmeasured import Unmeasured
from plumbline.system.limits import MOST
from plumbline_db.old_samples import Policy

LAUNCHES_MAX = 30
# With so many launches a signed-rank test can show a large difference in one of about 20 cells.
FEW_CELLS = 9

# A simulated machine repeats itself in every launch, and nearly in every repetition. Its launches
# take as long as the simulator needs, not the simulated time.
SIMULATED: dict[str, float] = {"launches": 1, "launches_max": 1, "blocks": 1, "reps": 1}
SIMULATED |= {"precision": 0.0}
SIMULATED |= {"launch_timeout_seconds": 3600.0}


class Sampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The amount that is measured; a simulated machine, which repeats itself, does it once."""

    launches: int = 6
    """Launches (or pairs of launches) before the first decision; only undecided cells get more."""
    launches_max: int = 0
    """The most launches of undecided cells; default: 30, or twice `launches`."""
    blocks: int = 12
    """Passes over all cases in a launch, each in its own random order."""
    reps: int = 4
    """Samples of a case in a block."""
    precision: float = 0.0125
    """A case is complete in a launch once the standard error of its median is below this; 0:
    never."""
    seed: int = 1
    """Seed of orders and data."""
    launch_timeout_seconds: Unmeasured[float] = 120.0
    """Seconds after which a launch is ended; default for a simulated machine: an hour."""

    def canonical(self) -> Sampling:
        most = self.launches_max or max(LAUNCHES_MAX, 2 * self.launches)
        return msgspec.structs.replace(self, launches_max=most)

    @property
    def of_few_cells(self) -> int:
        """The launches, or pairs of them, that judge cells too few to tell of each other."""
        return self.launches if self.launches_max == 1 else max(self.launches, FEW_CELLS)

    def problems(self, *, simulated: bool) -> Iterator[str]:
        if not simulated and self.launches < 6:
            yield "launches must be at least 6 (fewer cannot show anything)"
        if simulated and {self.launches, self.launches_max} != {1}:
            yield "launches and launches_max must be 1, for a simulated machine repeats itself"
        if 0 != self.launches_max < self.launches:
            yield "launches_max must be at least launches; leave it out for 30, or twice them"
        if max(self.launches, self.launches_max, self.blocks, self.reps) > MOST:
            yield f"launches, launches_max, blocks and reps must be at most {MOST}"
        if min(self.blocks, self.reps) < 1:
            yield "blocks and reps must be at least 1"
        if not 0 <= self.precision < 1:
            yield "precision must be at least 0 and below 1 (0.01: one per cent)"
        if not 0 < self.launch_timeout_seconds < math.inf:
            yield "launch_timeout_seconds must be a number of seconds, and positive"
        if self.seed < 0:
            yield "seed must not be negative"


class Keeping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whose samples stay when the campaign has ended ([database](database.md)); not given: all."""

    keep_days: Unmeasured[float | None] = None
    """Those of campaigns that ended fewer days ago, older ones become medians and quantiles."""
    keep_last: Unmeasured[int | None] = None
    """Those of so many last campaigns of each machine, library and layout."""

    @property
    def policy(self) -> Policy:
        """Return the policy: with both keys, samples stay that either of them keeps."""
        return Policy(self.keep_days, self.keep_last)

    def problems(self) -> Iterator[str]:
        if self.keep_days is not None and not 0 <= self.keep_days < math.inf:
            yield "keep_days must be a number of days, not negative"
        if self.keep_last is not None and self.keep_last < 1:
            yield "keep_last must be at least 1"
