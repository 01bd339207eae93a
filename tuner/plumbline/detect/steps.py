"""A recording of one rank as the calls that it made, one behind the other: for formats that tell of
calls and not of messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.recording import Recording


class TraceCall(NamedTuple):
    """One call. `begun` are events that it began, `completed` those that it completed (a blocking
    one does both); indices into Recording.events. What only begins is of no length."""

    start_ns: int
    end_ns: int
    begun: tuple[int, ...]
    completed: tuple[int, ...]


def steps(recording: Recording, rank: int, thread: int | None = None) -> list[TraceCall]:
    """Return by start, and what begins before what completes. Of all threads, unless one is
    named."""
    calls = [*_blocking(recording, rank, thread), *_nonblocking(recording, rank, thread)]
    return sorted(calls, key=lambda step: (step.start_ns, not step.begun, step.end_ns))


def _indices(recording: Recording, rank: int, thread: int | None, nonblocking: bool) -> list[int]:
    own = recording.of_rank(rank)
    events = recording.events[own]
    is_own = ((events["flags"] & Flag.NONBLOCKING) != 0) == nonblocking
    is_own &= (events["flags"] & Flag.CANCELLED) == 0
    if thread is not None:
        is_own &= events["thread"] == thread
    return [int(index) for index in np.flatnonzero(is_own) + own.start]


def _blocking(recording: Recording, rank: int, thread: int | None) -> Iterator[TraceCall]:
    """The halves of an exchange, or of a collective, are one call."""
    events = recording.events
    indices = _indices(recording, rank, thread, nonblocking=False)
    at = 0
    while at < len(indices):
        first = indices[at]
        together = [first]
        if events["flags"][first] & Flag.EXCHANGE or events["kind"][first] == EventKind.INPUT:
            together += [
                second for second in indices[at + 1 : at + 2] if _same(recording, first, second)
            ]
        at += len(together)
        start, end = int(events["post_ns"][first]), int(events["end_ns"][first])
        done = tuple(i for i in together if not events["flags"][i] & Flag.INCOMPLETE)
        yield TraceCall(start, end, tuple(together), done)


def _same(recording: Recording, first: int, second: int) -> bool:
    start, two = recording.events[first], recording.events[second]
    return bool(
        start["function"] == two["function"]
        and start["end_ns"] == two["end_ns"]
        and start["kind"] != two["kind"]
    )


def _nonblocking(recording: Recording, rank: int, thread: int | None) -> Iterator[TraceCall]:
    events = recording.events
    completions: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index in _indices(recording, rank, thread, nonblocking=True):
        post = int(events["post_ns"][index])
        yield TraceCall(post, post, (index,), ())
        if not events["flags"][index] & Flag.INCOMPLETE:
            key = (int(events["start_ns"][index]), int(events["end_ns"][index]))
            completions[key].append(index)
    for (start, end), completed in completions.items():
        yield TraceCall(start, end, (), tuple(completed))
