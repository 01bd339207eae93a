"""Lists of 64-bit integers as SQLite keeps them: the least of them, and how much more each is, in
as many bytes as the greatest needs, little-endian and in their order. Long texts beside them.
docs/design/database.md has what else was tried."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from plumbline_db.errors import PlumblineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEAD = 9  # bytes before a list that stands alone: width, least
_MOST_BYTES = 2**22  # of a text; one that is longer was not written here
_MOST_EQUAL = 2**12  # values that take no bytes; more of them get one each
_MOST_FOR_NOTHING = 2**22
_OF_A_ROW = 16  # numbers that the rest of a row stands for, whatever its bytes are
_WHOLE = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}


def packed(values: Iterable[int]) -> tuple[int, bytes]:
    """The least value (0: there is none), and the others less that. Values that are all equal take
    no bytes. OverflowError when one does not fit 64 bits."""
    return packed_lists([list(values)])[0]


def packed_lists(lists: Sequence[Sequence[int]]) -> list[tuple[int, bytes]]:
    """Return what `packed` makes of each of many lists."""
    import numpy as np

    lengths = np.array([len(values) for values in lists], "<i8")
    full = lengths > 0
    if not full.any():
        return [(0, b"")] * len(lists)
    every = np.fromiter(chain.from_iterable(lists), "<i8", int(lengths.sum()))
    starts = (np.cumsum(lengths) - lengths)[full]
    least = np.minimum.reduceat(every, starts)
    rest = (every - np.repeat(least, lengths[full])).view("<u8")
    most = np.maximum.reduceat(rest, starts).tolist()
    stored: dict[int, bytes] = {}  # all values in so many bytes
    found = []
    at = 0
    ends = iter(zip(least.tolist(), most, strict=True))
    for count in lengths.tolist():
        smallest, largest = next(ends) if count else (0, 0)
        width = (largest.bit_length() + 7) // 8
        if width == 0 and count > _MOST_EQUAL:
            width = 1
        if width not in stored:
            stored[width] = in_bytes(rest, width)
        found.append((smallest, stored[width][width * at : width * (at + count)]))
        at += count
    return found


def in_bytes(values: NDArray[np.uint64], width: int) -> bytes:
    """Each in so many bytes; none where the width is 0."""
    if width in _WHOLE:
        return values.astype(_WHOLE[width]).tobytes()
    return values.astype("<u8").view("<u1").reshape(-1, 8)[:, :width].tobytes()


def whole_bytes(values: NDArray[np.uint64]) -> bytes:
    """Each in as many bytes as the greatest needs; none where all are 0."""
    return in_bytes(values, (int(values.max(initial=0)).bit_length() + 7) // 8)


def unpacked(least: int, stored: bytes, count: int) -> NDArray[np.int64]:
    """The inverse of `packed` for so many values. Raises ValueError where they cannot be that
    many, or no integers of 64 bits."""
    import numpy as np

    return numbers(stored, count).view("<i8") + np.int64(least)


def numbers(stored: bytes, count: int) -> NDArray[np.uint64]:
    """The inverse of `whole_bytes`."""
    import numpy as np

    if not stored:
        if not 0 <= count <= _MOST_EQUAL:
            raise ValueError(f"no bytes hold no {count} numbers")
        return np.zeros(count, "<u8")
    width, rest = divmod(len(stored), count) if count else (0, 1)
    if rest or width > 8:
        raise ValueError(f"{len(stored)} bytes hold no {count} numbers")
    if width in _WHOLE:
        return np.frombuffer(stored, _WHOLE[width]).astype("<u8")
    padded = np.zeros((count, 8), "<u1")
    padded[:, :width] = np.frombuffer(stored, "<u1").reshape(count, width)
    return padded.reshape(-1).view("<u8")


def require_bytes(counted: Iterable[tuple[int, bytes]]) -> None:
    """Raises ValueError where lists that are read together, each with its bytes, have more numbers
    than those can hold: equal ones take no bytes, and a layout may stand for many rows."""
    for_nothing = sum(max(0, count - _OF_A_ROW) for count, stored in counted if not stored)
    if for_nothing > _MOST_FOR_NOTHING:
        raise ValueError(f"{for_nothing} numbers of which no byte is there")


def blob(values: Sequence[int]) -> bytes:
    """A list that stands alone: width, least, and what `packed` makes of it, at least a byte a
    value. OverflowError when one does not fit 64 bits."""
    least, body = packed(values)
    if not len(values):
        return b""
    body = body or bytes(len(values))
    width = len(body) // len(values)
    return bytes([width]) + least.to_bytes(8, "little", signed=True) + body


def array(stored: bytes) -> NDArray[np.int64]:
    """The inverse of `blob`. Raises ValueError for what is none."""
    import numpy as np

    if not stored:
        return np.zeros(0, "<i8")
    body = stored[_HEAD:]
    width = stored[0]
    if not 1 <= width <= 8 or not body or len(body) % width:
        raise ValueError(f"{len(stored)} bytes are no list of numbers of {width} bytes")
    least = int.from_bytes(stored[1:_HEAD], "little", signed=True)
    return unpacked(least, body, len(body) // width)


def times(stored: bytes) -> list[int]:
    """As `array`."""
    found: list[int] = array(stored).tolist()
    return found


def text_blob(text: str) -> bytes:
    """A long text. Raises PlumblineError where it is longer than one that can be read back."""
    data = text.encode()
    if len(data) > _MOST_BYTES:
        raise PlumblineError(
            f"a text of {len(data)} bytes, of which {_MOST_BYTES} can be kept: measure less at a "
            "time (fewer sizes, functions or ranks)"
        )
    return zlib.compress(data, 9)


def text(stored: bytes) -> str:
    """The inverse of `text_blob`. Raises ValueError for what is none."""
    inflating = zlib.decompressobj()
    try:
        found = inflating.decompress(stored, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"no text of zlib's: {error}") from error
    if not inflating.eof or inflating.unused_data:
        raise ValueError("no text of zlib's: it is cut, goes on, or is too long")
    return found.decode()
