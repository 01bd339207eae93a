"""Signals of the daemon. SIGTERM and SIGINT end it where it stands, as any command (system/ending):
ranks are ended, what was measured is kept. SIGHUP ends a pause, and asks for the configuration to
be read again between two steps."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Signals:
    """Made inside `ending.by_signals`, in the main thread."""

    def __init__(self) -> None:
        self._reload = False
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def reload_asked(self) -> bool:
        """Since this was asked last."""
        asked, self._reload = self._reload, False
        return asked

    def pause(self, seconds: float) -> None:
        """Ends early when SIGHUP comes; the others raise."""
        ready, _, _ = select.select([self._read], [], [], max(0.0, seconds))
        if ready:
            os.read(self._read, 4096)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._reload = True
        try:
            os.write(self._write, b"h")
        except BlockingIOError:  # it is full of what was not read yet
            return

    @contextmanager
    def heard(self) -> Iterator[None]:
        before = signal.signal(signal.SIGHUP, self._receive)
        try:
            yield
        finally:
            signal.signal(signal.SIGHUP, before)
            os.close(self._read)
            os.close(self._write)
