"""The spool in the turns of the daemon: a file once, and no failure that stops watching."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.daemon.service import Service
from plumbline_db import spool, transfer
from plumbline_db.connection import Database
from tests.db import build
from tests.tuner.daemon.watching import Clock


def test_the_spool_is_imported_in_each_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, folder = tmp_path / "plumbline.db", tmp_path / "spool"
    job, file = tmp_path / "job.db", tmp_path / "watch.toml"
    for path in (database, job):
        with Database.open(path, write=True) as db:
            build.finished(db) if path == database else build.done(db)
    file.write_text("[neighbour]\nload = 1000.0\n")
    monkeypatch.setenv(spool.VARIABLE, str(folder))
    said: list[str] = []
    service = Service(database, file, said.append, clock=Clock())
    service._step()
    service._step()
    assert len([line for line in said if "cannot read the spool" in line]) == 1
    folder.mkdir()
    spool.put(job, folder, build.CAMPAIGN.id, "2025-03-31T10:00:00+00:00")
    (folder / "text.plumbline").write_text("no database")
    service._step()
    service._step()
    assert len([line for line in said if "text.plumbline" in line]) == 1, said
    assert len([line for line in said if line.startswith("imported")]) == 1, said
    with Database.open(database) as db:
        assert len(transfer.listing(db)) == 1
