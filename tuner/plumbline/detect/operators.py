"""Reductions to a root, and along a chain; and whether contents are reductions of others, by what a
recording keeps: bytes of short messages, polynomials of integers, sketches of floating numbers,
extremes. All messages that are looked at together are of one kind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core, kinds
from plumbline.detect.core import (
    Indices,
    Mask,
    Rows,
    by_owner,
    first_of_each,
    numbered,
    ranges,
    starts,
)
from plumbline.detect.kinds import Element, dtype_of
from plumbline.detect.provenance import MessageClass, Phases, Way
from plumbline.detect.recording import PAYLOAD
from plumbline.detect.traffic import Instance, Traffic


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


Values = npt.NDArray[Any]  # shape (messages, elements)

INTEGERS = frozenset(range(Element.INT8, Element.UINT64 + 1))
FLOATS = frozenset({Element.FLOAT32, Element.FLOAT64, Element.COMPLEX64, Element.COMPLEX128})
PAIRS = frozenset(range(Element.FLOAT32_INT32, Element.FLOAT64_FLOAT64 + 1))
NUMERIC = INTEGERS | FLOATS | PAIRS | {Element.LOGICAL}
_ORDERED = INTEGERS | {Element.FLOAT32, Element.FLOAT64}

# Floating-point sums in another order differ by some roundings.
SLACK = 16

# Bits of evidence of four extremes that have the expected values; they are not independent.
BITS_OF_EXTREMES = 2.0

_ELEMENTWISE: dict[str, Callable[..., Values]] = {
    "SUM": np.add,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "PROD": np.multiply,
}
_OF_INTEGERS: dict[str, Callable[..., Values]] = {
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
    "LAND": lambda a, right: ((a != 0) & (right != 0)).astype(a.dtype),
    "LOR": lambda a, right: ((a != 0) | (right != 0)).astype(a.dtype),
    "LXOR": lambda a, right: ((a != 0) ^ (right != 0)).astype(a.dtype),
}


class Speaking(msgspec.Struct, frozen=True, eq=False):
    """An answer by combination: whether contents agree with an operator, and how much that says, in
    bits."""

    agree: Mask
    bits: float  # an operand


def values(traffic: Traffic, messages: Indices) -> Values | None:
    """The elements of messages whose bytes are kept; None of others."""
    first = messages[0]
    nbytes, dtype = int(traffic.bytes[first]), dtype_of(int(traffic.element[first]))
    if dtype is None or not 0 < nbytes <= PAYLOAD or nbytes % np.dtype(dtype).itemsize:
        return None
    return np.ascontiguousarray(traffic.payload(messages)[:, :nbytes]).view(dtype)


def names(traffic: Traffic, whole: Indices, left: Indices, right: Indices) -> frozenset[str]:
    """Operators by which each content of `whole` may have come from those of `left` and `right`:
    none where no predefined one gives all of them."""
    element = int(traffic.element[whole[0]])
    result = values(traffic, whole)
    operands = [values(traffic, left), values(traffic, right)]
    if result is not None and operands[0] is not None and operands[1] is not None:
        if element in PAIRS:
            return _of_pairs(result, operands[0], operands[1])
        return _by_value(result, operands[0], operands[1], element)
    operators = set()
    if _is_sum(traffic, element, whole, left, right):
        operators.add("SUM")
    if element in _ORDERED:
        result, first, second = (_extremes(traffic, operand) for operand in (whole, left, right))
        if np.array_equal(result[:, :4], np.maximum(first, second)[:, :4]):
            operators.add("MAX")
        if np.array_equal(result[:, 4:], np.minimum(first, second)[:, 4:]):
            operators.add("MIN")
    return frozenset(operators)


def _is_sum(traffic: Traffic, element: int, whole: Indices, left: Indices, right: Indices) -> bool:
    """Return by polynomials of integers, or sketches of floating numbers."""
    if element in INTEGERS:
        total = (traffic.poly[left] + traffic.poly[right]) % kinds.PRIME
        return bool((total == traffic.poly[whole]).all())
    if element not in FLOATS:
        return False
    result, first, second = (_sketches(traffic, operand) for operand in (whole, left, right))
    epsilon = np.finfo(np.float32 if element in (9, 11) else np.float64).eps
    bound = SLACK * epsilon * 2 * (result + first + second)[:, 2:]
    return bool((np.abs((first + second - result)[:, :2]) <= bound).all())


def _by_value(result: Values, left: Values, right: Values, element: int) -> frozenset[str]:
    operators = set()
    table = _ELEMENTWISE | (_OF_INTEGERS if element in INTEGERS | {Element.LOGICAL} else {})
    with np.errstate(all="ignore"):
        for name, operator in table.items():
            total = operator(left, right)
            if _equal(name, result, total, np.abs(left) + np.abs(right), element):
                operators.add(name)
    return frozenset(operators)


def _equal(name: str, result: Values, total: Values, size: Values, element: int) -> bool:
    if element not in FLOATS or name in ("MAX", "MIN"):
        return bool(np.array_equal(result, total))
    epsilon = np.finfo(np.float32 if element in (9, 11) else np.float64).eps
    size = np.abs(total) if name == "PROD" else size
    return bool((np.abs(result - total) <= SLACK * epsilon * 2 * size).all())


def _of_pairs(result: Values, left: Values, right: Values) -> frozenset[str]:
    """Return the names of the operators on pairs that give `result`; of equal values the smallest
    index counts."""
    operators = set()
    equal = (left["value"] == right["value"]) & (left["index"] <= right["index"])
    for name, is_first in (
        ("MAXLOC", left["value"] > right["value"]),
        ("MINLOC", left["value"] < right["value"]),
    ):
        if np.array_equal(result, np.where(is_first | equal, left, right)):
            operators.add(name)
    return frozenset(operators)


def partly(traffic: Traffic, which: Combined) -> dict[str, Speaking]:
    """Operators by which contents may have come from their operands and one more that was never
    sent. Of sums nothing is said here: what would be left has to be looked at."""
    element = int(traffic.element[which.messages[0]])
    if element in PAIRS or element in (Element.COMPLEX64, Element.COMPLEX128):
        return {}
    result, operands = values(traffic, which.of_operand), values(traffic, which.operands.at)
    if result is None or operands is None:
        if element not in _ORDERED:
            return {}
        result, operands = (
            _extremes(traffic, which.of_operand),
            _extremes(traffic, which.operands.at),
        )
        return {
            "MAX": _speaking(which, result[:, :4] >= operands[:, :4], BITS_OF_EXTREMES),
            "MIN": _speaking(which, result[:, 4:] <= operands[:, 4:], BITS_OF_EXTREMES),
        }
    bits = float(result.shape[1])
    by_operator = {
        "MAX": _speaking(which, result >= operands, bits),
        "MIN": _speaking(which, result <= operands, bits),
    }
    if element in INTEGERS:
        by_operator["BAND"] = _speaking(which, result & operands == result, bits)
        by_operator["BOR"] = _speaking(which, result | operands == result, bits)
    return by_operator


def _speaking(which: Combined, holds: Mask, bits: float) -> Speaking:
    of_operand = holds.all(axis=1)
    return Speaking(np.logical_and.reduceat(of_operand, which.operands.first[:-1]), bits)


def handed_on(traffic: Traffic, which: Combined) -> float:
    """The share of elements (or extremes) that are those of an operand, on the average: many of
    the larger of two values, hardly any of a sum."""
    result, operands = values(traffic, which.of_operand), values(traffic, which.operands.at)
    if result is None or operands is None:
        if int(traffic.element[which.messages[0]]) not in _ORDERED:
            return 0.0
        result, operands = (
            _extremes(traffic, which.of_operand),
            _extremes(traffic, which.operands.at),
        )
    same = np.logical_or.reduceat(result == operands, which.operands.first[:-1], axis=0)
    return float(same.mean())


def exact(traffic: Traffic, message: int) -> bool:
    """Return whether `terms` are elements, of which all bytes are known."""
    return values(traffic, np.array([message])) is not None


def terms(traffic: Traffic, messages: Indices) -> npt.NDArray[np.float64]:
    """Return what contents are: elements, or the L1 norm of floating numbers, which adds up where
    all have one sign; empty where nothing is known. Shape (messages, …)."""
    element = int(traffic.element[messages[0]])
    if element in PAIRS:
        return np.zeros((len(messages), 0))
    contents = values(traffic, messages)
    if contents is not None:
        return np.asarray(contents.real, np.float64)
    if element in FLOATS:
        return _sketches(traffic, messages)[:, 2:]
    return np.zeros((len(messages), 0))


def left(traffic: Traffic, which: Combined) -> npt.NDArray[np.float64]:
    """Return what a sum leaves for the term that was never sent, as `terms`."""
    sent = np.add.reduceat(terms(traffic, which.operands.at), which.operands.first[:-1], axis=0)
    return np.asarray(terms(traffic, which.messages) - sent)


def _sketches(traffic: Traffic, messages: Indices) -> npt.NDArray[np.float64]:
    sketches = traffic.recording.events["sketch"][traffic.send_event[messages]]
    return np.asarray(sketches, np.float64)


def _extremes(traffic: Traffic, messages: Indices) -> npt.NDArray[np.float64]:
    columns = traffic.recording.events["extremes"][traffic.send_event[messages]]
    return np.asarray(columns, np.float64)


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
        for name, speaking in partly(traffic, combined).items()
        if speaking.agree.all()
    }
    if bits and handed_on(traffic, combined) >= HANDED_ON:
        name = max(bits, key=lambda operator: bits[operator])
        return Assumed(name, bits[name])
    summed = _sum_bits(traffic, whole, combined)
    return None if summed is None else Assumed("SUM", summed)


def _sum_bits(traffic: Traffic, whole: Indices, combined: Combined) -> float | None:
    """A bit for each term that has the sign of all that were sent, and their size; None: terms
    lie where none was sent."""
    if not len(whole):
        return 0.0
    sent, own_terms = terms(traffic, whole), left(traffic, combined)
    if not sent.size or not own_terms.size:
        return 0.0
    low, high = float(sent.min()), float(sent.max())
    if not exact(traffic, int(combined.messages[0])):
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

    return names(traffic, message_of(whole), message_of(left), message_of(right))


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
    speaking = partly(which.traffic, made).get(name)
    if speaking is None:
        return False
    bits = speaking.bits * float(made.operands.lengths[speaking.agree].sum())
    return bits >= ENOUGH / 2
