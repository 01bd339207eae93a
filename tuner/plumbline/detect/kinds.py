"""The numbers that stand in recordings for kinds of events, modes, elements, operators and flags,
and the hashes of contents. probes/recorder/event.h has the same ones."""

from __future__ import annotations

import enum

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


# The hashes that the recorder computes of a message's content, as it is defined, and what follows
# of several.
# `poly` is a polynomial modulo the prime 2^61 − 1 (Karp and Rabin, 1987): Σ vᵢ·BASEⁱ over a
# message's values. It survives concatenation and splitting behind whole values, and sums of
# integers that do not overflow. `sketch` is linear (two random projections and the L1 norm) and
# survives sums of floating numbers to within rounding. probes/recorder/hash.c computes them,
# and tests/tuner/detect/hashes.py the same step by step.

PRIME = (1 << 61) - 1
SKETCH = 3  # numbers of a sketch: two projections, L1 norm
EXTREMES = 8  # largest values of four classes, smallest values of four classes

_NARROW = {
    Element.INT8: 1,
    Element.UINT8: 1,
    Element.INT16: 2,
    Element.UINT16: 2,
    Element.INT32: 4,
    Element.UINT32: 4,
    Element.FLOAT32: 4,
}


def width(element: int) -> int:
    """Bytes of a value of the polynomial: an integer's own width, 4 of float, else 8."""
    return _NARROW.get(Element(element), 8)
