"""A database that is made, filled with a small campaign, and copied."""

from __future__ import annotations

from pathlib import Path

from plumbline_db import backups, campaigns, connection
from plumbline_db.connection import Database
from plumbline_db.errors import of_machine
from tests.db import build
from tests.faults.scenarios import Scenario


class Making(Scenario):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        folder.mkdir()
        self._database = folder / "plumbline.db"
        self._copy = folder / "copy.db"

    def act(self) -> None:
        with of_machine():
            with Database.open(self._database, write=True) as db, db.transaction():
                if not campaigns.every(db):
                    build.finished(db)
            connection.backup(self._database, self._copy)

    def results(self) -> list[str]:
        found = []
        for path in (self._database, self._copy):
            assert connection.check(path) == []
            with Database.open(path) as db:
                tables = db.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
                for (name,) in tables:
                    found += [f"{name} {row}" for row in db.rows(f"SELECT * FROM {name}")]
        assert backups.newest_backup(self._database) in (self._copy, None)
        assert not [path for path in self.folder.iterdir() if "scratch" in path.name]
        return found

    decided = results
