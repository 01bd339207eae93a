"""Recordings as other tools read them, by those tools where they are here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from plumbline.detect.kinds import Flag, ReductionOperator
from plumbline.detect.recording import Recording
from plumbline.detect.traces import steps, write_otf2, write_simgrid
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner.detect.program import RankProgram

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="c" prefix="n-" suffix="" radical="0-3" speed="1Gf" bw="10GBps" lat="1us"/>
</platform>
"""


def recording() -> Recording:
    program = RankProgram(3)
    data = np.arange(1000.0)
    for rank in (1, 2):
        program.message(0, rank, data, tag=5)
    program.message(1, 2, data, tag=5, comm=program.communicator([1, 2]))
    program.compute(1, 2_000_000_000)
    everyone = dict.fromkeys(range(3), np.arange(4))
    program.collective("MPI_Allreduce", everyone, everyone, operation=ReductionOperator.SUM)
    program.collective("MPI_Bcast", {2: data}, dict.fromkeys(range(3), data), root=2)
    program.collective("MPI_Alltoallv", everyone, everyone)
    return program.recording()


def test_steps_of_requests() -> None:
    """What one call completes is one step."""
    program = RankProgram(2)
    for _ in range(2):
        program.send(0, 1, b"x", function="MPI_Isend", flags=Flag.NONBLOCKING)
    made = program.recording()
    events = made.events.copy()
    events["start_ns"], events["end_ns"] = 900, 1000
    found = steps(msgspec.structs.replace(made, events=events), 0)
    assert [(step.begun, step.completed) for step in found] == [
        ((0,), ()),
        ((1,), ()),
        ((), (0, 1)),
    ]


def test_simgrid(tmp_path: Path) -> None:
    written = write_simgrid(recording(), tmp_path, flops=2e9)
    assert written.left_out == {"MPI_Alltoallv": 3}
    lines = (tmp_path / "rank-1.trace").read_text().splitlines()
    assert written.path.read_text().split() == [
        str(tmp_path / f"rank-{rank}.trace") for rank in range(3)
    ]
    words = [line.split()[1:] for line in lines]
    assert [line for line in words if line[0] != "compute"] == [
        ["init"],
        ["recv", "0", "0", "8000"],
        ["send", "2", "0", "8000"],
        ["allreduce", "32", "0"],
        ["bcast", "8000", "2"],
        ["finalize"],
    ]
    assert ["compute", "4000000000"] in words


@pytest.mark.skipif(not shutil.which("smpirun"), reason="no SimGrid; install libsimgrid-dev")
def test_simgrid_replays_it(tmp_path: Path) -> None:
    """Two seconds of computation on one rank, which the others wait for."""
    written = write_simgrid(recording(), tmp_path)
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "hosts").write_text("n-0\nn-1\nn-2\n")
    command = ["smpirun", "-np", "3", "-platform", "platform.xml", "-hostfile", "hosts"]
    done = subprocess.run(
        [*command, "-replay", str(written.path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    seconds = float(done.stderr.rpartition("Simulation time ")[2].split()[0])
    assert 2.0 < seconds < 2.1


def test_otf2(tmp_path: Path) -> None:
    try:
        written = write_otf2(recording(), tmp_path / "trace")
    except PlumblineError as error:
        assert "apt-get install python3-otf2" in str(error)
        pytest.skip("no python3-otf2; install the Debian package")
    with pytest.raises(UsageError, match="exists already"):
        write_otf2(recording(), tmp_path / "trace")
    if not shutil.which("otf2-print"):
        pytest.skip("no otf2-print; install otf2-tools")
    done = subprocess.run(
        ["otf2-print", str(written.path)], capture_output=True, text=True, timeout=60, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert sum(line[:1] == ["MPI_SEND"] for line in lines) == 3
    assert sum(line[:1] == ["MPI_RECV"] for line in lines) == 3
    assert sum(line[:1] == ["MPI_COLLECTIVE_END"] for line in lines) == 9
    assert done.stdout.count("Operation: BCAST") == 3
    assert "Length: 8000" in done.stdout
