"""Only regular files are read: nothing waits for a pipe, and nothing reads a device."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plumbline_db import user_files


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a\r\nb\xff" + b"x" * 3_000_000)
    assert user_files.read(path) == path.read_bytes()
    assert user_files.text(path, "replace").startswith("a\nb\ufffd")
    (tmp_path / "link").symlink_to(path)
    with user_files.open_file(tmp_path / "link") as file:
        assert file.read(1) == b"a"
    with pytest.raises(OSError, match="longer than 2000000 bytes"):
        user_files.read(path, 2_000_000)


def test_anything_else_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    before = len(os.listdir("/proc/self/fd"))
    for path, what in [
        (tmp_path / "pipe", "it is a pipe, not a regular file"),
        (tmp_path / "link", "it is a pipe, not a regular file"),
        (Path("/dev/zero"), "it is a device, not a regular file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "none", "No such file"),
    ]:
        with pytest.raises(OSError, match=what):
            user_files.open_file(path)
    assert len(os.listdir("/proc/self/fd")) == before
