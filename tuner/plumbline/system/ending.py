"""Ends of commands by signals. The first SIGINT, SIGTERM or SIGHUP raises Ended where the main
thread stands, so that ranks are ended, transactions taken back and folders removed on the way out.
The second raises nothing, so that nothing of this is cut short: who waits for others asks
`in_haste`. A third one is as the first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = signal.Signals(number)

    @property
    def by_hand(self) -> bool:
        """Return whether it was ended by who sits at the keyboard and sees it; else by a system
        that goes down, or a line."""
        return self.signal == signal.SIGINT


class _State:
    received = 0
    held = 0
    waiting: int | None = None


_state = _State()


@contextmanager
def by_signals() -> Iterator[None]:
    """Let signals end what runs, as long as the block lasts. A signal that this process was started
    to ignore (nohup) is."""
    if not _is_main():
        yield
        return
    _state.received, _state.waiting = 0, None
    heard = [
        number for number in _SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)
    ]
    before = {number: signal.signal(number, _receive) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held() -> Iterator[None]:
    """Ended is raised at the end of the block, not in it."""
    if not _is_main():
        yield
        return
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1
        if _state.waiting is not None and not _state.held:
            number, _state.waiting = _state.waiting, None
            raise Ended(number)


def in_haste() -> bool:
    """A second signal has come."""
    return _state.received > 1


def _receive(number: int, frame: FrameType | None) -> None:
    del frame
    _state.received += 1
    if _state.received == 2:
        return
    if _state.held:
        _state.waiting = number
        return
    raise Ended(number)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
