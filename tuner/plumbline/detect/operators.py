"""Whether a content is a reduction of others, by what a recording keeps: bytes of short messages,
polynomials of integers, sketches of floating numbers, extremes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plumbline.detect import hashes
from plumbline.detect.kinds import Element, dtype_of
from plumbline.detect.recording import PAYLOAD
from plumbline.detect.traffic import Traffic

Values = npt.NDArray[Any]

INTEGERS = frozenset(range(Element.INT8, Element.UINT64 + 1))
FLOATS = frozenset({Element.FLOAT32, Element.FLOAT64, Element.COMPLEX64, Element.COMPLEX128})
PAIRS = frozenset(range(Element.FLOAT32_INT32, Element.FLOAT64_FLOAT64 + 1))
NUMERIC = INTEGERS | FLOATS | PAIRS | {Element.LOGICAL}

# Floating sums in another order differ by some roundings.
SLACK = 16

# What four extremes say that lie as they should; they go together.
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
    "LAND": lambda left, right: ((left != 0) & (right != 0)).astype(left.dtype),
    "LOR": lambda left, right: ((left != 0) | (right != 0)).astype(left.dtype),
    "LXOR": lambda left, right: ((left != 0) ^ (right != 0)).astype(left.dtype),
}


def values(traffic: Traffic, message: int) -> Values | None:
    """The elements of a message whose bytes are kept; None of others."""
    if traffic.bytes[message] > PAYLOAD:
        return None
    dtype = dtype_of(traffic.element[message])
    data = traffic.payload(message)
    if dtype is None or not data or len(data) % np.dtype(dtype).itemsize:
        return None
    return np.frombuffer(data, dtype)


def names(traffic: Traffic, message: int, operands: Sequence[int]) -> frozenset[str]:
    """Operators by which the content of `message` may have come from those of `operands`, all of
    one kind: none where no predefined one gives it."""
    element = traffic.element[message]
    listed = [values(traffic, each) for each in operands]
    result = values(traffic, message)
    if result is not None and all(each is not None for each in listed):
        return _by_value(result, [each for each in listed if each is not None], element)
    events = traffic.recording.events[traffic.send_event[[message, *operands]]]
    found = set()
    if element in INTEGERS:
        total = hashes.added(*(int(poly) for poly in events["poly"][1:]))
        if total == int(events["poly"][0]):
            found.add("SUM")
    elif element in FLOATS:
        sketches = events["sketch"].astype(np.float64)
        epsilon = np.finfo(np.float32 if element in (9, 11) else np.float64).eps
        bound = SLACK * epsilon * len(operands) * sketches[:, 2].sum()
        if (np.abs(sketches[1:, :2].sum(axis=0) - sketches[0, :2]) <= bound).all():
            found.add("SUM")
    if element in INTEGERS or element in (Element.FLOAT32, Element.FLOAT64):
        extremes = events["extremes"]
        if (extremes[0, :4] == extremes[1:, :4].max(axis=0)).all():
            found.add("MAX")
        if (extremes[0, 4:] == extremes[1:, 4:].min(axis=0)).all():
            found.add("MIN")
    return frozenset(found)


def _by_value(result: Values, operands: Sequence[Values], element: int) -> frozenset[str]:
    if element in PAIRS:
        return _of_pairs(result, operands)
    found = set()
    table = _ELEMENTWISE | (_OF_INTEGERS if element in INTEGERS | {Element.LOGICAL} else {})
    with np.errstate(all="ignore"):
        for name, operator in table.items():
            total = operands[0]
            for operand in operands[1:]:
                total = operator(total, operand)
            if _equal(name, result, total, operands, element):
                found.add(name)
    return frozenset(found)


def _equal(
    name: str, result: Values, total: Values, operands: Sequence[Values], element: int
) -> bool:
    if element not in FLOATS or name in ("MAX", "MIN"):
        return bool(np.array_equal(result, total))
    epsilon = np.finfo(np.float32 if element in (9, 11) else np.float64).eps
    size = np.abs(total) if name == "PROD" else sum(np.abs(operand) for operand in operands)
    return bool((np.abs(result - total) <= SLACK * epsilon * len(operands) * size).all())


def _of_pairs(result: Values, operands: Sequence[Values]) -> frozenset[str]:
    """Of equal values the smallest index."""
    found = set()
    for name, sign in (("MAXLOC", -1), ("MINLOC", 1)):
        best = [
            min((sign * pair["value"], pair["index"]) for pair in column)
            for column in zip(*operands, strict=True)
        ]
        if all(
            (sign * pair["value"], pair["index"]) == least
            for pair, least in zip(result, best, strict=True)
        ):
            found.add(name)
    return frozenset(found)


def partly(traffic: Traffic, message: int, operands: Sequence[int]) -> dict[str, float]:
    """Operators by which the content may have come from `operands` and one more that was never
    sent, with how much speaks for each, in bits. An operator that the contents contradict is not
    there. Of sums nothing is said here: what would be left has to be looked at."""
    result, listed = values(traffic, message), [values(traffic, each) for each in operands]
    element = traffic.element[message]
    if element in PAIRS or element in (Element.COMPLEX64, Element.COMPLEX128):
        return {}
    if result is None or any(each is None for each in listed):
        return _partly_by_extremes(traffic, message, operands)
    found = {}
    bits = float(result.size * len(operands))
    known = [each for each in listed if each is not None]
    if all((result >= each).all() for each in known):
        found["MAX"] = bits
    if all((result <= each).all() for each in known):
        found["MIN"] = bits
    if element in INTEGERS:
        if all((result & each == result).all() for each in known):
            found["BAND"] = bits
        if all((result | each == result).all() for each in known):
            found["BOR"] = bits
    return found


def _partly_by_extremes(
    traffic: Traffic, message: int, operands: Sequence[int]
) -> dict[str, float]:
    found: dict[str, float] = {}
    if not _has_extremes(traffic, message):
        return found
    extremes = _extremes(traffic, [message, *operands])
    if (extremes[0, :4] >= extremes[1:, :4].max(axis=0)).all():
        found["MAX"] = BITS_OF_EXTREMES * len(operands)
    if (extremes[0, 4:] <= extremes[1:, 4:].min(axis=0)).all():
        found["MIN"] = BITS_OF_EXTREMES * len(operands)
    return found


def handed_on(traffic: Traffic, message: int, operands: Sequence[int]) -> float:
    """The share of elements (or extremes) that are those of an operand: many of the larger of two
    values, hardly any of a sum."""
    result, listed = values(traffic, message), [values(traffic, each) for each in operands]
    if result is not None and all(each is not None for each in listed):
        same = np.zeros(result.shape, bool)
        for each in listed:
            same |= result == each
        return float(same.mean())
    if not _has_extremes(traffic, message):
        return 0.0
    extremes = _extremes(traffic, [message, *operands])
    return float((extremes[0] == extremes[1:]).any(axis=0).mean())


def exact(traffic: Traffic, message: int) -> bool:
    """Whether `terms` are elements, of which all bytes are known."""
    return values(traffic, message) is not None


def terms(traffic: Traffic, message: int, operands: Sequence[int]) -> npt.NDArray[np.float64]:
    """What a sum leaves for the term that was never sent, or what a content is where there are no
    operands: elements, or the L1 norm of floating numbers, which adds up where all have one sign;
    empty where nothing is known."""
    result, listed = values(traffic, message), [values(traffic, each) for each in operands]
    if traffic.element[message] in PAIRS:
        return np.zeros(0)
    if result is not None and all(each is not None for each in listed):
        left = result.astype(np.complex128)
        for each in listed:
            left = left - np.asarray(each, np.complex128)
        return np.asarray(left.real, np.float64)
    if traffic.element[message] in FLOATS:
        norms = traffic.recording.events["sketch"][traffic.send_event[[message, *operands]]][:, 2]
        return np.array([norms[0] - norms[1:].sum()])
    return np.zeros(0)


def _has_extremes(traffic: Traffic, message: int) -> bool:
    return traffic.element[message] in INTEGERS | {Element.FLOAT32, Element.FLOAT64}


def _extremes(traffic: Traffic, messages: Sequence[int]) -> npt.NDArray[np.float64]:
    found = traffic.recording.events["extremes"][traffic.send_event[list(messages)]]
    return np.asarray(found, np.float64)
