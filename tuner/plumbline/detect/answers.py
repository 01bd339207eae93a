"""Messages that are answered at once, by as much of one's own: pairs of ranks that play ping-pong.
The same content sent to one partner after the other in this way is no broadcast."""

from __future__ import annotations

import functools

import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Mask, Rows
from plumbline.detect.provenance import Provenance
from plumbline.detect.traffic import Traffic


class Answers:
    """Of all messages; looked for when it is first asked for one."""

    def __init__(self, traffic: Traffic, provenance: Provenance) -> None:
        self._traffic = traffic
        self._provenance = provenance

    def most(self, messages: Rows) -> Mask:
        """By row: whether more than half of its messages were answered."""
        return np.asarray(2 * messages.sums(self._answered) > messages.lengths)

    @functools.cached_property
    def _answered(self) -> Indices:
        """1 of those after which their sender's next thing of their communicator, tag and kind is
        to receive from their receiver what that one has by himself."""
        own = self._provenance.all_own(self._traffic)
        return core.call("pl_answered_at_once", self._traffic.passed, own)[0]
