"""Mail over TLS, with a password, to a server that is there."""

from __future__ import annotations

import base64
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from plumbline.daemon import mail, notify
from plumbline.daemon.configuration import Notify
from plumbline_db import watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from tests.exporters.certificates import Authority
from tests.tuner.daemon.test_notify import NEWS
from tests.tuner.daemon.watching import Clock

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
def served(server: Server) -> Iterator[Notify]:
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
    with served(server) as table:
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
    with served(server) as table:
        (said,) = notify.tell(db, with_password(table, tmp_path), [NEWS], Clock())
    assert "certificate verify failed" in said
    assert not any("AUTH" in line or "MPI" in line for _, line in server.lines)


def test_a_wrong_password_is_said_and_not_shown(
    db: Database, trusted: ssl.SSLContext, tmp_path: Path
) -> None:
    with served(Server(trusted, "tls")) as table:
        (said,) = notify.tell(db, with_password(table, tmp_path, "s3cret"), [NEWS], Clock())
    assert "refuses ann (code 535)" in said
    (kept,) = watching.told(db, "")
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
