"""A real Prometheus over a real `plumbline serve`."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

ROOT = Path(__file__).parents[2]
RULES = ROOT / "exporters" / "prometheus"
# Below those of clients (32768 and more on Linux). The workers of one run take turns, so that none
# waits for another one's server; the worker is gw0, gw1, ...
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_run = os.getppid() if _workers > 1 else os.getpid()
_ports = iter(range(12000 + _run * 31 % 10000 + _worker, 32768, _workers))


class Prometheus:
    """One that runs, by its address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, what: str, **values: str) -> Any:
        """What /api/v1/… answers."""
        query = urllib.parse.urlencode(values)
        with urllib.request.urlopen(f"{self.url}/api/v1/{what}?{query}", timeout=30) as answer:
            return msgspec.json.decode(answer.read())["data"]

    def query(self, expr: str) -> list[Any]:
        return list(self.ask("query", query=expr)["result"])

    def wait(self, expr: str, seconds: float = 60) -> None:
        """Until the query has a result."""
        deadline = time.monotonic() + seconds
        while not self.query(expr):
            assert time.monotonic() < deadline, expr
            time.sleep(0.2)


def free_port() -> int:
    """A port that was given to no other test of this process and that the kernel gives no client:
    a client that asks before its server listens could else be connected with itself."""
    for port in _ports:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("every port was given away")


@contextmanager
def ends(process: subprocess.Popen[Any], ready: Callable[[], object]) -> Iterator[None]:
    """Waits for a server until `ready` raises no OSError; the server goes at the end."""
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                ready()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


@contextmanager
def served(
    database: Path,
    environment: Mapping[str, str],
    options: Sequence[str] = (),
    log: Path = Path(os.devnull),
) -> Iterator[tuple[str, int]]:
    """Address of `plumbline serve`, and its process."""
    port = str(free_port())
    command = [
        sys.executable,
        "-m",
        "plumbline",
        "--db",
        str(database),
        "serve",
        "--listen",
        f"127.0.0.1:{port}",
    ]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, *options],
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=errors,
        )
        address = ("127.0.0.1", int(port))
        with ends(process, lambda: socket.create_connection(address, timeout=5).close()):
            yield f"127.0.0.1:{port}", process.pid


@contextmanager
def scraping(
    folder: Path, target: str, scrape: Mapping[str, Any] | None = None, seconds: int = 1
) -> Iterator[Prometheus]:
    """With our rules; `scrape` are more keys of its configuration of the target."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus on PATH (Debian package prometheus)")
    configuration = {
        "global": {"scrape_interval": f"{seconds}s", "evaluation_interval": f"{seconds}s"},
        "rule_files": [str(RULES / "recording.yml"), str(RULES / "alerts.yml")],
        "scrape_configs": [
            {"job_name": "plumbline", "static_configs": [{"targets": [target]}], **(scrape or {})}
        ],
    }
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(configuration))
    url = f"127.0.0.1:{free_port()}"
    process = subprocess.Popen(
        [
            *(program, f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}"),
            *(f"--web.listen-address={url}", "--storage.tsdb.retention.time=1y"),
        ],
        stderr=subprocess.DEVNULL,
    )
    ready = f"http://{url}/-/ready"
    with ends(process, lambda: urllib.request.urlopen(ready, timeout=5).close()):
        yield Prometheus(f"http://{url}")
