"""Builds the programs of this folder and starts them under librecorder.so."""

from __future__ import annotations

import fcntl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from plumbline.detect.read import read
from plumbline.detect.recording import Recording
from tests.collectives_alt.programs import MPICH, mpiexec, mpirun
from tests.probes.launch import ROOT, build_folder

HERE = Path(__file__).parent
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True)
class Recorder:
    """librecorder.so of one MPI library, and its compiler wrapper."""

    library: Path
    mpicc: str

    def compiled(self, name: str | Path, folder: Path, *flags: str) -> Path:
        """A program of this folder, or a source that lies elsewhere."""
        source = (HERE / name).with_suffix(".c")
        program = folder / source.stem
        command = [self.mpicc, *FLAGS, *flags, str(source), "-pthread"]
        subprocess.run([*command, "-o", str(program)], check=True, timeout=120)
        return program

    def recorded(
        self, folder: Path, program: Path, nprocs: int, **env: str
    ) -> tuple[subprocess.CompletedProcess[str], Path]:
        """One run, and the folder of its recording."""
        record = folder / "record"
        record.mkdir()
        variables = {"LD_PRELOAD": str(self.library), "PLUMBLINE_RECORD": str(record), **env}
        if self.mpicc.startswith(str(MPICH)):
            done = mpiexec(nprocs, program, env=variables, timeout=100, cwd=folder)
        else:
            own = Path(self.mpicc).with_name("mpirun")
            done = mpirun(nprocs, program, env=variables, cwd=folder, launcher=own)
        return done, record


def recorder(mpicc: str = "mpicc") -> Recorder:
    house = build_folder(mpicc)
    house.mkdir(parents=True, exist_ok=True)
    library = house / "librecorder.so"
    with (house.parent / "recorder.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-s", "-C", str(ROOT / "probes"), f"MPICC={mpicc}", str(library)]
        subprocess.run(command, check=True, timeout=600)
    return Recorder(library, mpicc)


def told(folder: Path, rank: int) -> list[list[str]]:
    """What a rank says that it did: truth.h."""
    return [line.split() for line in (folder / f"truth-{rank}").read_text().splitlines()]


def seen(recording: Recording, rank: int) -> list[list[str]]:
    """What was recorded of a rank, as it would tell it."""
    fields = ("kind", "mode", "flags", "peer", "tag", "bytes")
    return [
        [
            recording.functions[event["function"]],
            *(str(int(event[name])) for name in fields),
            f"{int(event['content']):x}",
        ]
        for event in recording.events[recording.of_rank(rank)]
    ]


def compare(folder: Path, record: Path, nprocs: int) -> Recording:
    """All that ranks did was recorded, and nothing else."""
    recording = read(record)
    assert recording.nprocs == nprocs
    for rank in range(nprocs):
        expected, found = told(folder, rank), seen(recording, rank)
        wrong = [pair for pair in zip(expected, found, strict=False) if pair[0] != pair[1]]
        assert not wrong, f"rank {rank}: {wrong[:5]}"
        assert len(expected) == len(found)
    return recording
