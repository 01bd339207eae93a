"""`plumbline record` and its --convert as a user types them, with a real mpirun."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.collectives_alt.programs import AS_ROOT
from tests.probes.recorder.programs import recorder
from tests.tuner import started

pytestmark = pytest.mark.mpi

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static void hand_on(double *data, int rank, int p)
{
    if (rank > 0)
        MPI_Recv(data, 100, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < p - 1)
        MPI_Send(data, 100, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
}
int main(int argc, char **argv)
{
    int rank, p;
    double data[100] = {1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    hand_on(data, rank, p);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fprintf(stderr, "ready\\n");
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recorder()
    folder = tmp_path_factory.mktemp("program")
    (folder / "chain.c").write_text(PROGRAM)
    subprocess.run(["mpicc", "-g", "-O0", "chain.c", "-o", "chain"], cwd=folder, check=True)
    return folder / "chain"


def plumbline(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return started.plumbline(*words, cwd=folder, **AS_ROOT)


def mpirun(program: Path, *words: str) -> list[str]:
    return ["--", "mpirun", "--oversubscribe", "-np", "3", str(program), *words]


def test_record_and_convert(tmp_path: Path, program: Path) -> None:
    done = plumbline(tmp_path, "record", "--output", "mine", *mpirun(program, "5"))
    assert done.returncode == 5
    assert "ready" in done.stderr
    assert "plumbline: mine: 3 ranks" in done.stderr
    assert "2 messages of 1600 bytes, 3 calls of collectives" in done.stderr
    place = f"{program.with_suffix('.c')}:10 (hand_on)"
    assert f"plumbline: 1600 bytes in 2 messages from {place}" in done.stderr
    assert json.loads((tmp_path / "mine" / "recording.json").read_text())["status"] == 5
    again = plumbline(tmp_path, "record", "--output", "mine", *mpirun(program))
    assert again.returncode == 2
    assert "mine is not empty" in again.stderr
    made = plumbline(tmp_path, "record", "--convert", "simgrid", "--output", "trace", "mine")
    assert (made.returncode, made.stderr) == (0, "")
    assert "actions of 3 ranks" in made.stdout


def test_json(tmp_path: Path, program: Path) -> None:
    done = plumbline(tmp_path, "--json", "record", "--output", "mine", *mpirun(program))
    found = json.loads(done.stdout)
    assert (found["ranks"], found["sent"], found["verified"], found["lost"]) == (3, 2, 2, 0)
    assert found["functions"] == {"MPI_Send": 2, "MPI_Recv": 2, "MPI_Barrier": 3}
    assert [len(site["frames"]) for site in found["sites"]] == [2]


def test_nothing_to_record(tmp_path: Path) -> None:
    done = plumbline(tmp_path, "record", "--output", "mine", "--", "true")
    assert done.returncode == 1
    assert "no rank was recorded (the command ended with status 0)" in done.stderr
    missing = plumbline(tmp_path, "record", "--output", "other", "--", "no-such-program")
    assert missing.returncode == 2
    assert "not on PATH" in missing.stderr


CRASHES = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    abort();
}
"""


def test_a_program_that_crashed_before_its_first_message_is_not_judged(tmp_path: Path) -> None:
    recorder()
    (tmp_path / "crash.c").write_text(CRASHES)
    subprocess.run(["mpicc", "-g", "crash.c", "-o", "crash"], cwd=tmp_path, check=True)
    done = plumbline(tmp_path, "record", "--output", "mine", *mpirun(tmp_path / "crash"))
    assert done.returncode != 0
    detected = plumbline(tmp_path, "detect", "mine", "--db", "results.db")
    assert detected.returncode == 1 and detected.stdout == ""
    assert "3 of 3 ranks did not reach MPI_Finalize, and no message was recorded" in detected.stderr
    assert not (tmp_path / "results.db").exists()
