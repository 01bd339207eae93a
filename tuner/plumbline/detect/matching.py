"""Matching of receives and sends: MPI does not let messages overtake, so by communicator, source,
destination and tag the k-th send belongs to the k-th receive. Contents prove it; where they differ
(threads that post at the same time) receives look for their content."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from plumbline.detect.columns import Indices, Mask, by_owner, numbered, ranges
from plumbline.detect.kinds import Flag, Kind
from plumbline.detect.recording import MESSAGE, Events, Messages

_NO_CONTENT = Flag.UNKNOWN_CONTENT | Flag.INCOMPLETE | Flag.CANCELLED | Flag.FAILED

_Columns = dict[str, npt.NDArray[Any]]


def match(events: Events) -> Messages:
    """The messages of `events` (sorted by rank, then serial), sorted by send."""
    columns = _columns(events)
    sends, receives = _sides(columns)
    ranks = int(max(columns["rank"].max(initial=0), columns["peer"].max(initial=0))) + 1
    channels = np.concatenate(
        [
            _channels(columns, sends, "rank", "peer", ranks),
            _channels(columns, receives, "peer", "rank", ranks),
        ]
    )
    tags = np.concatenate([columns["tag"][sends], columns["tag"][receives]]).astype(np.int64)
    group = numbered(channels, tags)
    send_group, receive_group = group[: len(sends)], group[len(sends) :]
    groups = int(group.max(initial=-1)) + 1
    sent, received = by_owner(send_group, groups), by_owner(receive_group, groups)
    both = np.minimum(sent.lengths, received.lengths)
    send = sends[sent.at[ranges(sent.first[:-1], both)]]
    receive = receives[received.at[ranges(received.first[:-1], both)]]
    receive = _mended(columns, send, receive, np.repeat(np.arange(groups), both))
    matched = np.empty(len(send), MESSAGE)
    matched["send"], matched["receive"] = send, receive
    matched["verified"] = _equal(columns, send, receive)
    matched = matched[(columns["flags"][receive] & Flag.INCOMPLETE) == 0]
    return np.asarray(matched[np.argsort(matched["send"], kind="stable")])


def _columns(events: Events) -> _Columns:
    """Return what is looked at here, each field by itself in memory."""
    names = ("rank", "kind", "flags", "comm", "peer", "tag", "bytes", "content")
    return {name: np.ascontiguousarray(events[name]) for name in names}


def _sides(events: _Columns) -> tuple[Indices, Indices]:
    """Sends, and receives that have taken one or hold the place of one."""
    kinds = np.ascontiguousarray(events["kind"])
    real = ((events["flags"] & Flag.CANCELLED) == 0) & (events["peer"] >= 0) & (events["tag"] >= 0)
    sends, receives = (kinds == Kind.SEND) & real, (kinds == Kind.RECEIVE) & real
    return np.flatnonzero(sends), np.flatnonzero(receives)


def _channels(events: _Columns, indices: Indices, source: str, target: str, ranks: int) -> Indices:
    """A number for each (communicator, source, target)."""
    comm = events["comm"][indices].astype(np.int64)
    return np.asarray((comm * ranks + events[source][indices]) * ranks + events[target][indices])


def _known(events: _Columns, indices: Indices) -> Mask:
    return np.asarray((events["flags"][indices] & _NO_CONTENT) == 0)


def _equal(events: _Columns, send: Indices, receive: Indices) -> Mask:
    same = (events["content"][send] == events["content"][receive]) & (
        events["bytes"][send] == events["bytes"][receive]
    )
    return np.asarray(same & _known(events, send) & _known(events, receive))


def _mended(
    events: _Columns,
    send: Indices,
    receive: Indices,
    group: Indices,
) -> Indices:
    """Receives anew, where pairs whose contents are known and differ can change partners within
    their group."""
    both_known = _known(events, send) & _known(events, receive)
    wrong = np.flatnonzero(both_known & ~_equal(events, send, receive))[::-1].tolist()
    by_content: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for pair in wrong:
        by_content[_key(events, int(group[pair]), int(receive[pair]))].append(int(receive[pair]))
    mended, waiting = receive.copy(), []
    for pair in reversed(wrong):
        candidates = by_content[_key(events, int(group[pair]), int(send[pair]))]
        if candidates:
            mended[pair] = candidates.pop()
        else:
            waiting.append(pair)
    rest: dict[int, list[int]] = defaultdict(list)
    for (number, _content, _bytes), receives in by_content.items():
        rest[number].extend(receives)
    for receives in rest.values():
        receives.sort(reverse=True)
    for pair in waiting:
        mended[pair] = rest[int(group[pair])].pop()
    return mended


def _key(events: _Columns, group: int, index: int) -> tuple[int, int, int]:
    return group, int(events["content"][index]), int(events["bytes"][index])
