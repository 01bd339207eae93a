"""What librecorder.so writes down is what programs say that they did, message by message."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from plumbline.detect.kinds import Element, EventKind, Flag
from plumbline.detect.read import read
from plumbline.detect.record import resolved
from plumbline.detect.recording import Recording
from tests.collectives_alt.programs import MPICH, mpirun
from tests.probes.recorder.programs import HERE, Recorder, compare, recorder
from tests.tuner.detect import hashes

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def debian() -> Recorder:
    return recorder()


@pytest.fixture(scope="module", params=["openmpi-4.1", "openmpi-5.0", "mpich-5.0"])
def library(request: pytest.FixtureRequest) -> Recorder:
    if request.param == "openmpi-4.1":
        return recorder()
    mpicc = MPICH.with_name(request.param) / "bin" / "mpicc"
    if not mpicc.exists():
        pytest.skip(f"no {request.param} in build/mpis: `make setup-mpis` fetches it")
    return recorder(str(mpicc))


def ranks(library: Recorder, wanted: int) -> int:
    """MPICH spins: never more ranks than cores."""
    return 2 if library.mpicc.startswith(str(MPICH)) else wanted


def test_messages(library: Recorder, tmp_path: Path) -> None:
    nprocs = ranks(library, 4)
    done, record = library.recorded(tmp_path, library.compiled("messages", tmp_path), nprocs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    recording = compare(tmp_path, record, nprocs)
    assert len(recording.unmatched()) == 0
    freed = (recording.events["flags"] & Flag.UNKNOWN_CONTENT) != 0
    assert (~recording.messages["verified"]).sum() == freed.sum() == nprocs
    require_sound(recording)


def require_sound(recording: Recording) -> None:
    """What must hold of any recording."""
    events, messages = recording.events, recording.messages
    assert (events["post_ns"] <= events["start_ns"]).all()
    assert (events["start_ns"] <= events["end_ns"]).all()
    sends, receives = events[messages["send"]], events[messages["receive"]]
    ended = (receives["flags"] & Flag.UNKNOWN_CONTENT) == 0
    assert (receives["end_ns"] >= sends["post_ns"])[ended].all()
    both = messages["verified"]
    for name in ("signature", "poly", "payload", "extremes", "element", "comm", "tag"):
        assert (sends[name][both] == receives[name][both]).all(), name
    assert np.allclose(sends["sketch"][both], receives["sketch"][both], rtol=1e-12)
    for event in events[(events["bytes"] <= 64) & (events["content"] != 0)]:
        content = event["payload"].tobytes()[: event["bytes"]]
        assert hashes.poly(content, event["element"]) == event["poly"]
        assert np.allclose(hashes.sketch(content, event["element"]), event["sketch"])


def test_collectives(library: Recorder, tmp_path: Path) -> None:
    nprocs = ranks(library, 3)
    done, record = library.recorded(tmp_path, library.compiled("collectives", tmp_path), nprocs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    recording = compare(tmp_path, record, nprocs)
    inputs = recording.events[recording.events["kind"] == EventKind.INPUT]
    for rank in range(nprocs):
        assert (
            inputs["sequence"][inputs["rank"] == rank] == np.arange(len(inputs) // nprocs)
        ).all()


def test_messages_of_mpi_4(tmp_path: Path) -> None:
    mpich = MPICH / "bin" / "mpicc"
    if not mpich.exists():
        pytest.skip("no MPICH in build/mpis: `make setup-mpis` fetches it")
    library = recorder(str(mpich))
    done, record = library.recorded(tmp_path, library.compiled("partitions", tmp_path), 2)
    assert (done.returncode, done.stderr) == (0, "")
    recording = compare(tmp_path, record, 2)
    assert recording.messages["verified"].all()


def test_call_sites(debian: Recorder, tmp_path: Path) -> None:
    """The line of each call; of one function by its callers too."""
    done, record = debian.recorded(tmp_path, debian.compiled("messages", tmp_path), 2)
    assert done.returncode == 0
    recording = resolved(read(record))
    source = (HERE / "messages.c").read_text().splitlines()
    for event in recording.events:
        frame = recording.call_sites[event["call_site"]].frames[0]
        assert frame.file == str(HERE / "messages.c")
        name = recording.functions[event["function"]]
        if name in ("MPI_Irecv", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Recv"):
            assert name in source[frame.line - 1]
    names = [[frame.function for frame in site.frames] for site in recording.call_sites]
    assert ["receive", "modes", "main"] in names
    assert ["exchange_type", "types", "main"] in names


def test_a_killed_rank(debian: Recorder, tmp_path: Path) -> None:
    """What had happened until then is there, of all ranks."""
    done, record = debian.recorded(tmp_path, debian.compiled("killed", tmp_path), 3)
    assert done.returncode != 0
    recording = read(record)
    assert not any(rank.finished for rank in recording.ranks)
    assert len(recording.messages) == 150
    assert recording.messages["verified"].all()
    waiting = recording.events[(recording.events["flags"] & Flag.INCOMPLETE) != 0]
    assert waiting["rank"].tolist() == [0, 2]
    assert (waiting["peer"] == 1).all()
    assert (waiting["content"] == 0).all()


def test_threads(debian: Recorder, tmp_path: Path) -> None:
    done, record = debian.recorded(tmp_path, debian.compiled("threads", tmp_path), 2)
    if done.returncode == 77:
        pytest.skip("no MPI_THREAD_MULTIPLE")
    assert done.returncode == 0, done.stderr
    recording = read(record)
    assert len(recording.messages) == 2 * 2 * 2 * 500
    assert recording.messages["verified"].all()
    assert set(recording.events["thread"].tolist()) == {0, 1}


def test_a_limit(debian: Recorder, tmp_path: Path) -> None:
    """Events behind the limit are counted; those before it are there."""
    program = debian.compiled("messages", tmp_path)
    done, record = debian.recorded(tmp_path, program, 2, PLUMBLINE_RECORD_BYTES="70000")
    assert done.returncode == 0
    recording = read(record)
    assert all(rank.lost > 300 for rank in recording.ranks)
    assert all(rank.finished for rank in recording.ranks)
    assert (record / "rank-0.record").stat().st_size <= 70000
    assert recording.messages["verified"].all()


def test_a_folder_that_is_not_there(debian: Recorder, tmp_path: Path) -> None:
    """The application runs as it would, and one line a rank says what is wrong."""
    program = debian.compiled("messages", tmp_path)
    env = {"LD_PRELOAD": str(debian.library), "PLUMBLINE_RECORD": str(tmp_path / "missing")}
    done = mpirun(2, program, env=env, cwd=tmp_path)
    assert done.returncode == 0
    assert "nothing is recorded" in done.stderr


def test_nothing_is_asked_for(debian: Recorder, tmp_path: Path) -> None:
    program = debian.compiled("messages", tmp_path)
    done = mpirun(2, program, env={"LD_PRELOAD": str(debian.library)}, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(
    not shutil.which("mpif90") or not shutil.which("gfortran"),
    reason="no Fortran compiler; install gfortran",
)
@pytest.mark.parametrize("binding", [1, 2, 3], ids=["mpif.h", "mpi", "mpi_f08"])
def test_fortran(debian: Recorder, tmp_path: Path, binding: int) -> None:
    options = ["-fallow-argument-mismatch", "-w"] if binding == 1 else []
    program = tmp_path / "messages"
    command = ["mpif90", "-cpp", f"-DBINDING={binding}", *options, "-O0", "-g", f"-J{tmp_path}"]
    subprocess.run(
        [*command, str(HERE / "messages.F90"), "-o", str(program)], check=True, timeout=100
    )
    done, record = debian.recorded(tmp_path, program, 2)
    assert (done.returncode, done.stdout.split()) == (0, ["good", "good"]), done.stderr
    recording = resolved(read(record))
    assert recording.messages["verified"].all()
    assert len(recording.unmatched()) == 0
    sent = recording.events[recording.messages["send"]]
    assert sorted(sent["tag"].tolist()) == [1, 2, *(tag for tag in range(3, 12) for _ in range(2))]
    assert set(sent["element"].tolist()) == {Element.FLOAT64}
    collectives = recording.events[recording.events["kind"] == EventKind.OUTPUT]
    names = [recording.functions[number] for number in collectives["function"]]
    assert names == ["MPI_Allreduce", "MPI_Ibcast"] * 2
    assert {site.frames[0].file for site in recording.call_sites} == {str(HERE / "messages.F90")}


def test_where_ranks_may_run(debian: Recorder, tmp_path: Path) -> None:
    """As mpirun was asked."""
    program = debian.compiled("messages", tmp_path)
    asked = {"none": "none", "core": "core:overload-allowed"}
    for bind, policy in asked.items():
        folder = tmp_path / bind
        folder.mkdir()
        env = {"LD_PRELOAD": str(debian.library), "PLUMBLINE_RECORD": str(folder)}
        done = mpirun(4, "--bind-to", policy, program, env=env, cwd=folder)
        assert done.returncode == 0, done.stderr
        recording = read(folder)
        here = set(os.sched_getaffinity(0))
        assert all(set(rank.cpus) <= here for rank in recording.ranks)
        if len(here) > 1:
            assert recording.bind == bind
