"""Processes end when they should, with everything they started, and say how; signals end a command
once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plumbline.system import process
from plumbline_db.errors import PlumblineError
from tests.tuner.started import environment


def test_says_how_it_ended() -> None:
    done = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_seconds=10)
    assert (done.status, done.timed_out) == (3, False)
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    assert done.argv[0] == "sh"
    assert done.seconds > 0


def test_a_signal_is_a_negative_status() -> None:
    done = process.run(["sh", "-c", "kill -SEGV $$"], timeout_seconds=10)
    assert done.status == -signal.SIGSEGV


def test_no_shell_no_stdin_own_session(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.getsid(0) == os.getpid())"
    done = process.run([sys.executable, "-c", code, "$HOME; x", "*"], timeout_seconds=10)
    assert done.stdout == "['$HOME; x', '*']  True\n"
    where = process.run(["pwd"], timeout_seconds=10, folder=tmp_path)
    assert where.stdout.strip() == str(tmp_path.resolve())


def test_the_environment_is_the_one_given() -> None:
    done = process.run(["/usr/bin/env"], timeout_seconds=10, environment={"ONLY": "this"})
    assert done.stdout == "ONLY=this\n"


def test_output_is_kept_from_its_end() -> None:
    done = process.run(["seq", "10000"], timeout_seconds=10, cap_bytes=12)
    assert done.stdout == "\n9999\n10000\n"


def test_output_that_is_no_text_is_still_shown() -> None:
    done = process.run(["printf", r"a\377b"], timeout_seconds=10)
    assert done.stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_where_the_system_does_not_tell_that_a_process_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As before Linux 5.3."""
    monkeypatch.delattr(os, "pidfd_open")
    assert process.run(["sh", "-c", "exit 3"], timeout_seconds=10).status == 3
    assert process.run(["sleep", "60"], timeout_seconds=0.1).timed_out
    asked: list[float] = []
    done = process.run(
        ["sleep", "60"], timeout_seconds=60, give_up=lambda spent: not asked.append(spent)
    )
    assert not done.timed_out
    assert len(asked) == 1


def test_what_cannot_be_started_is_named() -> None:
    with pytest.raises(PlumblineError, match=r"cannot start no-such-program.*on PATH"):
        process.run(["no-such-program"], timeout_seconds=10)


def alive(pid: int) -> bool:
    """Whether it runs; one that nobody has waited for yet (a zombie) does not."""
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def ends(pid: int) -> bool:
    """The kernel takes a moment between the signal and the end."""
    limit = time.monotonic() + 60
    while alive(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    return not alive(pid)


def test_a_limit_ends_the_whole_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that ignores the polite signal, and a child in a process group of its own."""
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.2)
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '60'], preexec_fn=os.setpgrp)\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    for seconds in (1.0, 10.0, 60.0):  # until it has come so far
        done = process.run([sys.executable, str(script)], timeout_seconds=seconds)
        assert done.timed_out
        if done.stdout:
            break
    assert done.status == -signal.SIGKILL
    parent, child = map(int, done.stdout.split())
    assert ends(parent) and ends(child)


STUBBORN = """
import sys
from plumbline.system import ending, process
process.GRACE_SECONDS = float(sys.argv[1])
text = "trap '' TERM INT HUP; sleep 600 & echo $$ $! >part; mv part pids; wait; wait; wait"
try:
    with ending.by_signals():
        process.run(["/bin/sh", "-c", text], timeout_seconds=60)
except ending.Ended as ended:
    sys.exit(ended.signal)
"""


@pytest.mark.parametrize(
    ("numbers", "grace_seconds"),
    [
        ([signal.SIGKILL], 0.1),  # who takes its place waits three seconds
        ([signal.SIGTERM], 0.1),
        ([signal.SIGHUP], 0.1),
        ([signal.SIGINT, signal.SIGINT], 1000.0),
        ([signal.SIGINT, signal.SIGTERM], 1000.0),
    ],
)
def test_who_ignores_that_it_is_to_end_does_not_outlive_this_process(
    tmp_path: Path, numbers: list[signal.Signals], grace_seconds: float
) -> None:
    one = subprocess.Popen(
        [sys.executable, "-c", STUBBORN, str(grace_seconds)], env=environment(), cwd=tmp_path
    )
    pids = tmp_path / "pids"
    while not pids.exists():
        assert one.poll() is None
        time.sleep(0.02)
    time.sleep(0.1)  # until the session, which has begun, is noted
    for number in numbers:
        one.send_signal(number)
        time.sleep(0.5)  # two at once would be one
    with contextlib.suppress(subprocess.TimeoutExpired):
        one.wait(20)
    if one.poll() is None:  # they were one all the same
        one.send_signal(numbers[-1])
    first = numbers[0]
    assert one.wait(60) == (-first if first == signal.SIGKILL else first)
    assert all(ends(int(pid)) for pid in pids.read_text().split())


def test_what_a_finished_process_leaves_behind_is_ended() -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"
    done = process.run([sys.executable, "-c", code], timeout_seconds=200)
    assert (done.status, done.timed_out) == (0, False)
    assert done.seconds < 100
    assert ends(int(done.stdout))
