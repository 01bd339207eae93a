"""Whose contribution is known where, message by message, and when it is everybody's: what
reductions and barriers are made of. Followed in tuner/detection/phases.c."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Mask, Rows, by_owner
from plumbline.detect.traffic import Traffic


class Phases(msgspec.Struct, frozen=True, eq=False):
    """Times that it went round, a number each. `messages` in the order in which they came; `known`:
    of each of them who had contributed to it when it was sent, as the number of a set; `overlaps`:
    somebody was told of one contribution twice; `complete`: how many ranks know everybody's, and
    `last` the place in the group of the last such rank."""

    messages: Rows
    known: Indices
    overlaps: Mask
    complete: Indices
    last: Indices
    set_sizes: Indices
    set_bits: Indices

    def __len__(self) -> int:
        return len(self.messages)

    def picked(self, which: Mask) -> Phases:
        rows = np.flatnonzero(which)
        return msgspec.structs.replace(
            self,
            messages=self.messages.picked(rows),
            known=Rows(self.messages.first, self.known).picked(rows).at,
            overlaps=self.overlaps[rows],
            complete=self.complete[rows],
            last=self.last[rows],
        )


def phases(traffic: Traffic, messages: Indices, group: Sequence[int], *, rooted: bool) -> Phases:
    """The phases of a class of messages. Of a rooted one each rank but the root sends once, when
    it has what it waits for; else a phase ends for a rank when it knows of all others, and what it
    sends then only tells those that do not.

    Linear in messages, times the group's size in machine words."""
    places = np.concatenate([traffic.sent[messages], traffic.received[messages]])
    _, overlaps, complete, last, told, phase, known, set_sizes, set_bits = core.call(
        "pl_phases",
        traffic.passed,
        messages,
        np.argsort(places),
        len(messages),
        np.array(group, np.int64),
        len(group),
        int(rooted),
    )
    rows = by_owner(phase, len(overlaps))
    return Phases(
        Rows(rows.first, told[rows.at]),
        known[rows.at],
        overlaps != 0,
        complete,
        last,
        set_sizes,
        set_bits,
    )
