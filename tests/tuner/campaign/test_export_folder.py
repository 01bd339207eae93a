"""Folders of exported files: two databases in one place never share one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.campaign.exported import NOTE, claim_folder, folder_beside, release_folder
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign, Export
from tests.db import build

LATER = msgspec.structs.replace(build.CAMPAIGN, started="2025-04-01T10:00:00Z")


def claimed(database: Path, campaign: Campaign = build.CAMPAIGN) -> Path:
    with Database.open(database, write=True) as db:
        build.started(db, campaign)
        folder = claim_folder(db, database, campaign)
        assert claim_folder(db, database, campaign) == folder  # whoever goes on finds it again
        return folder


def test_beside_the_database(tmp_path: Path) -> None:
    folder = claimed(tmp_path / "plumbline.db")
    assert folder == tmp_path / "exports" / build.CAMPAIGN.id
    assert (
        (folder / NOTE).read_text().startswith(f"plumbline.db: {build.CAMPAIGN.id}, started 2025")
    )


def test_a_database_of_another_name_has_a_folder_of_its_own(tmp_path: Path) -> None:
    assert claimed(tmp_path / "other.db") == tmp_path / "other-exports" / build.CAMPAIGN.id
    assert folder_beside(tmp_path / "plumbline.db") == tmp_path / "exports"


def test_names_that_differ_in_their_ending_alone(tmp_path: Path) -> None:
    first, second = claimed(tmp_path / "a.db"), claimed(tmp_path / "a.sqlite")
    assert (first.name, second.name) == (build.CAMPAIGN.id, f"{build.CAMPAIGN.id}.2")


def test_another_database_that_had_this_name_before(tmp_path: Path) -> None:
    """Moved away, with files that its users source; campaigns of the same settings share an id."""
    database = tmp_path / "plumbline.db"
    first = claimed(database)
    (first / "plumbline.sh").write_text("true\n")
    database.rename(tmp_path / "old.db")
    assert claimed(database, LATER) == first.with_name(f"{first.name}.2")
    assert (first / "plumbline.sh").read_text() == "true\n"


def test_files_of_an_older_version_have_no_note(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    folder = tmp_path / "exports" / build.CAMPAIGN.id
    folder.mkdir(parents=True)
    (folder / "plumbline.sh").write_text("true\n")
    with Database.open(database, write=True) as db:
        build.started(db)
        assert claim_folder(db, database, build.CAMPAIGN) == folder.with_name(f"{folder.name}.2")
        ours = Export("env", str(folder / "plumbline.sh"), "00", "2025-03-01")
        campaigns.put_export(db, build.CAMPAIGN.id, ours)
        assert claim_folder(db, database, build.CAMPAIGN) == folder


def test_a_note_that_was_cut_by_a_kill_is_written_again(tmp_path: Path) -> None:
    folder = claimed(tmp_path / "plumbline.db")
    whole = (folder / NOTE).read_text()
    for text in ("", whole[:20]):
        (folder / NOTE).write_text(text)
        assert claimed(tmp_path / "plumbline.db") == folder
        assert (folder / NOTE).read_text() == whole


def test_a_folder_that_got_nothing_goes(tmp_path: Path) -> None:
    folder = claimed(tmp_path / "plumbline.db")
    (folder / "plumbline.sh").write_text("true\n")
    release_folder(folder)
    assert folder.exists()
    (folder / "plumbline.sh").unlink()
    release_folder(folder)
    assert not folder.exists()


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "exports").write_text("a file\n")
    with pytest.raises(PlumblineError, match=r"cannot write in .*; name a folder with --output"):
        claimed(tmp_path / "plumbline.db")
