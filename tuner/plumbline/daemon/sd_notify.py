"""What systemd is told of a service of Type=notify: a datagram to the socket that NOTIFY_SOCKET
names (sd_notify(3)). Without one nothing is told."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable

_SECONDS = 1.0  # for whoever reads the socket to make room


class Notifier:
    """Takes its socket out of the environment, so that what is started cannot speak for it."""

    def __init__(self) -> None:
        self._address = os.environ.pop("NOTIFY_SOCKET", "")
        os.environ.pop("WATCHDOG_PID", None)
        usec = os.environ.pop("WATCHDOG_USEC", "")
        self.watchdog_seconds = int(usec) / 1e6 if usec.isdecimal() else 0.0

    def tell(self, *lines: str) -> None:
        """`READY=1`, `STATUS=…`. Who does not listen is no error."""
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):  # an abstract socket
            address = "\0" + address[1:]
        text = "\n".join(line.replace("\n", " ") for line in lines)
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out,
        ):
            out.settimeout(_SECONDS)
            out.connect(address)
            out.sendall(text.encode())

    def ready(self, status: str) -> None:
        self.tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        self.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self.tell("STOPPING=1")

    def status(self, text: str) -> None:
        self.tell(f"STATUS={text}")


class Watchdog:
    """Tells systemd that the daemon lives, as long as its steps go on: a thread asks `lives` twice
    in each period. Launches may take long; that nobody comes back from one is what is found."""

    def __init__(self, notifier: Notifier, lives: Callable[[], bool]) -> None:
        self._notifier = notifier
        self._lives = lives
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Watchdog:
        if self._notifier.watchdog_seconds > 0:
            self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._notifier.watchdog_seconds / 3):
            if self._lives():
                self._notifier.tell("WATCHDOG=1")
