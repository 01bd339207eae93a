"""The hashes that the recorder computes of a message's content, as plumbline.detect.kinds defines
them, step by step: the reference that the recorder's C is compared with."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from plumbline.detect.kinds import EXTREMES, PRIME, SKETCH, Element, dtype_of, width

BASE = 0x0A3F_51C9_7E82_B46D
_PERIOD = 512  # of the weights; every further period has a factor of its own

_SIGNED = {Element.INT8, Element.INT16, Element.INT32, Element.INT64}
_FLOATING = {Element.FLOAT32, Element.FLOAT64, Element.COMPLEX64, Element.COMPLEX128}
_ORDERED = {Element.FLOAT32, Element.FLOAT64} | {
    element for element in Element if Element.INT8 <= element <= Element.UINT64
}


def element_of(dtype: npt.DTypeLike) -> Element:
    """The kind that a NumPy array has; MIXED where there is none."""
    kind = np.dtype(dtype)
    named = (element for element in Element if _is(element, kind))
    return next(named, Element.MIXED)


def _is(element: Element, kind: np.dtype[np.generic]) -> bool:
    plain = dtype_of(element)
    return plain is not None and np.dtype(plain).str == kind.str


def poly(content: bytes, element: int) -> int:
    """Values are little-endian words: signed ones as they are, all else without a sign; the last
    one is filled up with zeros."""
    size = width(element)
    padded = content + bytes(-len(content) % size)
    signed = Element(element) in _SIGNED
    total = 0
    for at in range(len(padded) - size, -1, -size):
        value = int.from_bytes(padded[at : at + size], "little", signed=signed)
        total = (total * BASE + value) % PRIME
    return total


def sketch(content: bytes, element: int) -> npt.NDArray[np.float64]:
    """Shape (SKETCH,): Σ wᵢxᵢ for two families of weights in (−1, 1), and Σ |xᵢ|; zeros where
    elements are no floating numbers. A complex number is two. Whoever compares sketches of n
    elements allows n·ε·Σ|xᵢ| for rounding."""
    if Element(element) not in _FLOATING:
        return np.zeros(SKETCH)
    part = np.float32 if element in (Element.FLOAT32, Element.COMPLEX64) else np.float64
    whole = len(content) // np.dtype(part).itemsize * np.dtype(part).itemsize
    numbers = np.frombuffer(content[:whole], part).astype(np.float64)
    index = np.arange(len(numbers))
    weights, factors = _weights(), _factors(-(-len(numbers) // _PERIOD))
    scaled = numbers * factors[index // _PERIOD]
    first, second = (float(np.sum(scaled * family[index % _PERIOD])) for family in weights)
    return np.array([first, second, float(np.sum(np.abs(numbers)))])


def extremes(content: bytes, element: int) -> npt.NDArray[np.float64]:
    """Shape (EXTREMES,): the largest element of those whose index is 0, 1, 2, 3 modulo 4, then the
    smallest ones, as double; zeros where elements have no order. Those of a MAX or MIN of contents
    are the MAX or MIN of theirs."""
    dtype = dtype_of(element) if Element(element) in _ORDERED else None
    if dtype is None or len(content) < 4 * np.dtype(dtype).itemsize:
        return np.zeros(EXTREMES)
    size = np.dtype(dtype).itemsize
    numbers = np.frombuffer(content[: len(content) // size * size], dtype)
    classes = [numbers[first::4].astype(np.float64) for first in range(4)]
    return np.array([part.max() for part in classes] + [part.min() for part in classes])


def _mix(number: int) -> int:
    """SplitMix64 (Steele, Lea and Flood, 2014)."""
    mask = (1 << 64) - 1
    number = (number + 0x9E3779B97F4A7C15) & mask
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & mask
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & mask
    return number ^ (number >> 31)


@functools.cache
def _weights() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    first, second = (
        np.array([(_mix(family * _PERIOD + at) >> 11) * 2.0**-52 - 1 for at in range(_PERIOD)])
        for family in range(2)
    )
    return first, second


def _factors(periods: int) -> npt.NDArray[np.float64]:
    """One a period, in [0.5, 1)."""
    return np.array([0.5 + (_mix(~at & ((1 << 64) - 1)) >> 11) * 2.0**-54 for at in range(periods)])
