"""Mistakes and accidents: a message that names the thing, a defined exit code, no hang."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from plumbline_db.probe_records import Begin, Check, Order, UnderWay
from tests.probes.launch import ENVIRONMENT, Probe, decode

GOOD = "case id=0 function=MPI_Bcast bytes=8\n"


@pytest.mark.parametrize(
    ("lines", "line", "token"),
    [
        ("set speed=1\n" + GOOD, 2, "speed=1"),
        (GOOD + "cased id=1\n", 3, "cased"),
        ("case id=0 function=MPI_Bcast\n", 2, "case"),
    ],
)
def test_broken_plans(probe: Probe, lines: str, line: int, token: str) -> None:
    """What else is refused: unit/test_plan.c."""
    plan = probe.write(lines)
    launch = probe.start([str(probe.binary), "--check-plan", str(plan)])
    assert (launch.code, launch.stdout) == (2, "")
    assert launch.stderr.startswith(f"plan {plan} line {line}: token '{token}': ")


@pytest.mark.mpi
@pytest.mark.parametrize("token", ["root=3", "bytes=8e3", "sync=shout"])
def test_a_broken_plan_under_mpirun(probe: Probe, token: str) -> None:
    line = f"set {token}\n{GOOD}" if token.startswith("sync") else f"{GOOD.strip()} {token}"
    if token.startswith("bytes"):
        line = GOOD.replace("bytes=8", token)
    launch = probe.run(line, 3)
    assert launch.code == 2
    assert launch.stderr.count(f"line 2: token '{token}': ") == 1
    assert not list(probe.folder.glob("records*"))


@pytest.mark.mpi
def test_a_plan_that_is_a_pipe_stops_nobody(probe: Probe) -> None:
    pipe = probe.folder / "pipe"
    os.mkfifo(pipe)
    mpirun = ["mpirun", "-np", "2", "--oversubscribe", str(probe.binary)]
    for words in ([str(probe.binary), "--check-plan"], [*mpirun, "--out", "o", "--plan"]):
        launch = probe.start([*words, str(pipe)])
        assert launch.code != 0 and "pipe: not a regular file" in launch.stderr, launch.stderr


@pytest.mark.mpi
def test_no_plan_and_no_place_for_records(probe: Probe) -> None:
    plan, out = probe.write(GOOD), probe.folder / "no" / "such" / "folder"
    mpirun = [*probe.command(3, {}), str(probe.binary)]
    launch = probe.start([*mpirun, "--plan", str(out), "--out", str(probe.folder / "o")])
    assert launch.code == 2
    assert launch.stderr.count(f"probe: {out}: No such file or directory") == 1
    launch = probe.start([*mpirun, "--plan", str(plan), "--out", str(out)])
    assert launch.code == 1
    assert launch.stderr.count(f"probe: {out}: No such file or directory") == 1


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("plan", "the plan itself"),
        ("link", "the plan itself"),
        ("folder", "not a plain file"),
        ("pipe", "not a plain file"),  # stands in for /dev/null, which a rename would replace
        ("", "an empty name"),
    ],
)
def test_records_never_take_the_place_of_something_else(
    probe: Probe, place: str, words: str
) -> None:
    plan = probe.write(GOOD)
    (probe.folder / "link").symlink_to(plan)
    (probe.folder / "folder").mkdir()
    os.mkfifo(probe.folder / "pipe")
    out = plan if place == "plan" else probe.folder / place if place else ""
    before = sorted(probe.folder.iterdir()), plan.read_bytes()
    mpirun = [*probe.command(3, {}), str(probe.binary)]
    launch = probe.start([*mpirun, "--plan", str(plan), "--out", str(out)])
    assert launch.code == 2
    assert launch.stderr.count(f"probe: {out}: {words}") == 1
    assert (sorted(probe.folder.iterdir()), plan.read_bytes()) == before
    assert (probe.folder / "pipe").is_fifo()


@pytest.mark.mpi
def test_a_disk_that_fills_up(probe: Probe) -> None:
    """The file may have 64 blocks; the plan writes more. All ranks stop after the same block."""
    plan = probe.write("set blocks=100000\ncase id=0 function=MPI_Barrier bytes=0 reps=2\n")
    out = probe.folder / "records.ndjson"
    shell = f"trap '' XFSZ; ulimit -f 64; exec {probe.binary} --plan {plan} --out {out}"
    launch = probe.start([*probe.command(2, {}), "sh", "-c", shell], out)
    assert launch.code == 1
    assert f"probe: {out}: File too large" in launch.stderr
    assert not out.exists()
    assert decode(out.with_name("records.ndjson.part"))[0] is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--plan FILE and --out FILE are needed"),
        (["--plan", "x"], "--plan FILE and --out FILE are needed"),
        (["--frobnicate"], "--frobnicate"),
        (["--out"], "requires an argument"),
        (["survey"], "no such command: survey"),
        (["system", "again"], "not also again"),
        (["system", "--plan", "x"], "options do not go with the command system"),
        (["--check-plan", "x", "--out", "y"], "--check-plan stands alone"),
        (["--check-plan", "/no/such/plan"], "/no/such/plan: No such file or directory"),
    ],
)
def test_usage(probe: Probe, arguments: list[str], words: str) -> None:
    launch = probe.start([str(probe.binary), *arguments])
    assert launch.code == 2
    assert words in launch.stderr


def rank_zero_below(parent: int) -> int | None:
    """The process of rank 0 that this mpirun started."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for child in children:
        try:
            environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:  # it has just ended
            continue
        if b"OMPI_COMM_WORLD_RANK=0" in environment:
            return int(child)
    return None


def wait_for_blocks(part: Path, count: int) -> None:
    for _ in range(3000):
        if part.exists() and part.read_bytes().count(b'"order"') >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"{part} did not get {count} blocks in a minute")


@pytest.mark.mpi
def test_killed_in_the_middle(probe: Probe) -> None:
    plan = probe.write("set blocks=1000000\n" + GOOD + "case id=1 function=MPI_Barrier bytes=0\n")
    out = probe.folder / "records.ndjson"
    part = out.with_name("records.ndjson.part")
    argv = [*probe.command(2, {}), str(probe.binary), "--plan", str(plan), "--out", str(out)]
    with subprocess.Popen(
        argv, env=os.environ | ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as mpirun:
        try:
            wait_for_blocks(part, 50)
            victim = rank_zero_below(mpirun.pid)
            assert victim is not None
            os.kill(victim, signal.SIGKILL)
            assert mpirun.wait(timeout=30) != 0
        finally:
            mpirun.terminate()
    assert not out.exists()
    records = decode(part)
    assert [record.case for record in records if isinstance(record, Begin)] == [0, 1]
    (timed,) = [record for record in records if isinstance(record, UnderWay)]
    assert timed.block is not None and timed.block >= 49 and timed.case in (0, 1)
    assert isinstance(records[-1], Order | UnderWay | Begin | Check)


@pytest.mark.mpi
def test_a_function_of_the_library_that_refuses_fails_the_calls_that_come_to_it(
    probe: Probe,
) -> None:
    """While results are checked: the same function serves mpirun's and MPI's own end."""
    lines = "set blocks=1\n"
    for number, function in enumerate(("MPI_Bcast", "MPI_Reduce", "MPI_Scan")):
        lines += f"case id={number} function={function} bytes=64\n"
    launch = probe.good(lines, 2, {"PLUMBLINE_REFUSES": "PMPI_Bcast,PMPI_Scan"})
    assert [launch.checks[n].outcome for n in range(3)] == ["error", "ok", "error"]
    assert "MPI_ERR_OTHER" in launch.checks[0].detail
    assert {one.case for one in launch.samples} == {1}


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("PMPI_Bcats", "the library has no function of a name in PLUMBLINE_REFUSES"),
        ("PMPI_Bcast," * 5, "PLUMBLINE_REFUSES is too long"),
    ],
)
def test_what_cannot_refuse_ends_the_launch(probe: Probe, names: str, said: str) -> None:
    launch = probe.run(GOOD, 2, {"PLUMBLINE_REFUSES": names})
    assert launch.code == 1 and said in launch.stderr
    assert not launch.samples
