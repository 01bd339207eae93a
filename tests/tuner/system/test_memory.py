"""Main memory, read off this host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plumbline.system import machine


def test_what_a_process_takes() -> None:
    before = machine.memory_of_process(os.getpid())
    taken = bytearray(b"x" * (64 << 20))
    assert machine.memory_of_process(os.getpid()) - before > 60 << 20
    assert len(taken) and machine.memory_of_process(2**22 + 1) == 0  # no process has this number


def test_a_limit_of_the_control_group_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_CONTROL_GROUP", tmp_path)
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.available_memory() > 1 << 20
    for limit, left in (("5000\n", 4000), ("500\n", 0)):
        (tmp_path / "memory.max").write_text(limit)
        assert machine.available_memory() == left


def test_shared_memory_that_is_not_there_has_no_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_SHARED", tmp_path / "none")
    assert machine.shared_is_half_empty()
