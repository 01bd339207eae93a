"""Standard output and standard error of the program: what a terminal cannot show has a number, no
text of somebody's file commands a terminal, and a reader that goes away (`| head`) ends nothing."""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@cache
def _hidden() -> dict[int, None]:
    """Characters that nobody sees, and that a terminal or a reader takes for a command: C0 and C1
    but for tab and the end of a line, DEL, ends of lines and paragraphs, what turns the direction
    of a text, and tags. A joiner inside a word stays."""
    every = (*range(0x300), *range(0x2000, 0x2100), 0x61C, 0xFEFF, *range(0xFFF9, 0xFFFC))
    kept = {ord("\t"), ord("\n"), 0x200C, 0x200D, 0xAD}
    codes = [
        code
        for code in every
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp") and code not in kept
    ]
    return dict.fromkeys([*codes, *range(0xE0000, 0xE0080)])


def clean(text: str) -> str:
    """Remove all control characters except tab and newline."""
    return text if text.isascii() and text.isprintable() else text.translate(_hidden())


class _Clean(io.TextIOWrapper):
    """A stream of cleaned text. What a console of ours has laid out, whose texts are clean already,
    goes through `styled` with its colours."""

    def write(self, text: str, /) -> int:
        super().write(clean(text))
        return len(text)

    @property
    def styled(self) -> _Styled:
        return _Styled(self)


class _Styled:
    """The same stream, as it is written."""

    def __init__(self, stream: _Clean) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def styled(stream: TextIO) -> TextIO:
    """Return the stream that a console of ours writes to in place of `stream`."""
    return cast("TextIO", stream.styled) if isinstance(stream, _Clean) else stream


class _Unheard(io.FileIO):
    """A file whose reader may have gone: what is written then is dropped. Another error is raised
    once: what is left of the text is not written either."""

    _failed = False

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return memoryview(data).nbytes if self._failed else super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes
        except OSError:
            self._failed = True
            raise


def prepare() -> None:
    """Once, before anything is printed. What a test has put in place of a stream stays."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, _lasting(stream))


def _lasting(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    try:
        stream.flush()
        file = _Unheard(os.dup(stream.fileno()), "w")
    except (OSError, ValueError):  # nothing is there to write to
        stream.reconfigure(errors="backslashreplace")
        return stream
    return _Clean(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
