"""The hashes that the recorder computes of a message's content, as it is defined, and what follows
of several.

`poly` is a polynomial modulo the prime 2^61 − 1 (Karp and Rabin, 1987): Σ vᵢ·BASEⁱ over a message's
values. It survives concatenation and splitting behind whole values, and sums of integers that do
not overflow. `sketch` is linear (two random projections and the L1 norm) and survives sums of
floating numbers to within rounding. probes/recorder/hash.c computes the same in fewer steps."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from plumbline.detect.kinds import Element, dtype_of

PRIME = (1 << 61) - 1
BASE = 0x0A3F_51C9_7E82_B46D
SKETCH = 3  # numbers of a sketch: two projections, L1 norm
EXTREMES = 8  # largest values of four classes, smallest values of four classes
PERIOD = 512  # of the weights; every further period has a factor of its own

_SIGNED = {Element.INT8, Element.INT16, Element.INT32, Element.INT64}
_NARROW = {
    Element.INT8: 1,
    Element.UINT8: 1,
    Element.INT16: 2,
    Element.UINT16: 2,
    Element.INT32: 4,
    Element.UINT32: 4,
    Element.FLOAT32: 4,
}
_FLOATING = {Element.FLOAT32, Element.FLOAT64, Element.COMPLEX64, Element.COMPLEX128}
_ORDERED = set(_NARROW) | {Element.INT64, Element.UINT64, Element.FLOAT64}


def width(element: int) -> int:
    """Bytes of a value of the polynomial: an integer's own width, 4 of float, else 8."""
    return _NARROW.get(Element(element), 8)


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
    weights, factors = _weights(), _factors(-(-len(numbers) // PERIOD))
    scaled = numbers * factors[index // PERIOD]
    first, second = (float(np.sum(scaled * family[index % PERIOD])) for family in weights)
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
        np.array([(_mix(family * PERIOD + at) >> 11) * 2.0**-52 - 1 for at in range(PERIOD)])
        for family in range(2)
    )
    return first, second


def _factors(periods: int) -> npt.NDArray[np.float64]:
    """One a period, in [0.5, 1)."""
    return np.array([0.5 + (_mix(~at & ((1 << 64) - 1)) >> 11) * 2.0**-54 for at in range(periods)])
