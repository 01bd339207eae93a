"""A change told by a command and a webhook, and so often."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec
import pytest

from plumbline.daemon import notify
from plumbline.daemon.configuration import Notify
from plumbline.daemon.notify import Told
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


def test_a_command_reads_the_text(db: Database, tmp_path: Path) -> None:
    """The arguments of the program are one line each, and no shell sees them."""
    script = 'printf "%s|" "$@" > "$0"; cat >> "$0"'
    command = ("sh", "-c", script, str(tmp_path / "mail"), "-s", "$what; `false`", "ann@example")
    table = Notify(command=command, template="$what at $host: $table")
    assert notify.tell(db, table, [NEWS], Clock()) == []
    head, text = (tmp_path / "mail").read_text().split("ann@example|")
    assert head == "-s|c-1: 1 cell slower Bcc: eve@example.org; `false`|"
    assert "MPI_Bcast at 64 B" in text
    assert watching.told(db, "")[0].way == "command"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("sh", "-c", "echo no route >&2; exit 3"), "sh ended with status 3: no route"),
        (("/no/such/program",), "FileNotFoundError"),
        (("sleep", "600"), "sleep ran for 0.5 s and was killed"),
    ],
    ids=["fails", "is not there", "never ends"],
)
def test_a_command_that_fails(
    db: Database, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], why: str
) -> None:
    monkeypatch.setattr(notify, "SECONDS", 0.5)
    (said,) = notify.tell(db, Notify(command=command), [NEWS], Clock())
    (kept,) = watching.told(db, "")
    assert why in said or "TimeoutError" in said
    assert kept.state == "failed" and kept.detail in said


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
