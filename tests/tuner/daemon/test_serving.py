"""Pages beside the daemon: by a web configuration, with names, and only for who may watch."""

from __future__ import annotations

import hashlib
import http.client
import signal
import socket
import ssl
from pathlib import Path

import pytest
import yaml

from plumbline.cli.serving import Beside
from plumbline.daemon.configuration import Configuration, Serve
from plumbline_db.errors import PlumblineError
from tests.exporters.certificates import Authority
from tests.exporters.prometheus import free_port
from tests.tuner.daemon.processes import Daemon

FIRST, SECOND = "a-long-token", "another-token"


def web_config(file: Path, token: str, authority: Authority) -> None:
    tls = {"cert_file": "server.crt", "key_file": "server.key"}
    digest = hashlib.sha256(token.encode()).hexdigest()
    config = {"tls_server_config": tls, "bearer_tokens": {"prometheus": digest}}
    file.write_text(yaml.safe_dump(config))
    for name in tls.values():
        (file.parent / name).write_bytes(authority.path(name).read_bytes())


def ask(port: int, authority: Authority, token: str, host: str = "localhost") -> tuple[int, str]:
    context = ssl.create_default_context(cafile=str(authority.path("ca.crt")))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    connection.request(
        "GET", "/metrics", headers={"Authorization": f"Bearer {token}", "Host": host}
    )
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def listens(daemon: Daemon, more: str = "") -> int:
    port = free_port()
    table = f'[serve]\nlisten = "127.0.0.1:{port}"\n{more}'
    daemon.file.write_text(daemon.file.read_text() + table)
    return port


def test_a_web_configuration_asks_who(daemon: Daemon, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.sign("server", "IP:127.0.0.1")
    folder = tmp_path / "web"
    folder.mkdir()
    web_config(folder / "web.yml", FIRST, authority)
    port = listens(daemon, 'allow_hosts = ["mpi.example"]\nweb_config = "web/web.yml"')
    daemon.start()
    assert f"https://127.0.0.1:{port}/ serves" in daemon.until("serves")
    daemon.until("canary 1 judged")
    assert ask(port, authority, SECOND)[0] == 401
    status, text = ask(port, authority, FIRST, "mpi.example")
    assert status == 200 and "plumbline_watch_running 1.0" in text
    assert ask(port, authority, FIRST, "attacker.example")[0] == 400
    web_config(folder / "web.yml", SECOND, authority)
    daemon.file.write_text(daemon.file.read_text().replace("mpi.example", "mpi2.example"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.until("[serve] was changed: that holds when plumbline watch is started anew")
    assert ask(port, authority, FIRST)[0] == 401
    assert ask(port, authority, SECOND)[0] == 200
    assert daemon.end() == 0


def test_a_port_that_is_taken_is_said_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        configuration = Configuration(serve=Serve(listen=f"127.0.0.1:{port}"))
        with pytest.raises(PlumblineError, match=rf"127\.0\.0\.1 port {port}: .*serve\.listen"):
            Beside(tmp_path / "plumbline.db", lambda _: None).begin(configuration)


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
