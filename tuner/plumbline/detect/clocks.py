"""One clock for all ranks: rank 0's. Ranks that share a kernel share a clock, so theirs is compared
by the one of them whose round trip to rank 0 was the shortest, at the beginning and at the end;
between the two the difference changes evenly."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import msgspec
import numpy as np

from plumbline.detect.columns import Indices
from plumbline.detect.record_file import Offset, RankFile


class Clock(msgspec.Struct, frozen=True):
    """Differences of a host's clock to rank 0's, of which none, one or two are known."""

    offsets: tuple[Offset, ...]

    @property
    def error_ns(self) -> int:
        """Half of the longer round trip: messages may have taken all of it one way."""
        return max((offset.round_trip_ns // 2 for offset in self.offsets), default=0)

    def on_rank_0(self, times: Indices) -> Indices:
        if not self.offsets:
            return times
        first, last = self.offsets[0], self.offsets[-1]
        elapsed = last.at_ns - first.at_ns
        if elapsed <= 0:
            return times + first.offset_ns
        drift = (last.offset_ns - first.offset_ns) / elapsed
        drifted = np.rint((times - first.at_ns) * drift).astype(np.int64)
        return np.asarray(times + first.offset_ns + drifted)


def clocks(files: Sequence[RankFile]) -> list[Clock]:
    """One a file. Where rank 0's own file is missing times stay as they are."""
    reference = next((file.boot for file in files if file.rank == 0), "")
    known: dict[str, Clock] = {reference: Clock(())}
    for boot in {file.boot for file in files} - {reference}:
        same = [file for file in files if file.boot == boot]
        chosen: list[Offset] = []
        for at in (0, 1):
            candidates = [file.offsets[at] for file in same if len(file.offsets) > at]
            if candidates:
                chosen.append(min(candidates, key=attrgetter("round_trip_ns")))
        known[boot] = Clock(tuple(chosen))
    return [known[file.boot] for file in files]
