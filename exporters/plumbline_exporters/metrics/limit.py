"""The number of series that a scrape may have. What is left out is left out by whole places, so
that sums of a place are right or not there; what is of no place is always told."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

from plumbline_exporters.metrics.labels import PLACE

# The metrics whose newest time shows how recent a place is.
_TIME = "_timestamp_seconds"

Labels = tuple[str, ...]


def limited(metrics: Sequence[Metric], most: int) -> tuple[list[Metric], int]:
    """Return at most `most` series, or those that are of no place; and how many are left out."""
    if sum(len(metric.samples) for metric in metrics) <= most:
        return list(metrics), 0
    counts: dict[Labels | None, int] = {}
    newest: dict[Labels, float] = {}
    for metric in metrics:
        for sample in metric.samples:
            place = _place(sample)
            counts[place] = counts.get(place, 0) + 1
            if place is not None and sample.name.endswith(_TIME):
                newest[place] = max(sample.value, newest.get(place, 0.0))
    room = most - counts.pop(None, 0)
    kept: set[Labels | None] = {None}
    left_out = 0
    places = [place for place in counts if place is not None]
    for place in sorted(places, key=lambda each: (-newest.get(each, 0.0), each)):
        if counts[place] <= room:
            room -= counts[place]
            kept.add(place)
        else:
            room, left_out = 0, left_out + counts[place]
    return [_part(metric, kept) for metric in metrics], left_out


def _place(sample: Sample) -> Labels | None:
    """None: it is of no place."""
    labels = sample.labels
    if PLACE[0] not in labels or "nprocs" not in labels:
        return None
    return tuple(labels[name] for name in PLACE)


def _part(metric: Metric, kept: set[Labels | None]) -> Metric:
    part = Metric(metric.name, metric.documentation, metric.type, metric.unit)
    part.samples = [sample for sample in metric.samples if _place(sample) in kept]
    return part
