"""A file that the commit before schema 2 has written is brought up, once, and keeps all it held.
What it must hold, the reader of that commit has written beside it."""

from __future__ import annotations

import gzip
from pathlib import Path

import apsw
import msgspec
import pytest

from plumbline_db import campaigns, launch_records, runs, schema, verdicts
from plumbline_db.connection import Database, check
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.way_back import DamagedError
from tests.db import build

FOLDER = Path(__file__).parents[1] / "cases" / "schema-1"


@pytest.fixture
def old(path: Path) -> Path:
    path.write_bytes(gzip.decompress((FOLDER / "plumbline.db.gz").read_bytes()))
    return path


def test_it_is_brought_up_by_whoever_writes(old: Path) -> None:
    said = r"older Plumbline \(schema 1\).*reads schema 2.*that writes"
    with pytest.raises(PlumblineError, match=said):
        Database.open(old)
    written = msgspec.json.Decoder(tuple[str, list[ProbeRecord]]).decode_lines(
        gzip.decompress((FOLDER / "records.ndjson.gz").read_bytes())
    )
    assert len(written) > 10
    for _ in range(2):
        with Database.open(old, write=True) as db:
            assert db.row("PRAGMA user_version") == (schema.VERSION,)
            kept = [(run, launch_records.of_run(db, run)) for run, _ in written]
            assert kept == written
            assert len(verdicts.get(db, build.CAMPAIGN.id, "before")) > 0
            assert len(runs.launch_samples(db, build.CAMPAIGN.id, ["before"])) == 2
    assert check(old) == []


def test_what_fails_leaves_it_as_it_was(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it or nothing."""
    convert = schema.convert

    def fail(connection: apsw.Connection, statements: dict[str, str]) -> None:
        convert(connection, statements)
        connection.execute("SELECT * FROM nowhere")

    monkeypatch.setattr(schema, "convert", fail)
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"schema version 1.*no such table: nowhere"):
            Database.open(old, write=True)
    monkeypatch.undo()
    with Database.open(old, write=True) as db:
        assert campaigns.get(db, None).id == build.CAMPAIGN.id
    assert check(old) == []
