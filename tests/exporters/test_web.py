"""`plumbline serve` as a process of its own on a loopback port."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from plumbline_db import campaigns, exports, runs, winners
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Export
from plumbline_exporters.web import serve
from tests.db import build
from tests.exporters.test_metrics import promtool

SERVER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from plumbline_exporters.web import serve
serve(Path(sys.argv[1]), port=int(sys.argv[2]))
"""


@contextmanager
def serving(path: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER.format(path=sys.path), str(path), str(port)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
        server.terminate()
        _, errors = server.communicate(timeout=30)
        assert "Traceback" not in errors, errors
    finally:
        server.kill()
        server.wait()


def fetch(url: str) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plumbline.db"


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
            place = 'fingerprint="9d1c5f6a",library="openmpi-4.1.4",machine="m-5f0c21ab"'
            place += ',nprocs="4",ppn="4"'
            assert f"plumbline_launches_total{{{place}}} {4 + sequence}.0" in text
            assert (
                'plumbline_speedup_best_ratio{fingerprint="9d1c5f6a",function="MPI_Allreduce"'
                in text
            )
            assert text.count("plumbline_scrape_success{") == 6
            promtool(text)
        assert len(runs.listing(db, campaign.id)) == 11


def test_pages(path: Path) -> None:
    with Database.open(path, write=True) as db:
        campaign = build.finished(db)
        exports.put(db, campaign.id, Export("env", "/out/plumbline.sh", "00", "2025-03-01"))
        nasty = msgspec.structs.replace(build.CAMPAIGN, id="<script>x</script>", key="k-2")
        campaigns.put(db, nasty)
    with serving(path) as url:
        assert fetch(f"{url}/healthz") == (200, "text/plain; charset=utf-8", "ok\n")
        status, kind, page = fetch(f"{url}/")
        assert status == 200 and kind == "text/html; charset=utf-8"
        with urllib.request.urlopen(f"{url}/", timeout=30) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert fetch(f"{url}/nothing")[0] == 404
    for fact in ("c-20250301-a", "node1", "openmpi-4.1.4", "oversubscribed", "8192-65536 bytes",
                 "coll_tuned_allreduce_algorithm=basic_linear", "variant gather_binomial",
                 '2.00 <span class="aside">1.90–2.10', "GL12 16384", "/out/plumbline.sh",
                 '<span class="bad">2</span> <span class="aside">(1 undecided)',
                 "not verified"):  # fmt: skip
        assert fact in page
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "http://" not in page and "https://" not in page and "src=" not in page


def test_empty_database(path: Path) -> None:
    Database.open(path, write=True).close()
    with serving(path) as url:
        assert fetch(f"{url}/healthz")[0] == 200
        assert "holds no campaign yet" in fetch(f"{url}/")[2]


def test_database_that_is_not_there_yet(path: Path) -> None:
    """The server outlives its database, and says what is wrong."""
    with serving(path) as url:
        for page in ("/", "/healthz"):
            status, _, text = fetch(url + page)
            assert status == 503 and "there is no database at" in text
        status, _, text = fetch(f"{url}/metrics")
        assert status == 200 and 'plumbline_scrape_success{collector="winners"} 0.0' in text
        with Database.open(path, write=True) as db:
            winners.put(db, build.finished(db).id, [build.winner()])
        assert fetch(f"{url}/healthz")[0] == 200


def test_port_that_is_taken(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PlumblineError, match=rf"127.0.0.1 port {port}: .* --port"):
            serve(path, port=port)
    with pytest.raises(PlumblineError, match=r"cannot listen on 192\.0\.2\.1"):
        serve(path, host="192.0.2.1")
