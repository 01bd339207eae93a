"""What systemd hears, on a real socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from plumbline.daemon.service import Notifier, Watchdog


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as found:
        found.bind(str(tmp_path / "notify"))
        found.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "150000")
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
        yield found


def test_it_is_told_how_the_daemon_stands(listener: socket.socket) -> None:
    notifier = Notifier()
    assert "NOTIFY_SOCKET" not in os.environ and "WATCHDOG_USEC" not in os.environ
    notifier.ready("watching\nREADY=0")
    assert listener.recv(1000) == b"READY=1\nSTATUS=watching READY=0"
    notifier.reloading()
    assert listener.recv(1000).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
    notifier.status("waiting")
    assert listener.recv(1000) == b"STATUS=waiting"
    notifier.stopping()
    assert listener.recv(1000) == b"STOPPING=1"


def test_the_watchdog_hears_of_one_that_lives(listener: socket.socket) -> None:
    lives = [True]
    with Watchdog(Notifier(), lambda: lives[0]):
        assert listener.recv(100) == b"WATCHDOG=1"
        assert listener.recv(100) == b"WATCHDOG=1"
        lives[0] = False
        listener.settimeout(0.5)
        with pytest.raises(TimeoutError):  # one that was under way may still come
            listener.recv(100)
            listener.recv(100)


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    Notifier().ready("watching")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    Notifier().ready("watching")
    monkeypatch.setenv("NOTIFY_SOCKET", "@plumbline-test-nobody")
    Notifier().stopping()
