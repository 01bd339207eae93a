"""Files that the commits before schemas 2 to 4 have written are brought up, once, and keep all
they held. What they must hold, the readers of these commits have written beside them."""

from __future__ import annotations

import gzip
from pathlib import Path

import apsw
import msgspec
import pytest

from plumbline_db import campaigns, coverage, findings, hockney, launch_records, runs, schema
from plumbline_db.backups import DamagedError
from plumbline_db.connection import Database, check
from plumbline_db.coverage import Coverage
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import ProbeRecord
from tests.db import build

CASES = Path(__file__).parents[1] / "cases"
FOLDER = CASES / "schema-1"


@pytest.fixture
def old(path: Path) -> Path:
    path.write_bytes(gzip.decompress((FOLDER / "plumbline.db.gz").read_bytes()))
    return path


def test_it_is_brought_up_by_whoever_writes(old: Path) -> None:
    said = r"older Plumbline \(schema 1\).*reads schema 4.*that writes"
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
            assert len(findings.get_verdicts(db, build.CAMPAIGN.id, "before")) > 0
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


def test_what_places_know_is_kept(path: Path) -> None:
    path.write_bytes(gzip.decompress((CASES / "schema-2" / "plumbline.db.gz").read_bytes()))
    text = (CASES / "schema-2" / "coverage.json").read_bytes()
    known = msgspec.json.decode(text, type=list[Coverage])
    assert [len(place.stages) for place in known] == [2]
    for _ in range(2):
        with Database.open(path, write=True) as db:
            assert db.row("PRAGMA user_version") == (schema.VERSION,)
            assert coverage.of_campaigns(db) == known
            orders = [list(stage.guidelines) for stage in known[0].stages.values()]
            (place,) = coverage.of_campaigns(db)
            assert [list(stage.guidelines) for stage in place.stages.values()] == orders
    assert check(path) == []
    with Database.open(path, write=True) as db:
        campaigns.put(db, campaigns.get(db, None))  # renews its place, from all verdicts
        assert coverage.of_campaigns(db) == known


def test_lines_of_pairs_are_kept_and_new_classes_fit(path: Path) -> None:
    path.write_bytes(gzip.decompress((CASES / "schema-3" / "plumbline.db.gz").read_bytes()))
    for _ in range(2):
        with Database.open(path, write=True) as db:
            assert db.row("PRAGMA user_version") == (schema.VERSION,)
            lines = hockney.get(db, build.CAMPAIGN.id)
            pairs = ["other_node", "other_socket", "same_core", "same_socket"]
            assert [line.pair for line in lines] == pairs
            assert lines[2].alpha_seconds == 1e-6 and lines[2].beta_high == 2e-10
    assert check(path) == []
    with Database.open(path, write=True) as db:
        near = msgspec.structs.replace(lines[2], pair="same_cache")
        hockney.put(db, build.CAMPAIGN.id, [*lines, near])
        assert near in hockney.get(db, build.CAMPAIGN.id)
