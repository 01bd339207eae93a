"""`plumbline serve` as a process of its own on a loopback port."""

from __future__ import annotations

import gzip
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from email.message import Message
from pathlib import Path

import apsw
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from plumbline_db import findings, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters import web
from plumbline_exporters.metrics.scrape import _collectors
from plumbline_exporters.web import Address, Server
from tests.db import build
from tests.exporters.prometheus import ends, free_port
from tests.exporters.test_metrics import promtool

SERVER = """
import resource, sys
from pathlib import Path
sys.path[:0] = {path!r}
from plumbline_exporters import web
from plumbline_exporters.web import Address, Server, app
{before}
Server(Path(sys.argv[1]), Address(port=int(sys.argv[2]), names=["plumbline.example"])).run()
"""


@contextmanager
def serving(path: Path, before: str = "", log: list[str] | None = None) -> Iterator[str]:
    """`before`: what the process does first; `log` gets what it says."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER.format(path=sys.path, before=before), str(path), str(port)],
        stderr=subprocess.PIPE,
        text=True,
    )
    here = ("127.0.0.1", port)
    with ends(server, lambda: socket.create_connection(here, timeout=1).close()):
        yield f"http://127.0.0.1:{port}"
        server.terminate()
        _, errors = server.communicate(timeout=30)
        assert "Traceback" not in errors, errors
        if log is not None:
            log.append(errors)


def fetch(url: str) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plumbline.db"


@pytest.fixture
def empty(path: Path) -> Path:
    """A database with nothing in it."""
    Database.open(path, write=True).close()
    return path


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over such a one, for all that leave it as it is."""
    path = tmp_path_factory.mktemp("quiet") / "plumbline.db"
    Database.open(path, write=True).close()
    with serving(path) as url:
        yield url


def test_scrapes_while_a_writer_writes(path: Path) -> None:
    with Database.open(path, write=True) as db, serving(path) as url:
        campaign = build.done(db)
        for sequence in range(8):
            launch = build.run("confirm-1", sequence)
            runs.put(db, launch, build.records(launch, [build.Timed(), build.Timed(bytes=4)]))
            with suppress(KeyboardInterrupt), db.transaction():
                db.rows("DELETE FROM winner")
                status, kind, text = fetch(f"{url}/metrics")  # sees what was before
                raise KeyboardInterrupt
            assert status == 200 and kind.startswith("text/plain; version=")
            place = 'fingerprint="9d1c5f6a",host="node1",library="openmpi-4.1.4"'
            place += ',machine="m-5f0c21ab"'
            place += ',nprocs="4",ppn="4"'
            assert f"plumbline_launches_total{{{place}}} {4 + sequence}.0" in text
            best = 'plumbline_speedup_best_ratio{fingerprint="9d1c5f6a",function="MPI_Allreduce"'
            assert best in text
            assert text.count("plumbline_scrape_success{") == len(_collectors)
            promtool(text)
        assert len(runs.listing(db, campaign.id)) == 11


def test_what_is_not_there_is_not_found(quiet: str) -> None:
    assert fetch(f"{quiet}/healthz") == (200, "text/plain; charset=utf-8", "ok\n")
    assert fetch(f"{quiet}/nothing")[0] == 404
    style, headers = ask(f"{quiet}/static/style.css")
    assert b"prefers-color-scheme: dark" in style
    assert headers["Content-Type"].startswith("text/css")
    with pytest.raises(urllib.error.HTTPError, match="304"):
        ask(f"{quiet}/static/style.css", If_None_Match=headers["ETag"])


def ask(url: str, **headers: str) -> tuple[bytes, Message]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    with urllib.request.urlopen(urllib.request.Request(url, headers=names), timeout=30) as answer:
        return answer.read(), answer.headers


def test_metrics_come_as_they_are_asked_for(path: Path) -> None:
    """Compressed, and in OpenMetrics; with those of the process."""
    with Database.open(path, write=True) as db:
        build.done(db)
    with serving(path) as url:
        plain, headers = ask(f"{url}/metrics")
        assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert b"process_resident_memory_bytes " in plain and b"python_info{" in plain
        promtool(plain.decode())
        small, headers = ask(f"{url}/metrics", Accept_Encoding="gzip")
        assert headers["Content-Encoding"] == "gzip" and len(small) < len(plain) / 4
        assert b"plumbline_violations{" in gzip.decompress(small)
        kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
        openmetrics, headers = ask(f"{url}/metrics", Accept=kind)
        assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
        assert openmetrics.endswith(b"# EOF\n")
        families = text_string_to_metric_families(openmetrics.decode())
        assert {"plumbline_launches", "plumbline_build"} <= {family.name for family in families}


def test_nothing_can_be_written(quiet: str) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for page in ("/metrics", "/readyz", "/static/style.css"):
            request = urllib.request.Request(quiet + page, data=b"x", method=method)
            with pytest.raises(urllib.error.HTTPError, match="405"):
                urllib.request.urlopen(request, timeout=30)


def test_database_that_is_not_there_yet(path: Path) -> None:
    """The server outlives its database, and says what is wrong."""
    with serving(path) as url:
        assert fetch(f"{url}/healthz")[0] == 200  # the process is alive
        status, _, text = fetch(f"{url}/readyz")
        assert status == 503 and "the log says why" in text and str(path) not in text
        status, _, text = fetch(f"{url}/metrics")
        assert status == 200 and 'plumbline_scrape_success{collector="winners"} 0.0' in text
        with Database.open(path, write=True) as db:
            findings.put_winners(db, build.finished(db).id, [build.winner()])
        assert fetch(f"{url}/readyz") == (200, "text/plain; charset=utf-8", "ok\n")


def test_port_that_is_taken(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PlumblineError, match=rf"127.0.0.1 port {port}: .* --listen"):
            Server(path, Address(port=port))
    with pytest.raises(PlumblineError, match=r"cannot listen on 192\.0\.2\.1"):
        Server(path, Address("192.0.2.1"))


def fetch_as(url: str, host: str) -> int:
    with suppress(urllib.error.HTTPError):
        request = urllib.request.Request(f"{url}/healthz", headers={"Host": host})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    return 400


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:9464", 200),
        ("127.0.0.1", 200),
        ("[::1]:9464", 200),
        ("Plumbline.Example", 200),
        ("attacker.example:9464", 400),
        ("localhost.attacker.example", 400),
    ],
)
def test_only_names_of_this_server_are_answered(quiet: str, host: str, status: int) -> None:
    """A page of another site can give its own name this machine's address."""
    assert fetch_as(quiet, host) == status


def test_a_name_that_is_refused_is_said(empty: Path) -> None:
    log: list[str] = []
    with serving(empty, log=log) as url:
        request = urllib.request.Request(f"{url}/healthz", headers={"Host": "login1:9464"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        answer = refused.value.read().decode()
    assert "'login1:9464'" in answer and "--allow-host" in answer
    assert log[0].count("'login1:9464'") == 1 and "--allow-host" in log[0]


def test_an_address_of_many_colons_stands_in_brackets() -> None:
    assert Address("::1", 9464).url == "http://[::1]:9464/"
    assert Address("localhost", 80).url == "http://localhost:80/"


@pytest.mark.parametrize("name", ["", "a b", "*foo", "http://x"])
def test_names_that_are_none(path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="--allow-host"):
        Server(path, Address(names=[name]))


def address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


def test_more_connections_than_the_limit_are_refused(empty: Path) -> None:
    """A scrape beside 64 connections that send nothing is answered 503, and they go."""
    with serving(empty) as url:
        with ExitStack() as stack:
            for _ in range(web.CONNECTIONS):
                stack.enter_context(socket.create_connection(address(url), timeout=30))
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{url}/metrics", timeout=30)
            with refused.value as answer:
                assert answer.code == 503
        while True:
            try:
                assert fetch(f"{url}/healthz")[0] == 200
            except (OSError, AssertionError):
                time.sleep(0.05)
            else:
                break


def answered(url: str, request: bytes) -> bytes:
    """Return what the server sends until it closes the connection."""
    with socket.create_connection(address(url), timeout=60) as one:
        with suppress(OSError):  # it may be closed before all is sent
            one.sendall(request)
        got = b""
        with suppress(ConnectionResetError):
            while part := one.recv(4096):
                got += part
    return got


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * web.HEAD_BYTES,
        b"GET /" + b"x" * web.HEAD_BYTES,
        b"\0\0\r\n\r\n",
    ],
    ids=["header", "path", "no HTTP"],
)
def test_a_head_that_is_too_long_or_none(quiet: str, request_bytes: bytes) -> None:
    assert answered(quiet, request_bytes).startswith(b"HTTP/1.1 400")
    assert fetch(f"{quiet}/healthz")[0] == 200


def test_an_idle_connection_is_closed(empty: Path) -> None:
    with serving(empty, "web.IDLE_SECONDS = 1") as url:
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert answered(url, request).endswith(b"ok\n")


def test_a_unix_socket_is_for_its_owner_and_group(empty: Path, tmp_path: Path) -> None:
    """A socket that a killed server left behind is replaced; a server that listens is not."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    with web.Address(host=str(path)).listener():
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        with pytest.raises(PlumblineError, match=f"cannot listen on {path}: .*in use"):
            Server(empty, Address(host=str(path)))


def test_one_damaged_row_takes_no_other_metric_with_it(path: Path) -> None:
    with Database.open(path, write=True) as db:
        findings.put_winners(db, build.finished(db).id, [build.winner()])
    with apsw.Connection(str(path)) as raw:
        raw.execute("UPDATE library SET build = '{'")
    with serving(path) as url:
        status, _, text = fetch(f"{url}/metrics")
    assert status == 200
    assert 'plumbline_scrape_success{collector="places"} 0.0' in text
    assert 'plumbline_scrape_success{collector="guidelines"} 1.0' in text


def test_pages_that_are_not_there_name_no_path(quiet: str) -> None:
    for page in ("/no/such/page", "/%2e%2e/etc/passwd", "/overlap/x"):
        status, _, text = fetch(quiet + page)
        assert status == 404 and text == "this page does not exist"
