"""What `plumbline serve` says at its end."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from plumbline.cli.serve import ServedSite
from plumbline.system.ending import Ended
from plumbline_db.connection import Database
from tests.tuner.cli.command import plumbline


def test_a_server_that_is_stopped_speaks_of_no_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(site: ServedSite, say: object) -> None:
        raise Ended(signal.SIGTERM)

    monkeypatch.setattr(ServedSite, "server", stopped)
    path = tmp_path / "results.db"
    Database.open(path, write=True).close()
    said = plumbline("serve", "--db", path)
    assert (said.status, said.err.strip()) == (143, "stopped (SIGTERM)")
