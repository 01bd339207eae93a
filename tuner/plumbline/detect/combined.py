"""Messages that may have been made of others: what ranks sent, and what they had got for it."""

from __future__ import annotations

import msgspec
import numpy as np

from plumbline.detect.columns import Indices, Mask, Rows, by_owner, ranges, starts
from plumbline.detect.knowledge import Phases
from plumbline.detect.traffic import Traffic


class Combined(msgspec.Struct, frozen=True, eq=False):
    """Messages of one kind, and of each the operands that its sender had got."""

    messages: Indices
    operands: Rows

    def __len__(self) -> int:
        return len(self.messages)

    def picked(self, which: Mask) -> Combined:
        rows = np.flatnonzero(which)
        return Combined(self.messages[rows], self.operands.picked(rows))

    @property
    def of_operand(self) -> Indices:
        """Return by operand: its message."""
        return self.messages[self.operands.owners]


def combined(traffic: Traffic, good: Phases) -> Combined:
    """All in rooted phases; also by the root, if it sends something of the kind before it goes
    on."""
    messages, phase = good.messages.at, good.messages.owners
    results, result_phase = _results(traffic, good)
    senders = np.concatenate([traffic.source[results], traffic.source[messages]])
    ranks = traffic.nprocs
    sender_rows = np.concatenate([result_phase, phase]) * ranks + senders
    got = by_owner(phase * ranks + traffic.target[messages], len(good) * ranks)
    lengths = got.lengths[sender_rows]
    some = lengths > 0
    operands = messages[got.at[ranges(got.first[sender_rows[some]], lengths[some])]]
    makers = np.concatenate([results, messages])[some]
    return Combined(makers, Rows(starts(lengths[some]), operands))


def _results(traffic: Traffic, good: Phases) -> tuple[Indices, Indices]:
    """Return what roots send of the kind when they have got all, before they are told of the next
    one; and of which phases."""
    firsts = good.messages.first[:-1]
    received = traffic.received[good.messages.at]
    ends = np.maximum.reduceat(received, firsts)
    until = np.append(np.minimum.reduceat(received, firsts)[1:], len(traffic.points))
    last = traffic.points[ends] // 2  # the message that was received last
    roots, kind = traffic.target[last], int(traffic.kind[last[0]])
    results: list[Indices] = []
    phases: list[Indices] = []
    for root in np.unique(roots).tolist():
        sent = traffic.sent_of_kind(root, kind)
        own = np.flatnonzero(roots == root)
        at = np.searchsorted(traffic.sent[sent], ends[own], side="right")
        own, at = own[at < len(sent)], at[at < len(sent)]
        in_time = traffic.sent[sent[at]] < until[own]
        results.append(sent[at[in_time]])
        phases.append(own[in_time])
    return np.concatenate(results), np.concatenate(phases)
