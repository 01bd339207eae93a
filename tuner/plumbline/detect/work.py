"""What instances take when nobody is late: a rank that comes late to a collective would be waited
for in MPI's own as well, so that only what goes on behind the last one's coming can be saved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plumbline.detect.columns import Indices, Rows, classes, rows, starts
from plumbline.detect.instances import Instance
from plumbline.detect.traffic import Traffic

_NEAR = 32  # instances on each side of the middle one


def work_seconds(traffic: Traffic, instances: Sequence[Instance], messages: Rows) -> float:
    """Seconds in which ranks are in calls of the instances and all have come to them, of a group on
    the average. Times that two instances of a group share count once. `messages`: by instance."""
    number = np.tile(messages.owners, 2)
    indices = np.concatenate([traffic.send_event[messages.at], traffic.receive_event[messages.at]])
    fields = traffic.recording.columns
    rank = np.concatenate([traffic.source[messages.at], traffic.target[messages.at]])
    come = _last_to_come(number, rank, fields["post_ns"][indices])
    begin = np.maximum(fields["start_ns"][indices], come[number])
    end = fields["end_ns"][indices]
    place = {group: at for at, group in enumerate(sorted({each.group for each in instances}))}
    group = np.array([place[each.group] for each in instances], np.int64)[number]
    # Groups behind each other: no time of one is within the times of another.
    first = min(int(begin.min()), int(end.min()))
    apart = group * (max(int(begin.max()), int(end.max())) - first + 1)
    return _covered(begin - first + apart, end - first + apart) / len(place) / 1e9


def _last_to_come(number: Indices, rank: Indices, post_ns: Indices) -> Indices:
    """By instance: when the last of its ranks had begun its first call."""
    calls = classes(number, rank)
    firsts = np.minimum.reduceat(post_ns[calls.at], calls.first[:-1])
    owner = number[calls.at[calls.first[:-1]]]
    order = np.argsort(owner, kind="stable")
    begins = starts(np.bincount(owner))[:-1]
    return np.maximum.reduceat(firsts[order], begins)


def _covered(begin: Indices, end: Indices) -> int:
    """The length of the union of intervals; empty ones have their end before their begin."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    reached = np.maximum.accumulate(end)
    reached[1:] = reached[:-1]
    reached[:1] = np.iinfo(np.int64).min
    return int(np.maximum(end - np.maximum(begin, reached), 0).sum())


def between_ns(traffic: Traffic, instances: Sequence[Instance]) -> int:
    """What a rank does from one instance of its group to the next: the middle of some from the
    middle of the run; 0 where they overlap."""
    half = len(instances) // 2
    group = instances[half].group
    near = [each for each in instances[max(0, half - _NEAR) : half + _NEAR] if each.group == group]
    messages = rows(each.messages for each in near)
    number = np.tile(messages.owners, 2)
    indices = np.concatenate([traffic.send_event[messages.at], traffic.receive_event[messages.at]])
    columns = traffic.recording.columns
    first = np.full((traffic.nprocs, len(near)), np.iinfo(np.int64).max)
    last = np.full((traffic.nprocs, len(near)), np.iinfo(np.int64).min)
    place = columns["rank"][indices], number
    np.minimum.at(first, place, columns["post_ns"][indices])
    np.maximum.at(last, place, columns["end_ns"][indices])
    there = first < np.iinfo(np.int64).max
    both = there[:, 1:] & there[:, :-1]
    gaps = first[:, 1:][both] - last[:, :-1][both]
    return max(0, int(np.median(gaps))) if len(gaps) else 0
