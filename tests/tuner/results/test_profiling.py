"""`plumbline profile` with the libraries that are here, and with programs that nobody wrote for it:
what a benchmark prints of its own calls is what must be recorded."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from plumbline.core.application import Application
from plumbline.core.profile_file import read
from plumbline.libraries import Family, Installation
from plumbline.libraries.intelmpi import IntelMpi
from plumbline.libraries.mpich import Mpich
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system import paths
from tests.tuner.families import installations
from tests.tuner.started import plumbline

pytestmark = pytest.mark.mpi

FAMILIES: dict[str, Family] = {"openmpi": OpenMpi(), "mpich": Mpich(), "intelmpi": IntelMpi()}
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int loaded(const char *process)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen(process, "r");
    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, "libplumbline.so") != NULL;
    return maps ? found : -1;
}
int main(int argc, char **argv)
{
    char from[4096], to[4096];
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 7; i++)
        MPI_Allreduce(from, to, 1000, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_Bcast(from, 24, MPI_BYTE, 0, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("typed %c\\n", getchar());
    char parent[64];
    snprintf(parent, sizeof parent, "/proc/%d/maps", (int)getppid());
    printf("loaded %d, by its parent %d\\n", loaded("/proc/self/maps"), loaded(parent));
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""


def installation(name: str) -> Installation:
    family = next(one for key, one in FAMILIES.items() if key in name) if name != "PATH" else None
    found = installations.real(
        family or OpenMpi(), "impi-2021" if family and "intel" in name else name
    )
    if not (
        installations.ROOT / "build" / paths.build_id(found.library) / "libplumbline.so"
    ).is_file():
        pytest.skip(f"not built for {found.library.id}: make build MPICC={found.mpicc}")
    return found


def profiled(
    found: Installation, folder: Path, *words: str | Path, nprocs: int = 2
) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The command as a user types it, with mpirun by its whole path."""
    crowded = ["--oversubscribe"] if found.library.family == "openmpi" else []
    mpirun = [str(found.mpirun), *crowded, "-n", str(nprocs), *map(str, words)]
    output = folder / "out.json"
    return plumbline("profile", "--output", output, "--", *mpirun, cwd=folder, typed="x"), output


@pytest.mark.parametrize("name", ["PATH", "openmpi-5.0", "mpich-5.0", "intelmpi"])
def test_calls_of_a_program(name: str, tmp_path: Path) -> None:
    found = installation(name)
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    environment = os.environ | FAMILIES[found.library.family].environment(found)
    command = [str(found.mpicc), str(source), "-o", str(tmp_path / "program")]
    subprocess.run(command, check=True, env=environment, timeout=60)
    done, output = profiled(found, tmp_path, tmp_path / "program", "3")
    assert done.returncode == 3, done.stderr  # the application's
    assert "typed x" in done.stdout
    assert done.stdout.count("loaded 1, by its parent 0") == 2  # nothing but the ranks
    whole = read(output)
    assert (whole.status, whole.nprocs, whole.ranks, whole.finished) == (3, 2, 2, 2)
    assert {(one.function, one.bytes, one.nprocs, one.nodes): one.calls for one in whole.calls} == {
        ("MPI_Allreduce", 1000, 2, 1): 7.0,
        ("MPI_Bcast", 24, 2, 1): 3.0,
    }
    assert "MPI_Allreduce" in done.stderr and "2 kinds of calls" in done.stderr
    left = {one.name for one in tmp_path.iterdir()}
    assert left == {"program.c", "program", "out.json"}


def imb(output: str) -> dict[str, dict[int, int]]:
    """Repetitions by benchmark and bytes."""
    found: dict[str, dict[int, int]] = {}
    for part in output.split("# Benchmarking ")[1:]:
        rows = re.findall(r"^ +(\d+) +(\d+)(?: +[\d.]+){3}", part, re.MULTILINE)
        found[part.split()[0]] = {int(size): int(repetitions) for size, repetitions in rows}
    return found


@pytest.mark.alone  # IMB takes long; other programs are recorded above
def test_what_imb_says_it_does(tmp_path: Path) -> None:
    """Beside what it does to warm up, as often at every size."""
    found = installation("intelmpi")
    program = found.mpirun.parent / "IMB-MPI1"
    if not program.is_file():
        pytest.skip(f"no {program}: impi-devel has it")
    words: list[str | Path] = [program, "Allreduce", "Bcast", "-npmin", "2"]
    words += ["-iter", "40", "-iter_policy", "off", "-msglog", "8:12"]
    done, output = profiled(found, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    said = imb(done.stdout)
    assert set(said) == {"Allreduce", "Bcast"}
    for benchmark, repetitions in said.items():
        assert sorted(repetitions) == [0, 256, 512, 1024, 2048, 4096]
        recorded = of(read(output), f"MPI_{benchmark}")
        warm_up = {recorded[size] - count for size, count in repetitions.items()}
        assert len(warm_up) == 1 and warm_up.pop() >= 0


def of(found: Application, function: str) -> dict[int, float]:
    return {one.bytes or 0: one.calls for one in found.calls if one.function == function}


def test_a_command_without_ranks(tmp_path: Path) -> None:
    done = plumbline("profile", "--", "true", cwd=tmp_path)
    assert done.returncode == 1
    assert "no rank was recorded (the command ended with status 0)" in done.stderr
    assert list(tmp_path.iterdir()) == []
