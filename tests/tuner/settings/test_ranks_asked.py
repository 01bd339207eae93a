"""Numbers of ranks, read off command lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.settings.ranks_asked import missing, of, ranks


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mpirun -np 4 ./app", 4),
        ("mpirun -n 4 ./app -n 7", 4),
        ("/opt/mpi/bin/mpiexec --np 16 ./app", 16),
        ("mpirun.openmpi --oversubscribe --mca btl self,vader -np 3 ./app", 3),
        ("mpirun --map-by node --bind-to core -x A=1 -np=8 ./app", 8),
        ("mpiexec.hydra -genv A 1 -ppn 2 -n 6 ./app", 6),
        ("mpirun -np 2 ./one : -np 3 ./two", 5),
        ("srun -n 32 ./app", 32),
        ("srun -n32 -N 2 ./app", 32),
        ("srun -N 2 -c 4 --ntasks=64 ./app", 64),
        ("srun --mpi=pmix --ntasks 8 ./app", 8),
        ("smpirun -platform p.xml -hostfile h -np 512 ./app", 512),
        ("env A=1 nice -n 5 mpirun -np 4 ./app", 4),
        ("timeout --signal INT 60 srun -n 8 ./app", 8),
    ],
)
def test_plainly_there(line: str, expected: int) -> None:
    assert ranks(line.split()) == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "./app -n 4",
        "sh -c true -n 4",
        "mpirun ./app -n 4",  # the program's
        "mpirun --some-option 3 -np 4 ./app",  # who knows what 3 is
        "mpirun -np four ./app",
        "mpirun -np",
        "mpirun -np 2 ./one : ./two",
        "srun -N 2 ./app",
        "srun -c 4 ./app",  # processors of a rank
        "mpirunner -np 4 ./app",
    ],
)
def test_not_said_or_not_plainly(line: str) -> None:
    assert ranks(line.split()) is None


def test_an_allocation_says_what_srun_takes() -> None:
    assert of(["srun", "--mpi=pmix", "-O", "./app"], {"SLURM_NTASKS": "16"}).ranks == 16
    assert of(["srun", "-n", "4", "./app"], {"SLURM_NTASKS": "16"}).ranks == 4
    assert of(["mpirun", "./app"], {"SLURM_NTASKS": "16"}).ranks is None


def test_a_program_without_a_launcher_is_one_rank(tmp_path: Path) -> None:
    program = tmp_path / "app"
    program.write_bytes(b"\x7fELF libmpi.so.40")
    other = tmp_path / "script"
    other.write_text("#!/bin/sh\nmpirun -np 4 ./app\n")
    assert of([str(program)], {}, program).ranks == 1
    assert of([str(program)], {"OMPI_COMM_WORLD_SIZE": "4"}, program).ranks is None
    assert of([str(other)], {}, other).ranks is None


def test_the_words_of_the_launcher() -> None:
    assert of(["mpirun", "-np", "4", "./app", "-n"], {}).launcher == ("mpirun", "-np", "4")
    assert of(["srun", "-n4", "-N", "2", "./app"], {}).launcher == ("srun", "-n4", "-N", "2")
    assert of(["mpirun", "-np", "2", "./a", ":", "./b"], {}).launcher == ()
    wrapped = ["env", "A=1", "/opt/bin/mpirun", "-np", "4"]
    found = of([*wrapped, "numactl", "-l", "./app"], {})
    assert (found.launcher, found.starter) == (tuple(wrapped), "/opt/bin/mpirun")
    assert of(["./start.sh", "mpirun", "-np", "4", "./app"], {}).launcher == ()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mpirun -np 4 ./nosuch", "./nosuch"),
        ("mpirun -np 4 nosuch -n 3", "nosuch"),
        ("env A=1 mpiexec -n 2 /no/such", "/no/such"),
        ("mpirun -np 4 ./there", None),
        ("mpirun -np 4 there", None),  # some launchers look in this folder
        ("mpirun -np 4 sh -c true", None),
        ("mpirun -np 4 --host far ./nosuch", None),
        ("mpirun -np 4 --wdir /elsewhere ./nosuch", None),
        ("mpirun -np 2 ./one : -np 3 ./two", None),
        ("mpirun -np 2 --nobody-knows-it ./nosuch", None),
        ("srun -n 4 ./nosuch", None),
        ("./nosuch", None),
    ],
)
def test_a_program_that_the_launcher_would_not_find(
    line: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("#!/bin/sh\n")
    (tmp_path / "there").chmod(0o755)
    assert missing(line.split()) == expected
