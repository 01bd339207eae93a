"""The spool of a site's database: every file once, and nothing in it believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plumbline_db import lock, spool, transfer
from plumbline_db.connection import Database, check
from plumbline_db.errors import PlumblineError, TryLaterError
from tests.db import build

TIME = "2025-03-31T10:00:00+00:00"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


@pytest.fixture
def job(path: Path, folder: Path) -> Path:
    """Return the file of a job."""
    with Database.open(path, write=True) as db:
        build.done(db)
    return spool.put(path, folder, build.CAMPAIGN.id, TIME)


def test_a_file_is_imported_once(job: Path, folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site.db"
    first = spool.take(site, folder)
    assert [moved.new for moved in first.moved] == [True] and not first.refused
    assert spool.take(site, folder, first.read) == spool.Taken([], [], set())
    again = spool.take(site, folder)
    assert [moved.new for moved in again.moved] == [False]
    with Database.open(site) as db:
        assert len(transfer.listing(db)) == 1
    assert check(site) == [] and [file.name for file in folder.iterdir()] == [job.name]


def test_files_of_strangers_are_refused_and_the_others_taken(
    job: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "text.plumbline").write_text("no database")
    (folder / "link.plumbline").symlink_to(job)
    (folder / ".part.plumbline").write_bytes(job.read_bytes())
    (folder / "other.txt").write_text("ignored")
    os.mkfifo(folder / "pipe.plumbline")
    (folder / "cut.plumbline").write_bytes(job.read_bytes()[:-5000])
    with (folder / "long.plumbline").open("wb") as file:
        file.truncate(2 * job.stat().st_size)
    monkeypatch.setattr(spool, "MOST_BYTES", job.stat().st_size)
    taken = spool.take(tmp_path / "site.db", folder)
    assert [moved.new for moved in taken.moved] == [True]
    refused = {line.split(":")[0]: line for line in taken.refused}
    names = ("cut", "link", "long", "pipe", "text")
    assert sorted(refused) == [f"'{name}.plumbline'" for name in names]
    assert "longer than" in refused["'long.plumbline'"]
    assert "not a regular file" in refused["'pipe.plumbline'"]
    assert not [line for line in taken.refused if "copy.plumbline" in line]


def test_who_cannot_write_waits(job: Path, folder: Path, tmp_path: Path) -> None:
    assert job.exists()
    site = tmp_path / "site.db"
    held = lock.to_write(site)
    try:
        with pytest.raises(TryLaterError):
            spool.take(site, folder)
    finally:
        held.release()
    assert spool.take(site, folder).moved[0].new


def test_a_folder_that_does_not_exist(path: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match="is no folder"):
        spool.put(path, tmp_path / "none", "any", TIME)
    with pytest.raises(PlumblineError, match="cannot read the spool"):
        spool.take(path, tmp_path / "none")
