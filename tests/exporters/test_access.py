"""TLS, client certificates, passwords and tokens of `plumbline serve`, over real connections."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import signal
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import pytest
import yaml

from plumbline_db.connection import Database
from plumbline_exporters.access import Access
from tests.db import build
from tests.exporters.certificates import Authority
from tests.exporters.prometheus import scraping, served

PASSWORD = "correct horse"
TOKEN = "a-long-token"


def hashed(password: str) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


CONFIG = {
    "basic_auth_users": {"ann": hashed(PASSWORD)},
    "bearer_tokens": {"prometheus": hashlib.sha256(TOKEN.encode()).hexdigest()},
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    found = Authority(tmp_path_factory.mktemp("certificates"))
    found.sign("server", "DNS:localhost,IP:127.0.0.1")
    found.sign("scraper", "DNS:scraper.example")
    found.sign("stranger", "DNS:stranger.example")
    return found


def with_tls(authority: Authority, **more: object) -> dict[str, object]:
    names = {"cert_file": "server.crt", "key_file": "server.key"}
    paths = {key: str(authority.path(name)) for key, name in names.items()}
    return {"tls_server_config": {**paths, **more}}


class Server:
    def __init__(self, address: str, pid: int, file: Path, log: Path) -> None:
        self.address, self.pid, self.file, self.log = address, pid, file, log

    def ask(
        self, context: ssl.SSLContext | None, authorization: str = "", path: str = "/readyz"
    ) -> tuple[int, http.client.HTTPMessage]:
        host, _, port = self.address.partition(":")
        kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
        connection = kind(host, int(port), timeout=30, **({"context": context} if context else {}))
        headers = {"Authorization": authorization} if authorization else {}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, answer.headers


def start(folder: Path, config: object) -> Iterator[Server]:
    database, file, log = folder / "plumbline.db", folder / "web.yml", folder / "log"
    with Database.open(database, write=True) as db:
        build.done(db)
    file.write_text(yaml.safe_dump(config))
    options = ["--web-config", str(file)]
    with served(database, {}, options, log) as (address, pid):
        yield Server(address, pid, file, log)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from start(tmp_path_factory.mktemp("plain"), CONFIG)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Server]:
    """Client certificates of one name, and a password."""
    config = with_tls(
        authority,
        client_ca_file=str(authority.path("ca.crt")),
        client_auth_type="RequireAndVerifyClientCert",
        client_allowed_sans=["scraper.example"],
        min_version="TLS13",
    )
    yield from start(tmp_path_factory.mktemp("strict"), {**CONFIG, **config})


def client(authority: Authority, name: str = "") -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.path("ca.crt")))
    if name:
        context.load_cert_chain(authority.path(f"{name}.crt"), authority.path(f"{name}.key"))
    return context


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("", 401),
        (basic("ann", PASSWORD), 200),
        (basic("ann", PASSWORD).replace("Basic", "bAsIc"), 200),
        (f"Bearer {TOKEN}", 200),
        (basic("ann", "wrong"), 401),
        (basic("ann", "x" * 100), 401),  # longer than bcrypt looks at
        (basic("eve", PASSWORD), 401),
        ("Basic ann:correct horse", 401),
        ("Basic " + base64.b64encode(b"\xff\xfe").decode(), 401),
        ("Bearer wrong", 401),
        ("Bearer", 401),
        (f"Token {TOKEN}", 401),
    ],
)
def test_who_is_let_in(plain: Server, authorization: str, status: int) -> None:
    for path in ("/readyz", "/metrics", "/", "/no/such/page"):
        found, headers = plain.ask(None, authorization, path)
        assert found == (404 if status == 200 and "no" in path else status), path
        assert headers.get("WWW-Authenticate") == (None if status == 200 else "Basic")


def test_a_client_without_a_certificate_gets_nothing(strict: Server, authority: Authority) -> None:
    with pytest.raises(OSError):
        strict.ask(client(authority), basic("ann", PASSWORD))


def test_a_certificate_of_another_name_gets_nothing(strict: Server, authority: Authority) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        strict.ask(client(authority, "stranger"), basic("ann", PASSWORD))
    assert "client_allowed_sans" in strict.log.read_text()


def test_certificate_and_password(strict: Server, authority: Authority) -> None:
    context = client(authority, "scraper")
    assert strict.ask(context, basic("ann", PASSWORD))[0] == 200
    assert strict.ask(context)[0] == 401


def test_an_older_tls_is_refused(strict: Server, authority: Authority) -> None:
    context = client(authority, "scraper")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(OSError):
        strict.ask(context, basic("ann", PASSWORD))


def test_plain_text_to_a_server_with_tls(strict: Server) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        strict.ask(None, basic("ann", PASSWORD))


def test_prometheus_scrapes_it(strict: Server, authority: Authority, tmp_path: Path) -> None:
    files = {"ca": "ca.crt", "cert": "scraper.crt", "key": "scraper.key"}
    paths = {f"{key}_file": str(authority.path(name)) for key, name in files.items()}
    scrape = {
        "scheme": "https",
        "tls_config": paths,
        "basic_auth": {"username": "ann", "password": PASSWORD},
    }
    with scraping(tmp_path, strict.address, scrape) as prometheus:
        prometheus.wait('up{job="plumbline"} == 1')
        prometheus.wait("plumbline_violations")


def waits(server: Server, words: str, times: int = 1) -> None:
    deadline = time.monotonic() + 30
    while server.log.read_text().count(words) < times:
        assert time.monotonic() < deadline, server.log.read_text()
        time.sleep(0.05)


def test_a_configuration_is_read_anew(tmp_path: Path, authority: Authority) -> None:
    """At SIGHUP; a broken one changes nothing."""
    with_one = {**with_tls(authority), "basic_auth_users": {"ann": hashed(PASSWORD)}}
    for server in start(tmp_path, with_one):
        before = server.ask(client(authority), basic("ann", PASSWORD))[0]
        server.file.write_text("basic_auth_users: {ann: plain}")
        os.kill(server.pid, signal.SIGHUP)
        waits(server, "stays as it was")
        assert "plain" not in server.log.read_text()  # what may be a secret
        kept = server.ask(client(authority), basic("ann", PASSWORD))[0]
        other = {**with_tls(authority), "basic_auth_users": {"ann": hashed("another")}}
        server.file.write_text(yaml.safe_dump(other))
        os.kill(server.pid, signal.SIGHUP)
        waits(server, "read anew")
        after = server.ask(client(authority), basic("ann", PASSWORD))[0]
        assert (before, kept, after) == (200, 200, 401)
        assert server.ask(client(authority), basic("ann", "another"))[0] == 200


def test_a_password_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bcrypt is slow on purpose; Prometheus comes each minute."""
    file = tmp_path / "web.yml"
    file.write_text(yaml.safe_dump(CONFIG))
    access = Access(file)
    looked: list[bytes] = []
    check = bcrypt.checkpw

    def counted(password: bytes, known: bytes) -> bool:
        looked.append(password)
        return check(password, known)

    monkeypatch.setattr(bcrypt, "checkpw", counted)
    assert all(access.admits(basic("ann", PASSWORD)) for _ in range(3))
    assert len(looked) == 1
    assert not access.admits(basic("eve", PASSWORD)) and len(looked) == 2  # who is not there too
    assert not access.admits(basic("ann", "wrong"))
    assert not access.admits(basic("ann", "wrong")) and len(looked) == 4
