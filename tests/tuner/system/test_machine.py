"""The facts about this machine, and what makes it another one."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from plumbline.system import machine
from plumbline.system.machine import Others, ProcessorTimes, others


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


TICKS = os.sysconf("SC_CLK_TCK")


def reading(at: float, busy: float | None, own: float, **more: object) -> ProcessorTimes:
    values = {"at_seconds": at, "busy_seconds": busy, "stolen_seconds": 0.0, "own_seconds": own}
    return ProcessorTimes(**(values | more))  # type: ignore[arg-type]


def name(pid: int) -> str:
    return f"program {pid}"


def test_what_others_took_and_who_they_are() -> None:
    before = reading(10.0, 100.0, 5.0, of_processes={(7, 1): 50.0, (8, 1): 3.0})
    # A process that took the id 8 after another one had ended has taken all its seconds since.
    after = reading(12.0, 103.0, 5.2, of_processes={(7, 1): 51.0, (8, 2): 1.6, (9, 1): 0.01})
    found = others(before, after, name)
    assert found is not None
    assert round(found.processors, 3) == 1.4
    assert found.programs == [("program 8", 0.8), ("program 7", 0.5)]
    assert found.text() == (
        "1.4 processors are busy with other work: program 8 0.80, program 7 0.50"
    )


def test_what_the_hypervisor_takes_counts() -> None:
    before = reading(0.0, 0.0, 0.0)
    found = others(before, reading(1.0, 0.0, 0.0, stolen_seconds=0.5), name)
    assert found is not None and found.processors == 0.5
    assert "cannot see, or the hypervisor" in found.text()


def test_a_kernel_that_does_not_tell(tmp_path: Path) -> None:
    silent = machine.read(tmp_path)
    assert silent.busy_seconds is None and silent.of_processes == {}
    assert others(silent, silent, name) is None
    (tmp_path / "stat").write_text("cpu 1 2\n")
    assert machine.read(tmp_path).busy_seconds is None


def test_many_programs_are_few_words() -> None:
    text = Others(6.0, [(f"program {number}", 1.0) for number in range(6)]).text()
    assert text.endswith("program 0 1.00, program 1 1.00, program 2 1.00")


def test_the_files_of_the_kernel_are_read(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(f"cpu {TICKS} {TICKS} {TICKS} 9 9 {TICKS} {TICKS} {TICKS} 0 0\n")
    values = ["S", *["0"] * 10, str(2 * TICKS), str(TICKS), *["0"] * 6, "77"]
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "stat").write_text(f"12 (a) b ( c) {' '.join(values)}\n")
    (tmp_path / "13").mkdir()  # has ended meanwhile
    found = machine.read(tmp_path)
    assert (found.busy_seconds, found.stolen_seconds) == (5.0, 1.0)
    assert found.of_processes == {(12, 77): 3.0}


def test_the_name_of_a_program_prints_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "comm").write_bytes(b"\x1b[2J\x00evil\n\xff" + b"x" * 100 + b"\n")
    said = machine.named(5, tmp_path)
    assert said.isprintable() and said.startswith("?[2J?evil?") and len(said) < 100
    assert machine.named(6, tmp_path) == "a program (process 6)"


def test_a_real_program_is_seen() -> None:
    before = machine.read()
    loop = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        taken = 0.0
        while taken < 0.1:  # however few processors it gets
            time.sleep(0.1)
            after = machine.read()
            taken = sum(one for (pid, _), one in after.of_processes.items() if pid == loop.pid)
        found = others(before, after, machine.named)
        assert found is not None and found.processors > 0
        assert machine.named(loop.pid).startswith(f"sh (process {loop.pid}, user ")
    finally:
        loop.kill()
        loop.wait()
