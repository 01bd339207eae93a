"""Reductions to a root, and along a chain."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np

from plumbline.detect import core, operators
from plumbline.detect.columns import Indices, Mask, Rows, first_of_each, numbered, starts
from plumbline.detect.instances import Instance
from plumbline.detect.knowledge import MessageClass, Phases, Way
from plumbline.detect.operators import Combined, combined
from plumbline.detect.traffic import Traffic

# The operator of a reduction of which not all operands were sent. A rank that adds its own term to
# what it gets, and hands on the sum, could as well hand on anything: what is left for the term must
# be like the terms that were sent.

# With so many bits of evidence a chain is a reduction and no pipeline.
ENOUGH = 8.0
# At least this share of the terms must look like the terms that were sent.
MOST = 0.9
# Bits of evidence in the norm of a term: many elements contribute to it, so it counts for more than
# a single element.
BITS_OF_A_NORM = 3.0
# At least this share of the larger values must come from the other rank.
HANDED_ON = 0.1


class Assumed(msgspec.Struct, frozen=True):
    """`bits`: how unlikely it is that contents agree with the operator by chance."""

    name: str
    bits: float


def assumed(traffic: Traffic, whole: Indices, combined: Combined) -> Assumed | None:
    """`whole`: messages that are a rank's own term. None: contents contradict all operators that
    are looked at."""
    if not len(combined):
        return Assumed("", 0.0)
    bits = {
        name: speaking.bits * len(combined.operands.at)
        for name, speaking in operators.partly(traffic, combined).items()
        if speaking.agree.all()
    }
    if bits and operators.handed_on(traffic, combined) >= HANDED_ON:
        name = max(bits, key=lambda operator: bits[operator])
        return Assumed(name, bits[name])
    summed = _sum_bits(traffic, whole, combined)
    return None if summed is None else Assumed("SUM", summed)


def _sum_bits(traffic: Traffic, whole: Indices, combined: Combined) -> float | None:
    """A bit for each term that has the sign of all that were sent, and their size; None: terms
    lie where none was sent."""
    if not len(whole):
        return 0.0
    sent, own_terms = operators.terms(traffic, whole), operators.left(traffic, combined)
    if not sent.size or not own_terms.size:
        return 0.0
    low, high = float(sent.min()), float(sent.max())
    if not operators.exact(traffic, int(combined.messages[0])):
        likely = (own_terms >= low / 2) & (own_terms <= 2 * high)
        return BITS_OF_A_NORM * len(combined) if low > 0 and likely.mean() >= MOST else 0.0
    slack = 1.25 * (high - low) + 0.5 * max(abs(low), abs(high))
    if np.mean((own_terms >= low - slack) & (own_terms <= high + slack)) < MOST:
        return None
    if low <= 0 <= high:
        return 0.0
    same_sign = np.sign(own_terms) == np.sign(low)
    likely = same_sign & (np.abs(own_terms) <= 3 * max(abs(low), abs(high)))
    return float(own_terms.size) if likely.mean() >= MOST else 0.0


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
    """Return the name of the operator, of several the most usual one."""
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


def rooted(which: MessageClass, *, surely: bool = False) -> list[Instance]:
    """Reductions to a root: a tree into which everybody sends once. `surely`: only where contents
    speak for an operator that hands on values as they are."""
    traffic, group, messages = which.traffic, which.group, which.messages
    good = which.good(Way.TREE)
    if good is None or which.says_one_thing:
        return []
    targets = which.distinct(traffic.target[good.messages.at], good)
    # A rank that adds up receives all terms in the same function.
    if (which.distinct(traffic.functions[good.messages.at] + 1, good) > 1).any():
        return []
    chains = targets > len(group) - 2
    if chains.any() or (targets == 1).all():  # what anything looks like: then it must be all of it
        if len(good.messages.at) < len(messages):
            return []
        if 2 * _dialogues(traffic, good) > len(good):
            return []
    whole = good.messages.at[good.set_sizes[good.known] == 1]
    made = combined(traffic, good)
    operation = assumed(traffic, whole, made)
    if operation is None:
        return []
    if surely and not _handing_on(which, good, made, operation.name):
        return []
    weak = chains & (operation.bits < ENOUGH)
    scans = chains & _upwards(traffic, good, group)
    nbytes = int(traffic.bytes[messages[0]])
    instances = []
    listed = (column.tolist() for column in (good.last, scans, weak, targets))
    for own, last, scan, is_weak, target in zip(good.messages.tuples(), *listed, strict=True):
        root = group[last]
        instances.append(
            Instance(
                "scan" if scan and not is_weak else "reduce",
                which.comm,
                group,
                own,
                nbytes,
                () if scan and not is_weak else (root,),
                operation=operation.name,
                evidence="weak" if is_weak else "assumed",
                remarks=_remarks(target, scan, root),
            )
        )
    return instances


def _dialogues(traffic: Traffic, good: Phases) -> int:
    """Return how often the root answers a rank before it has heard of all: a master and his
    workers."""
    passed, sent_by = good.messages.passed, traffic.sent_by.passed
    return int(core.call("pl_dialogues", traffic.passed, passed, sent_by)[0].sum())


def _remarks(targets: int, scan: bool, root: int) -> tuple[str, ...]:
    if targets == 1:
        return ("or a gather, if the root keeps what it gets: it receives into one place",)
    if scan:
        return (f"or a reduce to rank {root}, if only that one uses what it gets",)
    return ()


def _upwards(traffic: Traffic, good: Phases, group: tuple[int, ...]) -> Mask:
    """Return whether a chain goes from the first rank of the group to the last."""
    hops = [lower * traffic.nprocs + right for lower, right in pairwise(group)]
    along = np.isin(traffic.pairs(good.messages.at), hops)
    return np.asarray(np.logical_and.reduceat(along, good.messages.first[:-1]))


def _handing_on(which: MessageClass, good: Phases, made: Combined, name: str) -> bool:
    """Return whether ranks hand on the larger value, or the like, rather than all the same one:
    what speaks for it is where something else goes on than came."""
    content = which.traffic.content
    differ = int((which.distinct(content[good.messages.at], good) > 1).sum())
    everything = len(good.messages.at) == len(which.messages)
    if name in ("", "SUM") or not everything or 2 * differ <= len(good):
        return False
    same = content[made.of_operand] == content[made.operands.at]
    differs = ~np.logical_or.reduceat(same, made.operands.first[:-1])
    if not differs.any():
        return False
    made = made.picked(differs)
    speaking = operators.partly(which.traffic, made).get(name)
    if speaking is None:
        return False
    bits = speaking.bits * float(made.operands.lengths[speaking.agree].sum())
    return bits >= ENOUGH / 2
