"""A message has one deadline, whatever its server does: the daemon goes on, and reports it."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable

import pytest

from plumbline.daemon import notify
from plumbline.daemon.configuration import Notify
from plumbline.daemon.service import Notifier
from plumbline_db import watching
from plumbline_db.connection import Database
from tests.tuner.daemon.test_notify import NEWS, served
from tests.tuner.daemon.watching import Clock

Reply = Callable[[socket.socket], None]


def drips(first: bytes) -> Reply:
    """A server that sends `first`, and then one byte at a time without end."""

    def reply(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    return reply


def says_nothing(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def webhook(port: int, scheme: str = "http") -> Notify:
    return Notify(webhook=f"{scheme}://127.0.0.1:{port}/hook")


HEAD = b"HTTP/1.1 200 OK\r\n"
SERVERS: dict[str, tuple[Reply, Callable[[int], Notify]]] = {
    "a head that drips": (drips(b"HTTP/1.1 200"), webhook),
    "a header that drips": (drips(HEAD + b"X-Long: "), webhook),
    "a body that drips": (drips(HEAD + b"Content-Length: 1000000\r\n\r\n"), webhook),
    "no answer": (says_nothing, webhook),
    "no handshake": (says_nothing, lambda port: webhook(port, "https")),
}


@pytest.mark.parametrize("name", SERVERS)
def test_no_server_holds_the_daemon(
    db: Database, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is let go of: else it would never return here."""
    monkeypatch.setattr(notify, "SECONDS", 0.5)
    reply, table = SERVERS[name]

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                reply(self.request)

    with served(Handler) as port:
        (said,) = notify.tell(db, table(port), [NEWS], Clock())
    assert "failed: TimeoutError: " in said
    (kept,) = watching.told(db, "")
    assert kept.state == "failed" and kept.detail in said
    assert not [one for one in threading.enumerate() if one.name == "message" and stays(one)]


def stays(thread: threading.Thread) -> bool:
    thread.join(60)
    return thread.is_alive()


def test_a_service_manager_that_reads_nothing_holds_nobody(
    tmp_path: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{tmp_path}/notify"
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    monkeypatch.setattr("plumbline.daemon.service._NOTIFY_SECONDS", 0.01)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        notifier = Notifier()
        for _ in range(100):  # more than its buffer takes
            notifier.status("x" * 4096)
        assert manager.recv(16).startswith(b"STATUS=")
