"""Long texts as SQLite keeps them, compressed by zlib: plans, headers, and the records of a launch,
a line each."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Footer, Header, Load, ProbeRecord

# Longer texts cannot have been written by Plumbline.
_MOST_TEXT_BYTES = 2**22
_MOST_RECORDS_BYTES = 2**28
_RECORDS_LEVEL = 1  # four fifths of what level 9 saves, in a thirteenth of its time
_OWN_COLUMNS = (Header, Load, Footer)

_encoder = msgspec.json.Encoder()


def text_blob(text: str) -> bytes:
    """Return a long text as it is stored. Raises PlumblineError where it is longer than one that
    can be read back."""
    return _deflated(text.encode(), most=_MOST_TEXT_BYTES, level=9)


def text(stored: bytes) -> str:
    """Return the inverse of `text_blob`. Raises ValueError for what is none."""
    return _inflated(stored, most=_MOST_TEXT_BYTES).decode()


def records_blob(records: Iterable[ProbeRecord]) -> bytes:
    """Return the records of a launch as they are stored, without those that have columns of their
    own. Raises PlumblineError where they are more than can be read back."""
    kept = [record for record in records if not isinstance(record, _OWN_COLUMNS)]
    return _deflated(_encoder.encode_lines(kept), most=_MOST_RECORDS_BYTES, level=_RECORDS_LEVEL)


def record_lines(stored: bytes) -> list[bytes]:
    """Return the lines of the inverse of `records_blob`. Raises ValueError for what is none."""
    return _inflated(stored, most=_MOST_RECORDS_BYTES).splitlines()


def _deflated(data: bytes, *, most: int, level: int) -> bytes:
    if len(data) > most:
        raise PlumblineError(
            f"a text of {len(data)} bytes, of which {most} can be kept: measure less at a time "
            "(fewer sizes, functions or ranks)"
        )
    return zlib.compress(data, level)


def _inflated(stored: bytes, *, most: int) -> bytes:
    inflating = zlib.decompressobj()
    try:
        data = inflating.decompress(stored, most)
    except zlib.error as error:
        raise ValueError(f"not compressed by zlib: {error}") from error
    if not inflating.eof or inflating.unused_data:
        raise ValueError("not compressed by zlib: cut off, followed by more data, or too long")
    return data
