"""apply and rollback that are killed, anywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tuner.applied.people import EIGHT, FOREIGN, FOUR, Site
from tests.tuner.started import environment

pytestmark = pytest.mark.usefixtures("preload")

CALLS = ("rename", "mkdir", "rmdir")


class Killed(BaseException):
    pass


@pytest.mark.parametrize("undo", [False, True])
def test_killed_anywhere_the_next_one_ends_it(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, undo: bool
) -> None:
    """Before every rename, mkdir and rmdir in turn: each file is the old or the new one, and
    the same command brings it to its end. What a killed process leaves is left here as well."""
    ends = set()
    for after in range(200):
        site = Site(open_folder / str(after))
        (site.home / "profile.d").mkdir(parents=True)
        site.write(FOREIGN)
        site.apply(FOUR)
        old = {path: path.read_bytes() for path in (site.file, site.whole)}
        killed = False
        with monkeypatch.context() as patched:
            left = iter(range(after))

            def step(real, left=left):  # type: ignore[no-untyped-def]
                def call(*words, **options):  # type: ignore[no-untyped-def]
                    if next(left, None) is None:
                        raise Killed
                    return real(*words, **options)

                return call

            for name in CALLS:
                patched.setattr(os, name, step(getattr(os, name)))
            patched.setattr(Path, "unlink", lambda *_, **__: None)
            try:
                site.rollback() if undo else site.apply(EIGHT)
            except Killed:
                killed = True
        now = {path: path.read_bytes() if path.exists() else None for path in old}
        if undo:
            assert all(now[path] in (None, FOREIGN, old[path]) for path in old)
            site.rollback()
            assert site.file.read_bytes() == FOREIGN
        else:
            done = site.apply(EIGHT)
            assert done.campaigns == ["c-4", "c-8"]
            for path in (site.file, site.whole):
                text = path.read_text()
                assert f">>> plumbline openmpi {done.generation} >>>" in text
            site.rollback(everything=True)
            assert site.file.read_bytes() == FOREIGN and not site.whole.exists()
        assert os.listdir(site.file.parent) == [site.file.name]
        ends.add(killed)
        if not killed:
            break
    assert ends == {True, False}


KILL = """
import os, signal, sys
from pathlib import Path
from plumbline.system import paths
from tests.tuner.applied.people import EIGHT, Site

root, work, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
real = os.rename

def rename(*words, **options):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return real(*words, **options)

os.rename = rename
paths.Layout.preload = lambda *_: root / "built.so"
site = Site(root)
site.apply(EIGHT) if work == "apply" else site.rollback()
"""


@pytest.mark.parametrize(
    ("work", "renames"), [("apply", 0), ("apply", 1), ("apply", 2), ("rollback", 0)]
)
def test_kill_9(open_folder: Path, work: str, renames: int) -> None:
    """Before the generation is there, before the first file of others is replaced, before the
    second."""
    site = Site(open_folder / "etc")
    (site.home / "profile.d").mkdir(parents=True)
    (site.home / "built.so").write_bytes(b"")
    site.write(FOREIGN)
    site.apply(FOUR)
    old = (site.file.read_bytes(), site.whole.read_bytes())
    words = [sys.executable, "-c", KILL, str(site.home), work, str(renames)]
    done = subprocess.run(words, env=environment(), timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    now = (site.file.read_bytes(), site.whole.read_bytes())
    assert [mine == before for mine, before in zip(now, old, strict=True)] == [
        renames < 2 or work == "rollback",
        True,
    ]
    if work == "apply":
        assert site.apply(EIGHT).campaigns == ["c-4", "c-8"]
    site.rollback(everything=True)
    assert site.file.read_bytes() == FOREIGN and not site.whole.exists()
    assert os.listdir(site.file.parent) == [site.file.name]
