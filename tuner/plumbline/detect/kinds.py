"""The numbers that stand in recordings for kinds of events, modes, elements, operators and flags,
and the hashes of contents. probes/recorder/event.h has the same ones."""

from __future__ import annotations

import enum
import functools

import numpy as np
import numpy.typing as npt


class EventKind(enum.IntEnum):
    """The kind of an event. Each call of a collective has an input and an output on every rank."""

    SEND = 1
    RECEIVE = 2
    INPUT = 3  # what a rank gives to a collective; no bytes where it gives nothing
    OUTPUT = 4  # what a rank gets from it


class Mode(enum.IntEnum):
    """The mode in which a message is sent. Receives and collectives are STANDARD."""

    STANDARD = 0
    SYNCHRONOUS = 1
    BUFFERED = 2
    READY = 3


class Flag(enum.IntFlag):
    """A flag with what else is known of an event."""

    NONBLOCKING = 1  # completed by another call than the one that began it
    PERSISTENT = 2  # begun by MPI_Start
    PARTITIONED = 4
    ANY_SOURCE = 8  # `peer` is the one that it came from
    ANY_TAG = 16  # `tag` is the one that it came with
    NOT_CONTIGUOUS = 32  # gaps between `address` and `address + extent`; hashes are of packed bytes
    IN_PLACE = 64  # of a collective
    CANCELLED = 128  # nothing was sent or received
    INCOMPLETE = 256  # not completed when the recording ended: no content where it is a receive
    UNKNOWN_CONTENT = 512  # completed unseen (MPI_Request_free), or out of reach of the hashes
    FAILED = 1024  # the call returned an error: truncated, for one
    EXCHANGE = 2048  # half of a MPI_Sendrecv or MPI_Sendrecv_replace
    MATCHED_PROBE = 4096  # received by MPI_Mrecv or MPI_Imrecv
    NEIGHBOURS = 8192  # a collective over the edges of a topology


class Element(enum.IntEnum):
    """The kind of all elements of a message, whatever language named the type. MIXED: several
    kinds, or one without a predefined operator."""

    MIXED = 0
    INT8 = 1
    UINT8 = 2
    INT16 = 3
    UINT16 = 4
    INT32 = 5
    UINT32 = 6
    INT64 = 7
    UINT64 = 8
    FLOAT32 = 9
    FLOAT64 = 10
    COMPLEX64 = 11
    COMPLEX128 = 12
    LOGICAL = 13  # of C, C++ and Fortran
    CHARACTER = 14
    BYTE = 15  # MPI_BYTE and MPI_PACKED
    FLOAT32_INT32 = 16  # pairs, for MAXLOC and MINLOC; packed
    FLOAT64_INT32 = 17
    INT64_INT32 = 18
    INT32_INT32 = 19
    INT16_INT32 = 20
    FLOAT32_FLOAT32 = 21  # of Fortran
    FLOAT64_FLOAT64 = 22


class ReductionOperator(enum.IntEnum):
    """The operator of a reduction."""

    NONE = 0
    SUM = 1
    PROD = 2
    MAX = 3
    MIN = 4
    LAND = 5
    LOR = 6
    LXOR = 7
    BAND = 8
    BOR = 9
    BXOR = 10
    MAXLOC = 11
    MINLOC = 12
    REPLACE = 13
    NO_OP = 14
    USER = 15


_PAIRS = {
    Element.FLOAT32_INT32: ("<f4", "<i4"),
    Element.FLOAT64_INT32: ("<f8", "<i4"),
    Element.INT64_INT32: ("<i8", "<i4"),
    Element.INT32_INT32: ("<i4", "<i4"),
    Element.INT16_INT32: ("<i2", "<i4"),
    Element.FLOAT32_FLOAT32: ("<f4", "<f4"),
    Element.FLOAT64_FLOAT64: ("<f8", "<f8"),
}
_PLAIN = {
    Element.INT8: "<i1",
    Element.UINT8: "<u1",
    Element.INT16: "<i2",
    Element.UINT16: "<u2",
    Element.INT32: "<i4",
    Element.UINT32: "<u4",
    Element.INT64: "<i8",
    Element.UINT64: "<u8",
    Element.FLOAT32: "<f4",
    Element.FLOAT64: "<f8",
    Element.COMPLEX64: "<c8",
    Element.COMPLEX128: "<c16",
    Element.CHARACTER: "<u1",
    Element.BYTE: "<u1",
}


def dtype_of(element: int) -> npt.DTypeLike | None:
    """Return how NumPy reads packed elements: a structure (`value`, `index`) of pairs. None where
    the width of an element is not known from its kind."""
    pair = _PAIRS.get(Element(element))
    if pair is not None:
        return np.dtype([("value", pair[0]), ("index", pair[1])])
    plain = _PLAIN.get(Element(element))
    return None if plain is None else np.dtype(plain)


def element_of(dtype: npt.DTypeLike) -> Element:
    """The kind that a NumPy array has; MIXED where there is none."""
    text = np.dtype(dtype).newbyteorder("<").str.replace("|", "<")
    return next((element for element, name in _PLAIN.items() if name == text), Element.MIXED)


# The hashes that the recorder computes of a message's content, as it is defined, and what follows
# of several.
# `poly` is a polynomial modulo the prime 2^61 − 1 (Karp and Rabin, 1987): Σ vᵢ·BASEⁱ over a
# message's values. It survives concatenation and splitting behind whole values, and sums of
# integers that do not overflow. `sketch` is linear (two random projections and the L1 norm) and
# survives sums of floating numbers to within rounding. probes/recorder/hash.c computes the same in
# fewer steps.

PRIME = (1 << 61) - 1
BASE = 0x0A3F_51C9_7E82_B46D
SKETCH = 3  # numbers of a sketch: two projections, L1 norm
EXTREMES = 8  # largest values of four classes, smallest values of four classes
_PERIOD = 512  # of the weights; every further period has a factor of its own

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
