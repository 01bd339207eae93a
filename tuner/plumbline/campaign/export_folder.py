"""The folder that a campaign's files go to when nobody names one: beside its database, in a folder
that no other database writes to. A note in it says whose it is."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

from plumbline_db import exports
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign

_DEFAULT_NAME = "plumbline.db"
NOTE = ".plumbline-campaign"


def beside(database: Path) -> Path:
    """`exports`, or for a database of another name than the default one a folder of its own."""
    name = "exports" if database.name == _DEFAULT_NAME else f"{database.stem}-exports"
    return database.parent / name


def claim(db: Database, database: Path, campaign: Campaign) -> Path:
    """The folder of the campaign's files, made and marked as its own. The same one every time;
    where another database has put files there, one of another name. Raises PlumblineError where
    it cannot be made."""
    note = f"{database.name}: {campaign.id}, started {campaign.started}\n"
    written = {Path(export.path).parent for export in exports.get(db, campaign.id)}
    for number in count(1):
        folder = beside(database) / (campaign.id if number == 1 else f"{campaign.id}.{number}")
        try:
            if _is_ours(folder, note, known=folder.absolute() in written):
                return folder
        except OSError as error:
            raise PlumblineError(
                f"cannot write in {folder}: {error.strerror}; name a folder with --output"
            ) from error
    raise AssertionError("unreachable")


def release(folder: Path) -> None:
    """A folder that got no files goes."""
    if {path.name for path in folder.iterdir()} == {NOTE}:
        shutil.rmtree(folder)


def _is_ours(folder: Path, note: str, *, known: bool) -> bool:
    """Return whether the folder is this campaign's; it is made so where it is nobody's."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / NOTE
    if not mark.exists():
        if any(folder.iterdir()) and not known:
            return False
        try:
            with mark.open("x", encoding="utf-8") as file:
                file.write(note)
        except FileExistsError:
            pass
    written = mark.read_text("utf-8")
    if written != note and note.startswith(written):  # a kill came between its name and its text
        mark.write_text(note, encoding="utf-8")
        return True
    return written == note
