"""The messages of a recording as they are analysed: lists by message, in the order in which they
were sent, and the order of all sends and receives, in which nothing is received before it is
sent."""

from __future__ import annotations

import builtins
import heapq
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect.kinds import Flag
from plumbline.detect.recording import Recording

Indices = npt.NDArray[np.int64]

_UNKNOWN = Flag.UNKNOWN_CONTENT | Flag.FAILED


class Traffic(msgspec.Struct, frozen=True, eq=False):
    """Lists have an item a message. Ranks are world ranks. `points` are sends (2·message) and
    receives (2·message + 1), in causal order; `sent` and `received` are places in it."""

    recording: Recording
    source: list[int]
    target: list[int]
    comm: list[int]
    tag: list[int]
    bytes: list[int]
    kind: list[int]  # signature and bytes, numbered
    content: list[int]  # contents numbered; equal where they are. Unknown ones have one each
    element: list[int]
    from_address: list[int]
    to_address: list[int]
    from_gaps: list[bool]  # not contiguous at the sender
    to_gaps: list[bool]
    send_site: list[int]
    receive_site: list[int]
    sent: list[int]
    received: list[int]
    points: list[int]
    sent_as: list[int]  # the place of the send among all points of its rank
    by_source: dict[int, list[int]]
    send_event: Indices
    receive_event: Indices

    def sent_by(self, rank: int) -> list[int]:
        """A rank's messages, in the order in which it sent them."""
        return self.by_source.get(rank, [])

    def __len__(self) -> int:
        return len(self.source)

    def payload(self, message: int) -> builtins.bytes:
        """The packed bytes; of longer messages than a recording keeps nothing."""
        event = self.recording.events[self.send_event[message]]
        if self.bytes[message] > len(event["payload"]):
            return b""
        return bytes(event["payload"].tobytes()[: self.bytes[message]])

    def begin_ns(self, messages: Sequence[int]) -> int:
        """When the first of them was begun to be sent, or to be received."""
        events = self.recording.events
        return int(
            min(
                events["post_ns"][self.send_event[list(messages)]].min(),
                events["post_ns"][self.receive_event[list(messages)]].min(),
            )
        )

    def end_ns(self, messages: Sequence[int]) -> int:
        """When the last of them was completed on both sides."""
        events = self.recording.events
        return int(
            max(
                events["end_ns"][self.send_event[list(messages)]].max(),
                events["end_ns"][self.receive_event[list(messages)]].max(),
            )
        )


def traffic(recording: Recording) -> Traffic:
    """All matched messages. O(n log n) in events."""
    events, messages = recording.events, recording.messages
    order = np.argsort(events["post_ns"][messages["send"]], kind="stable")
    sends, receives = messages["send"][order], messages["receive"][order]
    points = _causal(events[sends], events[receives])
    behind = points[points % 2 == 0] // 2  # messages in the order of their sends
    sends, receives = sends[behind], receives[behind]
    number = np.empty(len(behind), np.int64)
    number[behind] = np.arange(len(behind))
    points = 2 * number[points // 2] + points % 2
    left, right = events[sends], events[receives]
    place = np.empty(len(points), np.int64)
    place[points] = np.arange(len(points))
    by_source: dict[int, list[int]] = {}
    for message, rank in enumerate(left["rank"].tolist()):
        by_source.setdefault(rank, []).append(message)
    flags = left["flags"] | right["flags"]
    return Traffic(
        recording=recording,
        source=left["rank"].tolist(),
        target=right["rank"].tolist(),
        comm=left["comm"].tolist(),
        tag=left["tag"].tolist(),
        bytes=left["bytes"].tolist(),
        kind=_numbered(left["signature"], left["bytes"]).tolist(),
        content=_contents(left, right, (flags & _UNKNOWN) != 0).tolist(),
        element=left["element"].tolist(),
        from_address=left["address"].tolist(),
        to_address=right["address"].tolist(),
        from_gaps=((left["flags"] & Flag.NOT_CONTIGUOUS) != 0).tolist(),
        to_gaps=((right["flags"] & Flag.NOT_CONTIGUOUS) != 0).tolist(),
        send_site=left["call_site"].tolist(),
        receive_site=right["call_site"].tolist(),
        sent=place[0::2].tolist(),
        received=place[1::2].tolist(),
        points=points.tolist(),
        sent_as=_by_rank(left["rank"], right["rank"], points, place)[0::2].tolist(),
        by_source=by_source,
        send_event=sends,
        receive_event=receives,
    )


def _by_rank(
    sources: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int32],
    points: Indices,
    place: Indices,
) -> Indices:
    """By point: its place among the points of its rank."""
    ranks = np.empty(len(points), np.int64)
    ranks[0::2], ranks[1::2] = sources, targets
    order = np.lexsort((place, ranks))
    firsts = np.searchsorted(ranks[order], ranks[order])
    found = np.empty(len(points), np.int64)
    found[order] = np.arange(len(points)) - firsts
    return found


def _numbered(*columns: npt.NDArray[np.void]) -> Indices:
    """Rows of columns, numbered so that equal ones have one number."""
    total = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        _, total = np.unique(total * len(values) + inverse.reshape(-1), return_inverse=True)
        total = total.reshape(-1)
    return total


def _contents(
    left: npt.NDArray[np.void], right: npt.NDArray[np.void], unknown: npt.NDArray[np.bool_]
) -> Indices:
    """Unknown ones, and those that changed on their way, are equal to no other. Types do not
    matter: what came as doubles may go on as bytes."""
    numbers = _numbered(left["content"], left["bytes"])
    apart = unknown | (left["content"] != right["content"]) | (left["bytes"] != right["bytes"])
    numbers[apart] = len(numbers) + np.flatnonzero(apart)
    return numbers


def _causal(left: npt.NDArray[np.void], right: npt.NDArray[np.void]) -> Indices:
    """By time; where clocks let a message be received before it is sent, by what every rank did
    behind each other and by messages alone."""
    count = len(left)
    times = np.empty(2 * count, np.int64)
    times[0::2], times[1::2] = left["post_ns"], right["end_ns"]
    # A rank may post when a receive has just ended: at one time what is received comes first.
    begins = np.arange(2 * count) % 2 == 0
    if (times[1::2] > times[0::2]).all():
        return np.lexsort((begins, times))
    ranks = np.empty(2 * count, np.int64)
    ranks[0::2], ranks[1::2] = left["rank"], right["rank"]
    return _sorted_by_cause(times, ranks)


def _sorted_by_cause(times: Indices, ranks: Indices) -> Indices:
    """Points of every rank in the order of its own clock, and no receive before its send; among
    those that may come next the earliest."""
    begins = np.arange(len(times)) % 2 == 0
    in_order = np.lexsort((begins, times, ranks)).tolist()
    lists: dict[int, list[int]] = {}
    for point in in_order:
        lists.setdefault(int(ranks[point]), []).append(point)
    heads = dict.fromkeys(lists, 0)
    waiting: dict[int, int] = {}
    ready: list[tuple[int, int, int]] = []
    done = np.zeros(len(times), bool)

    def offer(rank: int) -> None:
        if heads[rank] < len(lists[rank]):
            point = lists[rank][heads[rank]]
            if point % 2 and not done[point - 1]:
                waiting[point - 1] = rank
            else:
                heapq.heappush(ready, (int(times[point]), point, rank))

    for rank in lists:
        offer(rank)
    found: list[int] = []
    while ready:
        _, point, rank = heapq.heappop(ready)
        done[point] = True
        found.append(point)
        heads[rank] += 1
        offer(rank)
        if point in waiting:
            offer(waiting.pop(point))
    left = [point for point in in_order if not done[point]]  # circles: clocks of threads
    return np.array(found + left, np.int64)
