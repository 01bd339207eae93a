"""The messages of an instance in a form that can be played again: what each rank sends, receives
and waits for, in which order (lines `messages` of a plan)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from plumbline.detect.kinds import Element, EventKind, Flag, Mode
from plumbline.detect.traffic import Instance, Traffic

# At most so many sizes of a finding are replayed, and so many messages of a pattern.
MOST_SIZES, MOST_MESSAGES = 4, 4096

_NEVER = 1 << 62  # of what nobody saw completed: it is waited for behind everything else

_EXCHANGE = int(Flag.EXCHANGE)
_APART = int(Flag.NONBLOCKING | Flag.EXCHANGE)
_UNKNOWN = int(Flag.UNKNOWN_CONTENT | Flag.INCOMPLETE)

_TYPES = {
    Element.FLOAT64: "MPI_DOUBLE",
    Element.FLOAT32: "MPI_FLOAT",
    Element.INT32: "MPI_INT",
    Element.INT64: "MPI_INT64_T",
}


class HandPattern(msgspec.Struct, frozen=True):
    """`bytes`: as MPI counts them for the function; `instances`: how many this one speaks for.
    `group`: world ranks; `root` and the ranks in `steps` are places in it (-1: no root). `steps`:
    by rank, as a plan has them; `type`: of the elements, where a plan has that one, else MPI_BYTE.
    """

    bytes: int
    instances: int
    group: tuple[int, ...]
    root: int
    type: str
    steps: tuple[str, ...]


def patterns(traffic: Traffic, instances: Sequence[Instance]) -> tuple[HandPattern, ...]:
    """One of each of some sizes, which stands for the instances of those that are next to it."""
    by_size: dict[int, list[Instance]] = defaultdict(list)
    for candidate in instances:
        by_size[candidate.bytes].append(candidate)
    sizes = sorted(instance.bytes for instance in instances)
    most = min(MOST_SIZES, len(by_size))
    chosen = sorted({sizes[(2 * at + 1) * len(sizes) // (2 * most)] for at in range(most)})
    speaks: dict[int, int] = defaultdict(int)
    for size, alike in by_size.items():
        speaks[min(chosen, key=lambda near: abs(near - size))] += len(alike)
    chosen_patterns = []
    for size in chosen:
        instance = _middle(traffic, by_size[size])
        if instance is not None:
            chosen_patterns.append(pattern_of(traffic, instance, speaks[size]))
    return tuple(chosen_patterns)


def _middle(traffic: Traffic, alike: Sequence[Instance]) -> Instance | None:
    """The first one from the middle on that can be played."""
    half = len(alike) // 2
    for instance in (*alike[half:], *alike[:half]):
        if len(instance.messages) <= MOST_MESSAGES and _is_inside(traffic, instance):
            return instance
    return None


def _is_inside(traffic: Traffic, instance: Instance) -> bool:
    """Return whether nobody else has handed a message on: a replay has the ranks of the group
    alone."""
    messages, group = list(instance.messages), list(instance.group)
    ranks = np.concatenate([traffic.source[messages], traffic.target[messages]])
    return bool(np.isin(ranks, group).all())


class _Half(NamedTuple):
    """A send or a receive of a message, in the words of events."""

    post_ns: int
    start_ns: int
    kind: int
    mode: int
    flags: int
    peer: int
    bytes: int
    tag: int


def pattern_of(traffic: Traffic, instance: Instance, speaks_for: int = 1) -> HandPattern:
    place = {rank: at for at, rank in enumerate(instance.group)}
    messages = np.array(instance.messages, np.int64)
    sources, targets = traffic.source[messages].tolist(), traffic.target[messages].tolist()
    sizes = traffic.bytes[messages].tolist()
    tags: list[int] = []
    sent: dict[tuple[int, int], int] = defaultdict(int)
    for pair in zip(sources, targets, strict=True):
        tags.append(sent[pair])
        sent[pair] += 1
    halves: dict[int, dict[int, _Half]] = defaultdict(dict)  # by rank and event
    for events, ranks, peers in (
        (traffic.send_event[messages], sources, targets),
        (traffic.receive_event[messages], targets, sources),
    ):
        own = traffic.recording.events[events]
        fields = (own[name].tolist() for name in _Half._fields[:5])
        listed = zip(*fields, (place[peer] for peer in peers), sizes, tags, strict=True)
        for rank, event, half in zip(ranks, events.tolist(), listed, strict=True):
            halves[rank][event] = _Half(*half)
    root = place[instance.roots[0]] if instance.roots else -1
    return HandPattern(
        bytes=instance.bytes,
        instances=speaks_for,
        group=instance.group,
        root=root,
        type=_TYPES.get(Element(traffic.element[instance.messages[0]]), "MPI_BYTE"),
        steps=tuple(",".join(_steps(halves[rank])) for rank in instance.group),
    )


def _steps(own: dict[int, _Half]) -> Iterator[str]:
    """Return the steps of one rank, by event. Halves of an exchange are begun one behind the other,
    then waited for."""
    actions: list[tuple[int, int, int, str]] = []  # when, 1: a wait, in which order, what
    begun = 0
    for order, event in enumerate(sorted(own)):
        half = own[event]
        sends = half.kind == EventKind.SEND
        word = "send" if sends else "recv"
        if sends and half.mode == Mode.SYNCHRONOUS:
            word = "ssend"
        step = f"{word}:{half.peer}:{half.bytes}:{half.tag}"
        start = half.start_ns
        if half.flags & _EXCHANGE:  # the send is the event before the receive
            other_half = own.get(event + 1 if sends else event - 1)
            if other_half and other_half.flags & _EXCHANGE and other_half.kind != half.kind:
                start = max(start, other_half.post_ns)
        if half.flags & _UNKNOWN:
            start = _NEVER
        apart = half.flags & _APART
        actions.append((half.post_ns, 0, order, f"i{step}" if apart else step))
        if apart:
            actions.append((start, 1, order, f"wait:{begun}"))
            begun += 1
    for *_, step in sorted(actions):
        yield step
