"""The facts about this machine, and what makes it another one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from plumbline.system import machine


def test_facts_are_this_machine_s() -> None:
    found = machine.this_machine()
    assert found.host == socket.gethostname()
    assert found.processing_units == len(os.sched_getaffinity(0))
    assert found.memory_bytes > 2**28
    assert found.numa_nodes >= 1
    assert found.kernel == os.uname().release
    assert found.cpu_model and found.system
    assert machine.this_machine() == found


def test_identity_rests_on_what_results_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    here = machine.this_machine()
    with monkeypatch.context() as changed:
        changed.setattr(machine.platform, "release", lambda: "another kernel")
        assert machine.this_machine().id == here.id
    with monkeypatch.context() as changed:
        changed.setattr(machine, "processing_units", lambda: here.processing_units + 1)
        assert machine.this_machine().id != here.id
    with monkeypatch.context() as changed:
        changed.setattr(machine, "_cpu_model", lambda: "another processor")
        assert machine.this_machine().id != here.id


def test_without_proc_it_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise OSError("no such file")

    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(machine.platform, "freedesktop_os_release", refuse)
    found = machine.this_machine()
    assert found.cpu_model == os.uname().machine
    assert found.system == "Linux"
