"""The time that MPI's own collective would save a run in place of one that is made by hand. Pure:
what calls take comes from a campaign (known_costs.py) or from a replay (replay.py).

What is made by hand takes `work_seconds`: that ranks wait for one that comes late no collective
changes. With more ranks than cores the recorder's own work is in it, where it keeps other ranks
from theirs: so what a replay takes is believed before what was recorded, where it is less."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal

from plumbline.core.plan import MESSAGE_FUNCTIONS_IN_BLOCKS
from plumbline.detect.findings import HandMade
from plumbline.detect.savings import Saved, Saving, SizeSaving
from plumbline.verify.significance.signed_rank import paired_shift

_NORMAL = 1.96  # of 95 %


def volume(finding: HandMade, size: int) -> int:
    """Bytes of a finding as the guidelines count them (docs/plan-and-records.md)."""
    if finding.function == "MPI_Barrier":
        return 0
    if finding.function in MESSAGE_FUNCTIONS_IN_BLOCKS:
        return size * finding.group_size
    if finding.function == "MPI_Alltoallv":
        return -(-size // finding.group_size)
    return size


def saving(
    finding: HandMade,
    source: Literal["campaign", "replay"],
    campaign: str,
    sizes: Sequence[SizeSaving],
) -> Saving | None:
    """None where nothing was measured."""
    if not sizes:
        return None
    spoken_for = sum(size.instances for size in sizes)
    replayed = [size.by_hand.seconds * size.instances for size in sizes if size.by_hand]
    per_group = 1 / max(1, len(finding.groups))
    tuned = any(size.tuned is not None for size in sizes)
    return Saving(
        source=source,
        campaign=campaign,
        replayed_seconds=sum(replayed) * per_group if replayed else None,
        default=_saved(finding, sizes, tuned=False),
        tuned=_saved(finding, sizes, tuned=True) if tuned else None,
        share=min(1.0, spoken_for / max(1, finding.instances)),
        sizes=tuple(sizes),
    )


def _saved(finding: HandMade, sizes: Sequence[SizeSaving], *, tuned: bool) -> Saved:
    """Return that of a replay what its launches saved, or as much less as the recording took less;
    else the difference to what was recorded."""
    calls = [(size.tuned if tuned and size.tuned else size.default, size) for size in sizes]
    spoken_for = sum(size.instances for size in sizes) / max(1, finding.instances)
    by_hand = finding.work_seconds * min(1.0, spoken_for)
    own, scale = by_hand * _spread(finding.instance_seconds), 1 / max(1, len(finding.groups))
    replayed = scale * sum(size.by_hand.seconds * size.instances for size in sizes if size.by_hand)
    if replayed:
        scale *= min(1.0, by_hand / replayed)
        by_hand, own = min(by_hand, replayed), 0.0
    if all(size.in_run for size in sizes):
        return _of_launches(sizes, scale, tuned=tuned)
    parts = [scale * size.instances * call.seconds for call, size in calls]
    faster = [scale * size.instances * (call.seconds - call.low_seconds) for call, size in calls]
    slower = [scale * size.instances * (call.high_seconds - call.seconds) for call, size in calls]
    seconds = by_hand - sum(parts)
    # Errors of sizes are independent.
    return Saved(
        seconds,
        seconds - math.hypot(own, *slower),
        seconds + math.hypot(own, *faster),
    )


def _of_launches(sizes: Sequence[SizeSaving], scale: float, *, tuned: bool) -> Saved:
    """Both sides are of the same launches, and so are all sizes: what makes a launch slow is in
    their difference once."""
    of_sizes = [
        [scale * size.instances * saved for saved in (tuned and run.tuned) or run.default]
        for size in sizes
        if (run := size.in_run)
    ]
    return Saved(*paired_shift([sum(launch) for launch in zip(*of_sizes, strict=True)]))


def _spread(seconds: Sequence[float]) -> float:
    """Half the interval of the mean of instances, over it."""
    if len(seconds) < 2 or not sum(seconds):
        return 0.0
    mean = statistics.fmean(seconds)
    return _NORMAL * statistics.stdev(seconds) / math.sqrt(len(seconds)) / mean
