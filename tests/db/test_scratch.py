"""Temporary folders go with who made them, or when the next one comes; files change as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plumbline_db import scratch
from plumbline_db.errors import PlumblineError

MAKER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from plumbline_db import scratch
with scratch.folder(Path(sys.argv[1])) as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def maker(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process that has a folder in `place` until it is let go."""
    process = subprocess.Popen(
        [sys.executable, "-c", MAKER.format(path=sys.path), str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.fixture(autouse=True)
def at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has just begun."""
    monkeypatch.setattr(scratch, "_cleared", set())


def test_for_its_owner_alone_and_gone_at_the_end(tmp_path: Path) -> None:
    with scratch.folder(tmp_path) as one, scratch.folder(tmp_path) as two:
        assert one.parent == two.parent == tmp_path and one != two
        assert one.stat().st_mode & 0o777 == 0o700
        (one / "deep").mkdir()
        (one / "deep" / "file").touch()
    assert not any(tmp_path.iterdir())


def test_what_a_killed_process_has_left_goes_and_what_is_in_use_stays(tmp_path: Path) -> None:
    dead, left = maker(tmp_path)
    living, used = maker(tmp_path)
    dead.send_signal(signal.SIGKILL)
    assert dead.wait() == -signal.SIGKILL and left.is_dir()
    with scratch.folder(tmp_path) as mine:
        assert {mine, used} == set(tmp_path.iterdir())
    living.communicate()
    assert not any(tmp_path.iterdir())


def test_of_another_kernel_it_goes_by_its_age(tmp_path: Path) -> None:
    """Locks of another host are not seen here."""
    for name in ("old", "new", "busy"):
        (tmp_path / f"{scratch.PREFIX}{name}").mkdir()
    (tmp_path / f"{scratch.PREFIX}busy" / "file").touch()
    before = time.time() - 2 * scratch.OLD_SECONDS
    for name in ("old", "busy"):
        os.utime(tmp_path / f"{scratch.PREFIX}{name}", (before, before))
    scratch.clear(tmp_path)
    left = {one.name.removeprefix(scratch.PREFIX) for one in tmp_path.iterdir()}
    assert left == {"new", "busy"}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    precious, place = tmp_path / "precious", tmp_path / "place"
    precious.mkdir()
    place.mkdir()
    (precious / "file").touch()
    with scratch.folder(place) as one:
        planted = place / one.name.replace(one.name[-4:], "0000")
    planted.symlink_to(precious)
    scratch._cleared.clear()
    scratch.clear(place)
    assert (precious / "file").exists()


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match=r"cannot write in .*/gone: No such file"):
        scratch.folder(tmp_path / "gone").__enter__()


def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(ZeroDivisionError), scratch.replacing(file) as part:
        part.write_text("half")
        raise ZeroDivisionError
    assert file.read_text() == "old"
    with scratch.replacing(file) as part:
        part.write_text("new")
        assert file.read_text() == "old"
    assert file.read_text() == "new" and list(tmp_path.iterdir()) == [file]


def test_a_signal_in_the_moment_when_a_folder_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Path.mkdir

    def interrupted(self: Path, mode: int = 0o777) -> None:
        made(self, mode)
        raise KeyboardInterrupt

    monkeypatch.setattr(scratch, "_mine", {})  # those of other tests stay
    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt), scratch.folder(tmp_path):
        pass
    assert any(tmp_path.iterdir())
    scratch._remove_mine()  # as at the end of the process
    assert not any(tmp_path.iterdir())
