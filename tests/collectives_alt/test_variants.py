"""Every variant against the library's own function: results, volume, memory, messages."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.collectives_alt.programs import AS_ROOT, ROOM, Build, mpiexec, mpirun
from tests.sampled import by_default

NAMES = re.findall(r"^PL_VARIANT\((\w+)\)", (ROOM / "catalogue.def").read_text(), re.MULTILINE)
COMMUTATIVE, NO_IN_PLACE, LAYOUT, BUILTIN_OP = 1, 2, 4 | 8, 32
ROOTED = {"MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"}
REDUCTIONS = {"MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan"}
REDUCTIONS |= {"MPI_Reduce_scatter", "MPI_Reduce_scatter_block"}


RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 13)
# `test_addresses` has three ranks, with every check of this one.
FEW = [pytest.param(n, marks=[pytest.mark.alone] * (n in (3, 4, 6, 7, 8, 13))) for n in RANKS]

# Mutants with right results.
UNTIDY = {"sends_openly_gather", "keeps_a_communicator_scatter"}
# Needs more calls than the suite makes; the fuzzer finds it.
SELDOM = {"wrong_once_in_100_bcast"}

# glibc fills fresh memory with garbage: nobody can rely on zeros.
GARBAGE = {"MALLOC_PERTURB_": "165"}
# Open MPI keeps memory at its end; what our objects keep is counted by accounts.c.
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}


def passed(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[int, int]]:
    """(cases, refused) of each variant, all of which must have passed."""
    assert done.returncode == 0, done.stdout + done.stderr
    return all_ok(done.stdout)


def all_ok(output: str) -> dict[str, tuple[int, int]]:
    """Return (cases, refused) of each variant; fail unless the output says that all are right."""
    found = re.findall(r"^ok (\w+) (\d+) refused=(\d+) specs=\d+$", output, re.MULTILINE)
    assert [name for name, _, _ in found] == NAMES
    assert "ok left: 0 blocks" in output
    return {name: (int(cases), int(refused)) for name, cases, refused in found}


@pytest.mark.mpi
@pytest.mark.parametrize("nprocs", FEW)
def test_same_results_as_the_library(build: Build, nprocs: int) -> None:
    """Every pair of factors: communicator, count, layout, root, operation, in place."""
    counts = passed(mpirun(nprocs, build.program("variants"), env=GARBAGE, timeout=280))
    for name, (cases, refused) in counts.items():
        assert cases + refused >= (nprocs if name.startswith("barrier_") else 40), name
        # Operations of the user, for mock-ups of reductions types with gaps, several nodes.
        takes_all = "gather" in name.split("_as_")[0] and not name.endswith("_shared_memory")
        assert not (refused and takes_all), name
        assert cases >= refused // (16 if name.endswith("_shared_memory") else 4), name
    assert counts["reduce_ring"][1] > 0


@pytest.mark.mpi
@pytest.mark.parametrize(
    "nprocs", [2, *(pytest.param(nprocs, marks=pytest.mark.alone) for nprocs in (5, 13))]
)
def test_large(build: Build, nprocs: int) -> None:
    """2^20 elements: in each vector, or in all blocks together; integers, one root. Data movers
    once more, with a layout of its own on each rank."""
    counts = passed(mpirun(nprocs, build.program("variants"), "--large", timeout=280))
    reductions = tuple(f"{one.removeprefix('MPI_').lower()}_" for one in REDUCTIONS)
    for name, (cases, _) in counts.items():
        expected = 0 if name.startswith("barrier_") else 1 if name.startswith(reductions) else 2
        assert cases == expected, name


@pytest.mark.mpi
@pytest.mark.parametrize("nprocs", [3, *(pytest.param(n, marks=pytest.mark.alone) for n in (2, 5))])
def test_addresses(guarded: Build, nprocs: int) -> None:
    passed(mpirun(nprocs, guarded.program("variants"), env=NO_LEAKS, timeout=280))


@pytest.mark.mpi
def test_mpich(under_mpich: Build) -> None:
    passed(mpiexec(2, under_mpich.program("variants"), env=GARBAGE, timeout=280))


@pytest.mark.mpi
@pytest.mark.parametrize("nprocs", by_default([3], [1, 8]))
def test_streams_in_shared_memory(build: Build, nprocs: int) -> None:
    """Ranks run ahead of others, and the rings are gone round."""
    done = mpirun(nprocs, build.program("shared"), "400", "1", timeout=200)
    assert (done.returncode, done.stdout) == (0, "ok rounds=400 wrong=0\n"), done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize("stopped", [False, True])
def test_a_stop_is_no_hang(build: Build, stopped: bool) -> None:
    """The alarm of a hang comes to a process that waits for the reader of its output."""
    words, said = [build.program("variants")], subprocess.PIPE
    environment = {**os.environ, **AS_ROOT}
    with subprocess.Popen(
        words, env=environment, stdout=said, stderr=said, text=True, pipesize=4096
    ) as one:
        assert one.stdout is not None
        os.read(one.stdout.fileno(), 1)
        if stopped:
            one.send_signal(signal.SIGSTOP)
            os.waitpid(one.pid, os.WUNTRACED)
            one.send_signal(signal.SIGALRM)
            one.send_signal(signal.SIGCONT)
        while not stopped and one.poll() is None:
            one.send_signal(signal.SIGALRM)
            time.sleep(0.01)
        complaints = one.communicate(timeout=60)[1]
    assert ("hangs on rank 0 of 1" in complaints) == (not stopped) == (one.returncode != 0)


@pytest.mark.mpi
def test_every_mistake_is_found(build: Build) -> None:
    """mutants.c puts wrong variants in the place of the catalogue."""
    source = (ROOM.parent / "tests" / "collectives_alt" / "mutants.c").read_text()
    planted = re.findall(r"MUTANT\(\s*(\w+), (\w+)", source)
    wrong = {f"{text}_{f}" for text, f in planted if not re.match("alltoallw|neighbor_", f)}
    done = mpirun(5, build.program("mutants"), env=GARBAGE, timeout=200)
    assert done.returncode == 1, done.stdout + done.stderr
    found = set(re.findall(r"^not ok (\w+) \d+ refused", done.stdout, re.MULTILINE))
    assert "not ok left: 5 blocks of memory on all ranks" in done.stdout
    assert found == wrong - {"text_symbol", "leaks_once_bcast", *UNTIDY, *SELDOM}
    assert len(found) > 30
    library = re.findall(r"^(ok|not ok) MPI_\w+:default ", done.stdout, re.MULTILINE)
    assert library == ["ok"] * 16


def test_catalogue(build: Build) -> None:
    listing = subprocess.run(
        [build.program("catalogue")], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split() for line in listing.splitlines()]
    assert [row[0] for row in rows] == NAMES
    for name, function, _, text, _ in rows:
        restrictions, folder = int(text), function.removeprefix("MPI_").lower()
        assert (ROOM / folder / f"{name.removeprefix(folder + '_')}.c").is_file()
        # What not every rank can see must not decide.
        assert not (function in ROOTED and restrictions & NO_IN_PLACE), name
        of_reductions = LAYOUT | COMMUTATIVE | BUILTIN_OP
        assert not (function not in REDUCTIONS and restrictions & of_reductions), name


@pytest.mark.mpi
@pytest.mark.parametrize("nprocs", by_default([3], [1, 4]))
def test_volume(build: Build, nprocs: int) -> None:
    done = mpirun(nprocs, build.program("volume"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not ok" not in done.stdout


@pytest.mark.mpi
@pytest.mark.parametrize("nprocs", by_default([2], [5]))
def test_messages_and_communicators_are_private(build: Build, nprocs: int) -> None:
    done = mpirun(nprocs, build.program("hygiene"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^ok (\w+)$", done.stdout, re.MULTILINE) == NAMES


@pytest.mark.mpi
def test_untidy_variants_are_found(build: Build) -> None:
    done = mpirun(3, build.program("hygiene_of_mutants"))
    assert done.returncode == 1, done.stdout + done.stderr
    found = re.findall(r"^not ok (\w+): (.*)$", done.stdout, re.MULTILINE)
    assert dict(found) == {
        "sends_openly_gather": "a receive of the application got one of its messages",
        "keeps_a_communicator_scatter": "keeps communicators of freed ones",
        "fails_on_one_rank_bcast": "error",
    }


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("nprocs", [2, 3])
def test_memory_under_valgrind(build: Build, tmp_path: Path, nprocs: int) -> None:
    """One case in ten."""
    under_valgrind(build, tmp_path, nprocs, "--every", "10")


def under_valgrind(
    build: Build, tmp_path: Path, nprocs: int, *options: str, timeout: float = 280
) -> None:
    """No error that valgrind can see in our files or below them, and no leak of our memory."""
    done = mpirun(
        nprocs,
        *("valgrind", "--leak-check=full", "--xml=yes", f"--xml-file={tmp_path}/%p.xml"),
        *(build.program("variants"), *options),
        timeout=timeout,
    )
    passed(done)
    ours = {path.name for path in ROOM.rglob("*.c")}
    reports = list(tmp_path.glob("*.xml"))
    assert len(reports) == nprocs
    seen = 0
    for report in reports:
        root = ElementTree.parse(report).getroot()
        assert root.findtext("status[last()]/state") == "FINISHED"
        for error in root.findall("error"):
            seen += 1
            files = [frame.findtext("file") for frame in error.findall("stack[1]/frame")]
            kind = error.findtext("kind") or ""
            if kind.startswith("Leak"):  # who called malloc
                assert files[1] not in ours, ElementTree.tostring(error, "unicode")
            else:
                assert ours.isdisjoint(files), ElementTree.tostring(error, "unicode")
    assert seen > 0  # Open MPI keeps some memory at its end: the reports are real
