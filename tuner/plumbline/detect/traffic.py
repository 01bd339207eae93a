"""The messages of a recording as they are analysed: a column a field, in the order in which they
were sent, and the order of all sends and receives, in which nothing is received before it is sent.
Instances are times that ranks did together what a collective does, or nearly so; classes are
messages that belong together."""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core, kinds
from plumbline.detect.core import (
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


def components(edges: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Ranks that edges connect, by their smallest rank."""
    parent: dict[int, int] = {}

    def top(rank: int) -> int:
        parent.setdefault(rank, rank)
        while parent[rank] != rank:
            parent[rank] = parent[parent[rank]]
            rank = parent[rank]
        return rank

    for first, second in edges:
        parent[top(first)] = top(second)
    groups: dict[int, list[int]] = {}
    for rank in sorted(parent):
        groups.setdefault(top(rank), []).append(rank)
    return sorted(tuple(group) for group in groups.values())


def partition(groups: Sequence[tuple[int, ...]], ranks: Sequence[int]) -> bool:
    """Return whether groups are all ranks, or rows and columns of them: equally large, without a
    common rank, and together everybody."""
    members = [rank for group in groups for rank in group]
    sizes = {len(group) for group in groups}
    return (
        len(sizes) == 1
        and min(sizes) >= SMALLEST_GROUP
        and len(members) == len(set(members)) == len(ranks)
        and set(members) == set(ranks)
    )


def described(group: Sequence[int]) -> str:
    """start:stride:count of ranks at equal distances, else a list."""
    strides = {right - lower for lower, right in itertools.pairwise(group)}
    if len(strides) == 1 and len(group) > 1:
        return f"{group[0]}:{next(iter(strides))}:{len(group)}"
    return ",".join(str(rank) for rank in group)


def split(groups: Sequence[tuple[int, ...]], ranks: Sequence[int]) -> str:
    """The colour and key of MPI_Comm_split that give these groups as C expressions of `rank`, the
    rank in the communicator that is split; "" where there is no simple one."""
    position = {rank: at for at, rank in enumerate(ranks)}
    if set(groups) == {tuple(sorted(ranks))}:
        return ""
    places = [sorted(position[rank] for rank in group) for group in groups]
    size = len(places[0])
    if all(
        places_of == list(range(places_of[0], places_of[0] + size)) and places_of[0] % size == 0
        for places_of in places
    ):
        return f"MPI_Comm_split(comm, rank / {size}, rank % {size}, &part)"
    stride = places[0][1] - places[0][0] if size > 1 else 0
    if stride and all(
        places_of == list(range(places_of[0], places_of[0] + stride * size, stride))
        and places_of[0] % (stride * size) < stride
        for places_of in places
    ):
        if stride * size == len(ranks):
            return f"MPI_Comm_split(comm, rank % {stride}, rank / {stride}, &part)"
        colour = f"rank / {stride * size} * {stride} + rank % {stride}"
        return f"MPI_Comm_split(comm, {colour}, rank, &part)"
    if len(groups) == 1:
        listed = " || ".join(f"rank == {place}" for place in places[0])
        if stride == 1 and places[0] == list(range(places[0][0], places[0][0] + size)):
            listed = f"rank >= {places[0][0]} && rank <= {places[0][-1]}"
        return f"MPI_Comm_split(comm, {listed} ? 0 : MPI_UNDEFINED, rank, &part)"
    return ""


Evidence = Literal["proved", "assumed", "weak"]

# An exchange of fewer ranks is a message, not a collective.
SMALLEST_GROUP = 3


class Instance(msgspec.Struct, frozen=True):
    """`messages` are in the order of their sends. `group` and `roots` are world ranks; of several
    roots each may have been it. `bytes` is what MPI calls the size: what each rank gives (gather),
    gets (scatter), or both; of an irregular one the total. `evidence`: *assumed* where a term that
    was never sent had to be inferred, *weak* where only what follows can make it a collective.
    `missing`: of an incomplete one, the ranks that had no part."""

    collective: str
    comm: int
    group: tuple[int, ...]
    messages: tuple[int, ...]
    bytes: int
    roots: tuple[int, ...] = ()
    irregular: bool = False
    operation: str = ""
    evidence: Evidence = "proved"
    missing: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def coverage(self) -> float:
        """The share of the group that had a part."""
        return len(self.group) / (len(self.group) + len(self.missing))


def last_received(traffic: Traffic, instance: Instance) -> int:
    return int(traffic.received[list(instance.messages)].max())


def messages_of(instances: Iterable[Instance]) -> Indices:
    """All messages of all of them, one behind the other."""
    every = itertools.chain.from_iterable(instance.messages for instance in instances)
    return np.fromiter(every, np.int64)


def in_order(messages: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(messages)))


# Messages that belong together, by what they share: one way to see it after the other, each among
# what the ways before it have left. Which of them are worth a look is told by
# tuner/detection/candidates.c.


class Shared(enum.IntFlag):
    """The things that messages of a class have in common besides their communicator."""

    NOTHING = 0
    KIND = 1
    SITE = 2
    TAG = 4
    BYTES = 8


WAYS = (Shared.SITE, Shared.TAG, Shared.NOTHING)
"""To see what belongs together: what is sent from one call site; with one tag; all of it."""


class ClassSearch(enum.IntEnum):
    """A search for something in classes."""

    BARRIERS = 0
    SURE_REDUCTIONS = 1
    REDUCTIONS = 2
    BRUCK = 3


def classes_of(traffic: Traffic, messages: Indices, shared: Shared) -> Rows:
    """Places in `messages` of those that have this in common, by class, in the order in which
    these come first."""
    return Rows(
        *core.call("pl_message_classes", traffic.passed, messages, len(messages), int(shared))
    )


def in_classes(
    traffic: Traffic,
    messages: Indices,
    ways: Sequence[Shared],
    search: ClassSearch,
    look: Callable[[int, tuple[int, ...], Indices], Iterable[Instance]],
) -> list[Instance]:
    """Return what `look` finds in classes, given a communicator, a group of its ranks that messages
    of the class connect, and these messages. Groups are all ranks of the communicator, or rows of
    them. The messages of what was found are in no later class."""
    unclaimed = messages
    instances: list[Instance] = []
    seen_hashes = np.zeros(0, np.int64)
    for shared in ways:
        arguments = (traffic.passed, unclaimed, len(unclaimed), int(shared), int(search))
        hashes, comms, group_first, groups, first, at = core.call(
            "pl_candidates", *arguments, traffic.ranks_of_comms, seen_hashes, len(seen_hashes)
        )
        seen_hashes = np.concatenate([seen_hashes, hashes])
        new: list[Instance] = []
        ranks, members = Rows(group_first, groups), Rows(first, at)
        for row, comm in enumerate(comms.tolist()):
            new += look(comm, tuple(ranks[row].tolist()), members[row])
        if new:
            instances += new
            taken = np.zeros(len(traffic), bool)
            taken[messages_of(new)] = True
            unclaimed = unclaimed[~taken[unclaimed]]
    return instances
