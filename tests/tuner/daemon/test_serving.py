"""Pages beside the daemon: on a port or a Unix socket, with names, and for one daemon only."""

from __future__ import annotations

import http.client
import signal
import socket
from pathlib import Path

import pytest

from plumbline.cli.serve import ServerThread
from plumbline.daemon.configuration import DaemonConfiguration, Serve
from plumbline_db.errors import PlumblineError
from tests.exporters.prometheus import free_port
from tests.tuner.daemon.processes import Daemon


def listens(daemon: Daemon, more: str = "") -> int:
    port = free_port()
    table = f'[serve]\nlisten = "127.0.0.1:{port}"\n{more}'
    daemon.file.write_text(daemon.file.read_text() + table)
    return port


def ask(port: int, host: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/metrics", headers={"Host": host})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_metrics_beside_the_daemon(daemon: Daemon) -> None:
    port = listens(daemon, 'allow_hosts = ["mpi.example"]')
    daemon.start()
    assert f"http://127.0.0.1:{port}/ serves" in daemon.until("serves")
    daemon.until("canary 1 judged")
    status, text = ask(port, "mpi.example")
    assert status == 200 and "plumbline_watch_running 1.0" in text
    assert ask(port, "attacker.example")[0] == 400
    daemon.file.write_text(daemon.file.read_text().replace("mpi.example", "mpi2.example"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.until("[serve] was changed: restart plumbline watch to apply it")
    assert daemon.end() == 0


def test_a_unix_socket(tmp_path: Path) -> None:
    path, said = tmp_path / "serve", list[str]()
    configuration = DaemonConfiguration(serve=Serve(listen=str(path)))
    ServerThread(tmp_path / "plumbline.db", said.append).begin(configuration)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
    assert said == [f"unix:{path} serves {tmp_path / 'plumbline.db'}"]


def test_a_port_that_is_taken_is_said_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        configuration = DaemonConfiguration(serve=Serve(listen=f"127.0.0.1:{port}"))
        with pytest.raises(PlumblineError, match=rf"127\.0\.0\.1 port {port}: .*serve\.listen"):
            ServerThread(tmp_path / "plumbline.db", lambda _: None).begin(configuration)


def test_a_second_daemon_hears_of_the_first_before_the_port(daemon: Daemon) -> None:
    listens(daemon)
    daemon.start()
    daemon.until("serves")
    second = Daemon(daemon.database, daemon.file)
    second.start()
    second.until("is watched already: by process")
    assert second.process.wait(60) != 0
    second.process.stdout.close()
    assert daemon.end() == 0
