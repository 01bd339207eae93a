"""A change told by mail and webhook: to a server that is there, over TLS, and so often."""

from __future__ import annotations

import base64
import http.server
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from plumbline.daemon import mail, notify
from plumbline.daemon.configuration import Notify
from plumbline.daemon.told import Told
from plumbline_db import notices
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from tests.exporters.certificates import Authority
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
    told, (kept,) = json.loads(*got), notices.since(db, "")
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
    (kept,) = notices.since(db, "")
    assert kept.state == "failed" and kept.detail in said


def test_so_many_a_day(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setitem(notify.SENDERS, "webhook", lambda _n, _s, text, _t: sent.append(text))
    clock, table = Clock(), Notify(webhook="http://127.0.0.1:1/", most_a_day=2)
    for _ in range(5):
        clock.sleep(minutes=1)
        notify.tell(db, table, [NEWS], clock)
    assert [one.state for one in notices.since(db, "")] == ["sent"] * 2 + ["held back"] * 3
    clock.sleep(hours=24)
    notify.tell(db, table, [NEWS], clock)
    assert len(sent) == 3 and "3 messages before this one were held back" in sent[-1]


def test_a_template_reaches_nothing_else() -> None:
    table = Notify(template="${what.__class__} $unknown $$5 $table")
    text = notify.text_of(table, msgspec.structs.replace(NEWS, table="$what"))
    assert text == "${what.__class__} $unknown $5 $what"


# --- mail over TLS --------------------------------------------------------------------------------


PASSWORD = "correct horse"
RIGHT = base64.b64encode(f"\0ann\0{PASSWORD}".encode()).decode()


@dataclass
class Server:
    """One that wants a password after TLS. `lines`: what it heard, and by which way."""

    context: ssl.SSLContext
    tls: Literal["starttls", "tls"]
    lines: list[tuple[bool, str]] = field(default_factory=list)
    port: int = 0

    def talk(self, connection: socket.socket) -> None:
        secret = self.tls == "tls"
        if secret:
            connection = self.context.wrap_socket(connection, server_side=True)
        connection.sendall(b"220 here\r\n")
        file, data = connection.makefile("rb"), False
        while raw := file.readline():
            line = raw.decode().rstrip("\r\n")
            self.lines.append((secret, line))
            if data:
                data = line != "."
                if not data:
                    connection.sendall(b"250 taken\r\n")
                continue
            word = line.partition(" ")[0].upper()
            if word == "EHLO":
                more = "250 AUTH PLAIN" if secret else "250 STARTTLS"
                connection.sendall(f"250-here\r\n{more}\r\n".encode())
            elif word == "STARTTLS":
                connection.sendall(b"220 go on\r\n")
                connection = self.context.wrap_socket(connection, server_side=True)
                file, secret = connection.makefile("rb"), True
            elif word == "AUTH":
                right = line == f"AUTH PLAIN {RIGHT}"
                connection.sendall(b"235 yes\r\n" if right else f"535 no {line}\r\n".encode())
            elif word == "DATA":
                data = True
                connection.sendall(b"354 go on\r\n")
            elif word == "QUIT":
                connection.sendall(b"221 bye\r\n")
                return
            else:
                connection.sendall(b"250 yes\r\n")


@contextmanager
def over_tls(server: Server) -> Iterator[Notify]:
    """Its configuration, without a password."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                server.talk(self.request)
            except (OSError, ssl.SSLError):  # a client that does not believe it
                return

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield Notify(
                mail_to=("ada@example.org",),
                mail_from="plumbline@example.org",
                smtp=f"127.0.0.1:{listener.server_address[1]}",
                smtp_tls=server.tls,
            )
        finally:
            listener.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    found = Authority(tmp_path_factory.mktemp("certificates"))
    found.sign("server", "IP:127.0.0.1")
    return found


@pytest.fixture
def context(authority: Authority) -> ssl.SSLContext:
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(authority.path("server.crt"), authority.path("server.key"))
    return found


@pytest.fixture
def trusted(
    authority: Authority, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> ssl.SSLContext:
    """Of a server that the authorities of this machine vouch for."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path("ca.crt")))
    return context


def with_password(table: Notify, folder: Path, password: str = PASSWORD) -> Notify:
    file = folder / "password"
    file.write_text(password + "\n")
    file.chmod(0o600)
    return msgspec.structs.replace(table, smtp_user="ann", smtp_password_file=str(file))


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_nothing_secret_goes_in_the_clear(
    db: Database, trusted: ssl.SSLContext, tmp_path: Path, tls: Literal["starttls", "tls"]
) -> None:
    server = Server(trusted, tls)
    with over_tls(server) as table:
        assert notify.tell(db, with_password(table, tmp_path), [NEWS], Clock()) == []
    assert (True, f"AUTH PLAIN {RIGHT}") in server.lines
    clear = [line for secret, line in server.lines if not secret]
    assert {line.partition(" ")[0].upper() for line in clear} <= {"EHLO", "STARTTLS"}
    assert any("MPI_Bcast at 64 B" in line for _, line in server.lines)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_server_that_nobody_vouches_for_gets_nothing(
    db: Database, context: ssl.SSLContext, tmp_path: Path, tls: Literal["starttls", "tls"]
) -> None:
    server = Server(context, tls)
    with over_tls(server) as table:
        (said,) = notify.tell(db, with_password(table, tmp_path), [NEWS], Clock())
    assert "certificate verify failed" in said
    assert not any("AUTH" in line or "MPI" in line for _, line in server.lines)


def test_a_wrong_password_is_said_and_not_shown(
    db: Database, trusted: ssl.SSLContext, tmp_path: Path
) -> None:
    with over_tls(Server(trusted, "tls")) as table:
        (said,) = notify.tell(db, with_password(table, tmp_path, "s3cret"), [NEWS], Clock())
    assert "refuses ann (code 535)" in said
    (kept,) = notices.since(db, "")
    wrong = base64.b64encode(b"\0ann\0s3cret").decode()
    for text in (said, kept.detail):
        assert "s3cret" not in text and wrong not in text


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [(0o640, "x\n", "chmod 600"), (0o604, "x\n", "chmod 600"), (0o600, "\n", "is empty")],
)
def test_a_file_that_others_may_read_is_refused(
    tmp_path: Path, mode: int, text: str, said: str
) -> None:
    file = tmp_path / "password"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(PlumblineError, match=said):
        mail.password(str(file))
    with pytest.raises(PlumblineError, match="no plain file"):
        mail.password(str(tmp_path))
    with pytest.raises(PlumblineError, match="cannot read"):
        mail.password(str(tmp_path / "gone"))
