"""The messages of a recording as they are analysed: a column a field, in the order in which they
were sent, and the order of all sends and receives, in which nothing is received before it is
sent."""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core, kinds
from plumbline.detect.columns import (
    Indices,
    Mask,
    Rows,
    by_owner,
    classes,
    first_of_each,
    numbered,
    rows,
)
from plumbline.detect.kinds import Element, Flag
from plumbline.detect.recording import EVENT, Frame, Recording

_UNKNOWN = Flag.UNKNOWN_CONTENT | Flag.FAILED

_PAYLOAD_AT = int(EVENT.fields["payload"][1])  # type: ignore[index]

_WIDTHS = np.array([kinds.width(element) for element in Element], np.int64)


class Traffic(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Columns have a number a message. Ranks are world ranks. `points` are sends (2·message) and
    receives (2·message + 1), in causal order; `sent` and `received` are places in it."""

    recording: Recording
    source: Indices
    target: Indices
    comm: Indices
    tag: Indices
    bytes: Indices
    kind: Indices  # signature and bytes, numbered
    content: Indices  # contents numbered; equal where they are. Unknown ones have one each
    element: Indices
    from_address: Indices
    to_address: Indices
    from_gaps: Indices  # 1: not contiguous at the sender
    to_gaps: Indices
    send_site: Indices
    receive_site: Indices
    poly: Indices
    sent: Indices
    received: Indices
    sent_as: Indices  # the place of the send among all points of its rank
    points: Indices
    send_event: Indices
    receive_event: Indices

    def __len__(self) -> int:
        return len(self.source)

    @property
    def nprocs(self) -> int:
        return self.recording.nprocs

    def payload(self, messages: Indices) -> npt.NDArray[np.uint8]:
        """Shape (…, PAYLOAD): packed bytes, then zeros; zeros of longer messages."""
        return np.asarray(self.recording.events["payload"][self.send_event[messages]])

    @functools.cached_property
    def sent_by(self) -> Rows:
        """A rank's messages, in the order in which it sent them."""
        return by_owner(self.source, self.nprocs)

    def sent_of_kind(self, rank: int, kind: int) -> Indices:
        """A rank's messages of a kind, in the order in which it sent them."""
        rows, row_of = self._by_source_and_kind
        row = row_of.get((rank, kind))
        return np.zeros(0, np.int64) if row is None else rows[row]

    @functools.cached_property
    def _by_source_and_kind(self) -> tuple[Rows, dict[tuple[int, int], int]]:
        rows = classes(self.source, self.kind)
        firsts = rows.at[rows.first[:-1]]
        pairs = zip(self.source[firsts].tolist(), self.kind[firsts].tolist(), strict=True)
        return rows, {pair: row for row, pair in enumerate(pairs)}

    def pairs(self, messages: Indices) -> Indices:
        """Source and target as one number."""
        return self.source[messages] * self.nprocs + self.target[messages]

    def with_site(self, numbers: Indices, messages: Indices) -> Indices:
        """Numbers and call sites of sends as one number."""
        return numbers * (len(self.recording.call_sites) + 1) + self.send_site[messages] + 1

    @functools.cached_property
    def passed(self) -> core.Passed:
        """`struct pl_traffic`."""
        return core.Passed(
            count=len(self),
            ranks=self.nprocs,
            event_bytes=EVENT.itemsize,
            payload=_PAYLOAD_AT,
            **{name: getattr(self, name) for name in _COLUMNS.split()},
            width=_WIDTHS[self.element],
            events=np.ascontiguousarray(self.recording.events).view(np.uint8),
            crossed=self.crossed.view(np.uint8),
        )

    @functools.cached_property
    def ranks_of_comms(self) -> core.Passed:
        """Return by communicator; for the core."""
        return rows(comm.ranks for comm in self.recording.communicators).passed

    @functools.cached_property
    def functions(self) -> Indices:
        """Return by message the function that sends it: its lines belong together. -1: not
        known."""
        return self._of_innermost_frame(lambda frame: (frame.module, frame.function))

    @functools.cached_property
    def lines(self) -> Indices:
        """Return by message the place in the program that sends it, whoever has called that. -1:
        not known."""
        return self._of_innermost_frame(lambda frame: (frame.module, frame.address))

    def _of_innermost_frame(self, key: Callable[[Frame], tuple[str, str | int]]) -> Indices:
        number_of: dict[tuple[str, str | int], int] = {}
        frames = [site.frames[0] if site.frames else None for site in self.recording.call_sites]
        numbers = [
            -1 if frame is None else number_of.setdefault(key(frame), len(number_of))
            for frame in (*frames, None)  # the last one: a call site that is not known
        ]
        return np.array(numbers, np.int64)[self.send_site]

    @functools.cached_property
    def crossed(self) -> Mask:
        """Messages that one in the other direction, of the same function, has met: each was sent
        before the other one was there. So two ranks exchange something."""
        kind = numbered(self.comm, self.functions) * self.nprocs**2
        ways = numbered(kind + self.source * self.nprocs, self.target)
        heads = first_of_each(ways)
        direction = (kind + self.source * self.nprocs + self.target)[heads]
        back = (kind + self.target * self.nprocs + self.source)[heads]
        order = np.argsort(direction)
        place = order[np.minimum(np.searchsorted(direction[order], back), len(order) - 1)]
        place[(direction[place] != back) | (direction == back)] = -1
        posts = self.recording.columns["post_ns"][self.send_event]
        ends = self.recording.columns["end_ns"][self.receive_event]
        arguments = (len(self), posts, ends, ways, len(heads), place)
        return np.asarray(core.call("pl_crossed", *arguments)[0] != 0)

    def spans_ns(self, messages: Rows) -> tuple[Indices, Indices]:
        """Return by row: when the first of its messages was begun to be sent, or to be received;
        and when the last one was completed on both sides."""
        posts, ends_of = self.recording.columns["post_ns"], self.recording.columns["end_ns"]
        sends, receives = self.send_event[messages.at], self.receive_event[messages.at]
        begins = np.minimum(posts[sends], posts[receives])
        ends = np.maximum(ends_of[sends], ends_of[receives])
        firsts = messages.first[:-1]
        return np.minimum.reduceat(begins, firsts), np.maximum.reduceat(ends, firsts)


# The columns in the order in which pl_messages returns them.
_ANSWERED = (
    "source target comm tag bytes kind content element from_address to_address from_gaps to_gaps "
    "send_site receive_site poly sent received sent_as"
)
_COLUMNS = f"{_ANSWERED} points send_event"


def traffic(recording: Recording) -> Traffic:
    """All matched messages. O(n log n) in events."""
    columns, messages = recording.columns, recording.messages
    posts = columns["post_ns"][messages["send"]]
    order = np.argsort(posts, kind="stable")
    sends, receives = messages["send"][order], messages["receive"][order]
    points = _causal(recording, sends, receives)
    behind = points[points % 2 == 0] // 2  # messages in the order of their sends
    sends, receives = sends[behind], receives[behind]
    number = np.empty(len(behind), np.int64)
    number[behind] = np.arange(len(behind))
    points = 2 * number[points // 2] + points % 2
    events = core.records(recording.events)
    answers = core.call(
        "pl_messages", events, sends, receives, points, len(sends), recording.nprocs
    )
    named = dict(zip(_ANSWERED.split(), answers, strict=True))
    return Traffic(
        recording=recording, points=points, send_event=sends, receive_event=receives, **named
    )


def _causal(recording: Recording, sends: Indices, receives: Indices) -> Indices:
    """Return by time; where clocks let a message be received before it is sent, by what every rank
    did behind each other and by messages alone."""
    columns, count = recording.columns, len(sends)
    times = np.empty(2 * count, np.int64)
    times[0::2], times[1::2] = columns["post_ns"][sends], columns["end_ns"][receives]
    # A rank may post when a receive has just ended: at equal times the receive comes first.
    begins = (np.arange(2 * count) + 1) % 2
    in_time = np.argsort(2 * times + begins, kind="stable")
    if (times[1::2] > times[0::2]).all():
        return in_time
    ranks = np.empty(2 * count, np.int64)
    ranks[0::2], ranks[1::2] = columns["rank"][sends], columns["rank"][receives]
    rank_rows = by_owner(ranks[in_time], recording.nprocs)
    own = in_time[rank_rows.at]
    return core.call("pl_causal", 2 * count, recording.nprocs, times, rank_rows.first, own)[0]
