"""Modes, links and folders of files that others own; the file that a login shell reads."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import msgspec
import pytest

from plumbline.applied import apply, files, standing
from plumbline.applied.targets import Where
from plumbline_db.errors import PlumblineError, TryLaterError
from tests.db import build
from tests.exporters.bundles import everywhere
from tests.tuner.applied.people import EIGHT, FOREIGN, FOUR, Site, User, wish

pytestmark = pytest.mark.usefixtures("preload")


def test_what_is_private_is_so_while_it_is_written(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.write(FOREIGN)
    user.file.chmod(0o600)
    seen = []
    copystat = shutil.copystat

    def look(source: Path, part: Path) -> None:
        seen.append((part.read_bytes()[: len(FOREIGN)], stat.S_IMODE(part.stat().st_mode)))
        copystat(source, part)

    monkeypatch.setattr(shutil, "copystat", look)
    mask = os.umask(0)
    try:
        user.apply()
    finally:
        os.umask(mask)
    assert seen == [(FOREIGN, 0o600)] and stat.S_IMODE(user.file.stat().st_mode) == 0o600


def test_mode_and_link_stay(user: User) -> None:
    real = user.home / "dotfiles" / "mca"
    real.parent.mkdir()
    real.write_bytes(FOREIGN)
    real.chmod(0o640)
    user.file.parent.mkdir()
    user.file.symlink_to("../dotfiles/mca")
    done = user.apply()
    assert done.changes[0].real == str(real)
    assert user.file.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "plumbline" in real.read_text()
    user.rollback()
    assert user.file.is_symlink() and real.read_bytes() == FOREIGN
    assert sorted(one.name for one in real.parent.iterdir()) == ["mca"]


@pytest.mark.parametrize("what", ["folder", "loop", "read-only"])
def test_files_that_are_left_alone(user: User, what: str) -> None:
    user.file.parent.mkdir()
    if what == "folder":
        user.file.mkdir()
    elif what == "loop":
        user.file.symlink_to(user.file.name)
    else:
        user.file.write_bytes(FOREIGN)
        user.file.chmod(0o444)
    with pytest.raises(PlumblineError, match=r"not a plain file|cannot read|is read-only"):
        user.apply()
    assert not user.place.root.exists()


def test_one_at_a_time(user: User) -> None:
    with user.store.locked():
        for work in (user.apply, user.rollback):
            with pytest.raises(TryLaterError, match="another plumbline apply"):
                work()


def test_somebody_else_is_quicker(user: User) -> None:
    user.write(FOREIGN)
    found = files.read(user.file)
    user.write(b"other")
    with pytest.raises(TryLaterError, match="has just been changed by somebody else"):
        files.replace(found, b"ours", "openmpi")
    assert user.file.read_bytes() == b"other"


def test_everybody_can_read_it_whatever_the_umask(site: Site) -> None:
    mask = os.umask(0o077)
    try:
        site.apply()
    finally:
        os.umask(mask)
    ours = [site.place.root, site.store.folder, site.store.path(1), site.whole]
    for path in [*ours, *site.store.path(1).iterdir()]:
        assert path.stat().st_mode & 0o004, path
    site.rollback()
    assert not site.whole.exists() and site.file.read_bytes() == FOREIGN


def test_a_closed_folder_is_refused_for_a_site(site: Site) -> None:
    site.home.chmod(0o700)
    try:
        with pytest.raises(PlumblineError, match="other users cannot read"):
            site.apply()
    finally:
        site.home.chmod(0o755)
    assert site.file.read_bytes() == FOREIGN and not site.place.root.exists()


def test_a_file_that_is_not_ours_is_not_overwritten(site: Site) -> None:
    site.whole.write_text("# somebody's\n")
    with pytest.raises(PlumblineError, match="was not written by Plumbline"):
        site.apply(force=True)
    assert site.whole.read_text() == "# somebody's\n" and site.file.read_bytes() == FOREIGN


def test_a_file_that_is_no_longer_ours_is_not_rolled_over(site: Site) -> None:
    site.apply(FOUR)
    site.apply(EIGHT)
    site.whole.write_text("# somebody's\n")
    with pytest.raises(PlumblineError, match="was replaced by another file"):
        site.rollback()
    assert site.whole.read_text() == "# somebody's\n"
    site.rollback(everything=True)
    assert site.whole.read_text() == "# somebody's\n" and site.file.read_bytes() == FOREIGN


def test_another_file_is_another_set(user: User) -> None:
    """As when a login file appears that the shell reads in the place of the one before."""
    user.apply()
    other = user.home / "other.conf"
    moved = msgspec.structs.replace(user.place, where=[Where(other, "lines", "parameters")])
    assert apply.apply(moved, wish(), now="2026").generation == 2
    assert apply.apply(moved, wish(), now="2026").changes == []
    user.rollback(everything=True)
    assert not other.exists() and not user.file.exists()


def test_two_scopes_in_one_store(user: User, site: Site) -> None:
    """Each takes out its own alone."""
    shared = msgspec.structs.replace(user.place, root=site.place.root)
    apply.apply(shared, wish(FOUR), now="2026")
    ours = user.file.read_bytes()
    site.apply(FOUR)
    done = standing.rollback("site", shared.root, shared.name, everything=True)
    assert [one.path for one in done.changes] == [str(site.file), str(site.whole)]
    assert user.file.read_bytes() == ours and site.file.read_bytes() == FOREIGN
    site.apply(FOUR)
    standing.rollback("user", shared.root, shared.name, everything=True)
    assert not user.file.exists()
    assert b"plumbline" in site.file.read_bytes()


def test_a_file_that_would_change_its_owner(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write(FOREIGN)
    owner = user.file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PlumblineError, match=f"belongs to user {owner}, group"):
        user.apply()
    assert user.file.read_bytes() == FOREIGN and not user.place.root.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_an_owner_that_cannot_be_kept(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for root on a file system of another host."""
    user.write(FOREIGN)
    os.chown(user.file, 4321, 4321)
    kept = user.file.stat()
    user.apply()
    assert (user.file.stat().st_uid, user.file.stat().st_gid) == (kept.st_uid, kept.st_gid)
    user.rollback()

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(PlumblineError, match=r"cannot write .*Operation not permitted"):
        user.apply()
    assert user.file.read_bytes() == FOREIGN and user.file.stat().st_uid == 4321


def test_sets_of_somebody_else(user: User) -> None:
    user.apply()
    lock = user.store.folder / ".lock"
    lock.unlink()
    lock.mkdir()  # stands for one that may not be written
    with pytest.raises(PlumblineError, match=r"cannot write .*\.lock"):
        user.rollback()


# --- what others have written -------------------------------------------------------------------


def test_a_planted_lock_harms_nothing(user: User) -> None:
    user.apply()
    lock, precious = user.store.folder / ".lock", user.home / "precious"
    precious.write_text("precious")
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(PlumblineError, match=r"\.lock is a symbolic link"):
        user.rollback()
    assert precious.read_text() == "precious"


@pytest.mark.parametrize("where", ["", "openmpi", "openmpi/2", "openmpi/2/generation.json"])
def test_a_set_that_others_may_have_written_is_not_believed(user: User, where: str) -> None:
    """It says which files are written, and with what."""
    user.write(FOREIGN)
    user.apply(FOUR)
    user.apply(EIGHT)
    record = user.store.path(2) / "generation.json"
    victim = user.home / "victim"
    forged = msgspec.json.decode(record.read_bytes())
    forged["targets"].append({"path": str(victim), "kind": "whole", "text": "owned"})
    record.write_bytes(msgspec.json.encode(forged))
    (user.place.root / where).chmod(0o777)
    everything = user.everything()
    for work in (user.rollback, user.apply):
        with pytest.raises(PlumblineError, match="is not believed"):
            work()
    assert user.everything() == everything and not victim.exists()


# --- login shells -------------------------------------------------------------------------------


LIBRARY = msgspec.structs.replace(
    build.LIBRARY, id="intelmpi-2021.17", family="intelmpi", version="2021.17"
)
PRESET = everywhere("MPI_Allreduce", I_MPI_ADJUST_ALLREDUCE="3")


def said_by(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("shell", "form", "file"),
    [
        ("sh", "sh", "plumbline.sh"),
        ("bash", "sh", "plumbline.sh"),
        ("tcsh", "csh", "plumbline.csh"),
        ("fish", "fish", "plumbline.fish"),
    ],
)
def test_lines_in_a_login_file(tmp_path: Path, shell: str, form: str, file: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    user = User(tmp_path / "a home", "intelmpi", form)
    user.write(b"# mine\n")
    user.apply(PRESET, library=LIBRARY)
    read = f"{'.' if form == 'sh' else 'source'} '{user.file}'"
    options = {"tcsh": ["-f"], "fish": ["--no-config"]}.get(shell, ["-e"])
    found = said_by(shell, *options, "-c", f"{read}\necho $I_MPI_ADJUST_ALLREDUCE")
    assert found == "0:0-2147483647@0-3;3:0-2147483647@4-4;0:0-2147483647@5-2147483647"
    (user.store.path(1) / file).unlink()  # what is lost keeps nobody from logging in
    assert said_by(shell, *options, "-c", f"{read}\necho in") == "in"


def test_a_login_file_that_sets_it_already(tmp_path: Path) -> None:
    user = User(tmp_path, "intelmpi", "sh")
    user.write(b"export I_MPI_ADJUST_ALLREDUCE=2\n")
    with pytest.raises(PlumblineError, match="line 1 sets I_MPI_ADJUST_ALLREDUCE"):
        user.apply(PRESET, library=LIBRARY)
