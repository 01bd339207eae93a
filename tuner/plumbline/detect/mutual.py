"""Reductions in which ranks exchange partial results: everybody has something in the end."""

from __future__ import annotations

import numpy as np

from plumbline.detect import core, operators
from plumbline.detect.columns import Indices, Rows, first_of_each, numbered, starts
from plumbline.detect.instances import Instance
from plumbline.detect.knowledge import MessageClass, Phases, Way
from plumbline.detect.traffic import Traffic

_IDEMPOTENT = frozenset({"MAX", "MIN", "BAND", "BOR", "LAND", "LOR", "MAXLOC", "MINLOC"})
_FIRST = ("SUM", "MAX", "MIN", "MAXLOC", "MINLOC", "PROD", "LAND", "LOR", "BAND", "BOR")


def mutual(which: MessageClass) -> list[Instance]:
    """Allreduces in which ranks exchange partial results until all have the whole."""
    traffic, group, messages = which.traffic, which.group, which.messages
    good = which.good(Way.WHOLE)
    if good is None or which.says_one_thing:
        return []
    partials = numbered(good.messages.owners, good.known)
    first = first_of_each(partials)
    names = _proved(traffic, good, first, len(group))
    if names == frozenset() or (names is None and not _agreed(good, first)):
        return []
    if good.overlaps.any() and not (names or frozenset()) & _IDEMPOTENT:
        return []
    nbytes, name = int(traffic.bytes[messages[0]]), _named(names)
    return [
        Instance(
            "allreduce",
            which.comm,
            group,
            own,
            nbytes,
            operation=name,
            evidence="proved" if names else "assumed",
        )
        for own in good.messages.tuples()
    ]


def _named(names: frozenset[str] | None) -> str:
    """Return that of several the most usual one."""
    if not names:
        return ""
    return next((name for name in _FIRST if name in names), min(names))


def _agreed(good: Phases, first: Indices) -> bool:
    """Return whether ranks that know of the same contributions have ever sent the same. `first`:
    messages of which it is the first time in their phase that so much is known."""
    several = good.set_sizes[good.known] > 1
    return bool(several.sum() > several[first].sum())


def _proved(traffic: Traffic, good: Phases, first: Indices, size: int) -> frozenset[str] | None:
    """Operators that give each partial result of which all operands were sent; None: there is no
    such one."""
    owners = good.messages.owners[first]
    known_rows = Rows(starts(np.bincount(owners, minlength=len(good))), good.known[first])
    phases, whole, left, right = core.call(
        "pl_partials", known_rows.passed, size, len(good.set_sizes), good.set_bits
    )
    if not len(phases):
        return None
    sets = len(good.set_sizes)
    keys = owners * sets + known_rows.at
    order = np.argsort(keys)
    messages = good.messages.at[first]

    def message_of(numbers: Indices) -> Indices:
        return messages[order[np.searchsorted(keys[order], phases * sets + numbers)]]

    return operators.names(traffic, message_of(whole), message_of(left), message_of(right))


def halving(which: MessageClass) -> list[Instance]:
    """Reduce-scatters in which ranks exchange ever smaller parts of partial results."""
    traffic, group = which.traffic, which.group
    good = which.good(Way.HALVING)
    if good is None:
        return []
    return [
        Instance(
            "reduce_scatter",
            which.comm,
            group,
            own,
            int(traffic.bytes[list(own)].min()),
            evidence="assumed",
        )
        for own in good.messages.tuples()
    ]
