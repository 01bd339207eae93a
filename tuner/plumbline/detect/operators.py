"""A look at whether contents are reductions of others, by what a recording keeps: bytes of short
messages, polynomials of integers, sketches of floating numbers, extremes. All messages that are
looked at together are of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import kinds
from plumbline.detect.columns import Indices, Mask, Rows, by_owner, ranges, starts
from plumbline.detect.kinds import Element, dtype_of
from plumbline.detect.knowledge import Phases
from plumbline.detect.recording import PAYLOAD
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
