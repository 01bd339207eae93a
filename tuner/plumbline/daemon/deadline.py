"""One deadline for a whole message: name look-up, connection, TLS and every answer of the server.
Time limits of single reads do not end a server that sends a byte a second; they are twice as long,
so that this one always comes first."""

from __future__ import annotations

import contextlib
import contextvars
import socket
import threading
from collections.abc import Callable

SECONDS = 30.0


class _Message:
    """The connections that a message has opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._connections: list[socket.socket] = []
        self.failure: BaseException | None = None

    def connected(self, connection: socket.socket) -> None:
        """Keep a second descriptor: TLS replaces the object, but not the connection."""
        with self._lock:
            self._connections.append(connection.dup())
        if self._over:
            self.end()

    def end(self) -> None:
        """Shut down all connections, so that whoever waits for one returns."""
        with self._lock:
            self._over = True
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            self._connections.clear()


_MESSAGE: contextvars.ContextVar[_Message] = contextvars.ContextVar("message")


def connected(connection: socket.socket) -> None:
    """End this connection at the deadline of the message that opened it."""
    if (message := _MESSAGE.get(None)) is not None:
        message.connected(connection)


def run(send: Callable[[], None], seconds: float) -> None:
    """Call `send`. Raises what it raises, and TimeoutError where it has not returned in time."""
    message = _Message()

    def work() -> None:
        _MESSAGE.set(message)
        try:
            send()
        except BaseException as error:
            message.failure = error

    # A name look-up cannot be cancelled: the thread stays until the system ends the look-up.
    thread = threading.Thread(target=work, name="message", daemon=True)
    thread.start()
    thread.join(seconds)
    in_time = not thread.is_alive()
    message.end()
    if not in_time:
        raise TimeoutError(f"the server had not taken the message after {seconds:g} s; given up")
    if message.failure is not None:
        raise message.failure
