"""A change told by mail and webhook: to a server that is there, and so often."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import msgspec
import pytest

from plumbline.daemon import notify
from plumbline.daemon.configuration import Notify
from plumbline.daemon.told import Told
from plumbline_db import watching
from plumbline_db.connection import Database
from tests.tuner.daemon.watching import Clock

NEWS = Told("c-1", "c-1: 1 cell slower\nBcc: eve@example.org", "MPI_Bcast at 64 B", "plumbline x")


@contextmanager
def served(handler: type[socketserver.BaseRequestHandler]) -> Iterator[int]:
    with socketserver.TCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def hook(bodies: list[str], status: int = 200, **headers: str) -> AbstractContextManager[int]:
    """The port of a server that keeps what is posted to it."""

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    return served(Hook)


def test_a_webhook_gets_json(db: Database) -> None:
    got: list[str] = []
    with hook(got) as port:
        table = Notify(webhook=f"http://127.0.0.1:{port}/hook")
        assert notify.tell(db, table, [NEWS], Clock()) == []
    told, (kept,) = json.loads(*got), watching.told(db, "")
    assert told["command"] == "plumbline x" and "MPI_Bcast at 64 B" in told["text"]
    assert (kept.way, kept.state) == ("webhook", "sent")


def test_a_redirect_is_not_followed(db: Database) -> None:
    with hook([], 307, Location="http://127.0.0.1:1/") as port:
        table = Notify(webhook=f"http://127.0.0.1:{port}/hook")
        (said,) = notify.tell(db, table, [NEWS], Clock())
    assert "307" in said


def test_a_mail_is_sent(db: Database) -> None:
    lines: list[str] = []

    class Server(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            data = False
            for raw in self.rfile:
                line = raw.decode().rstrip("\r\n")
                lines.append(line)
                if data:
                    data = line != "."
                    if not data:
                        self.wfile.write(b"250 taken\r\n")
                elif line.upper() == "DATA":
                    data = True
                    self.wfile.write(b"354 go on\r\n")
                elif line.upper() == "QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                else:
                    self.wfile.write(b"250 yes\r\n")

    with served(Server) as port:
        table = Notify(
            mail_to=("ada@example.org",),
            mail_from="plumbline@example.org",
            smtp=f"127.0.0.1:{port}",
            template="$what at $host: $table",
        )
        assert notify.tell(db, table, [NEWS], Clock()) == []
    text = "\n".join(lines)
    assert "Subject: [plumbline] c-1: 1 cell slower Bcc: eve@example.org" in text
    assert "\nBcc:" not in text.partition("\n\n")[0]
    assert sum(line.upper().startswith("RCPT TO") for line in lines) == 1
    assert "MPI_Bcast at 64 B" in text


def test_nobody_there_is_kept_and_said(db: Database) -> None:
    (said,) = notify.tell(db, Notify(webhook="http://127.0.0.1:1/"), [NEWS], Clock())
    (kept,) = watching.told(db, "")
    assert kept.state == "failed" and kept.detail in said


def test_so_many_a_day(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setitem(notify.SENDERS, "webhook", lambda _n, _s, text, _t: sent.append(text))
    clock, table = Clock(), Notify(webhook="http://127.0.0.1:1/", most_a_day=2)
    for _ in range(5):
        clock.sleep(minutes=1)
        notify.tell(db, table, [NEWS], clock)
    assert [one.state for one in watching.told(db, "")] == ["sent"] * 2 + ["held back"] * 3
    clock.sleep(hours=24)
    notify.tell(db, table, [NEWS], clock)
    assert len(sent) == 3 and "3 messages before this one were held back" in sent[-1]


def test_a_template_reaches_nothing_else() -> None:
    table = Notify(template="${what.__class__} $unknown $$5 $table")
    text = notify.text_of(table, msgspec.structs.replace(NEWS, table="$what"))
    assert text == "${what.__class__} $unknown $5 $what"
