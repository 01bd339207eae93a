"""Standard output and standard error of the program: what a terminal cannot show has a number, and
a reader that goes away (`| head`) ends nothing."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


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
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
