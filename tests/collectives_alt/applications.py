"""The programs that every variant is forced upon, and what each says of its own results. None of
them knows Plumbline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from plumbline.libraries import Installation
from plumbline.libraries.intelmpi import IntelMpi
from plumbline.system import paths
from tests.collectives_alt.programs import HERE, ROOT, Build, mpiexec, mpirun
from tests.collectives_alt.started import profile_text, read_report

ALL_TURNS = os.environ.get("PLUMBLINE_ALL_TURNS") == "1"
HUNG_SECONDS = 400.0
MPI4PY = ROOT / "build" / "mpi4py"  # `make` puts it there
INTEL = ROOT / "build" / "mpis" / "impi-2021"


@dataclass(frozen=True)
class Outcome:
    """Of one run. `said` is the same with every variant; `wrong` is what the program's checks, or
    its end, speak against it; `replaced` are the variants that replaced calls."""

    said: Any
    wrong: tuple[str, ...]
    replaced: frozenset[str] = frozenset()


class Application(Protocol):
    name: str

    def lacks(self) -> str:
        """What must be installed before it can be run."""

    def run(self, build: Build, folder: Path, rules: str | None) -> Outcome:
        """Under libplumbline.so with these rules; without it where there are none."""


@dataclass(frozen=True)
class Ended:
    done: subprocess.CompletedProcess[str]
    wrong: tuple[str, ...]
    replaced: frozenset[str]


def started(
    run: Any, library: Path, folder: Path, rules: str | None, *command: str | Path, **more: Any
) -> Ended:
    """`run` is mpirun or mpiexec. A run that hangs or breaks is an outcome."""
    env: dict[str, str] = {}
    (folder / "report.json").unlink(missing_ok=True)
    if rules is not None:
        (folder / "site.profile").write_text(profile_text(rules))
        env |= {
            "LD_PRELOAD": str(library),
            "PLUMBLINE_PROFILE": str(folder / "site.profile"),
            "PLUMBLINE_REPORT": str(folder / "report.json"),
        }
    nprocs = more.pop("nprocs")
    try:
        done = run(nprocs, *command, env=env, timeout=HUNG_SECONDS, cwd=folder, **more)
    except subprocess.TimeoutExpired:
        return Ended(subprocess.CompletedProcess([], -1, "", ""), ("hangs",), frozenset())
    wrong = [f"ends with {done.returncode}"] if done.returncode else []
    replaced = set()
    if rules is not None:
        report = read_report(folder / "report.json")
        wrong += [] if report.get("in_force") else ["the profile is not in force"]
        replaced = {one["variant"] for one in report.get("rules", ()) if one["replaced"] > 0}
    return Ended(done, tuple(wrong), frozenset(one.split(":")[0] for one in replaced))


class Plain:
    """Our own program that calls all functions."""

    name = "application"

    def lacks(self) -> str:
        return ""

    def run(self, build: Build, folder: Path, rules: str | None) -> Outcome:
        words = (build.program("application"), "all")
        ended = started(mpirun, build.preload, folder, rules, *words, nprocs=4)
        said = tuple(ended.done.stderr.splitlines()[:1]) if rules is not None else ()
        return Outcome(ended.done.stdout, ended.wrong + said, ended.replaced)


@dataclass(frozen=True)
class Fuzzer:
    """Random calls of MPI_X beside PMPI_X (fuzz.c)."""

    calls: int
    ranks: tuple[int, ...]
    seed: int = 1
    first: int = 0
    function: str = ""  # this one alone
    mutants: bool = False  # under wrong variants
    name: str = "fuzz"

    def lacks(self) -> str:
        return ""

    def run(self, build: Build, folder: Path, rules: str | None) -> Outcome:
        said: list[str] = []
        wrong: list[str] = []
        replaced: frozenset[str] = frozenset()
        for nprocs in self.ranks:
            numbers = {"--seed": self.seed, "--calls": self.calls, "--from": self.first}
            words = [word for option in numbers.items() for word in map(str, option)]
            words += ["--function", self.function] if self.function else []
            library = build.preload_of_mutants if self.mutants else build.preload
            program = build.program("fuzz")
            one = started(mpirun, library, folder, rules, program, *words, nprocs=nprocs)
            said += re.findall("^ok .*", one.done.stdout, re.MULTILINE)
            wrong += [*one.wrong, *re.findall("^not ok .*", one.done.stdout, re.MULTILINE)]
            replaced |= one.replaced
        return Outcome(tuple(said), tuple(wrong), replaced)


class Hpcc:
    """Debian's hpcc (HPL, PTRANS, RandomAccess, FFT …), which checks its own results."""

    name = "hpcc"
    program = shutil.which("hpcc")

    def lacks(self) -> str:
        return "" if self.program else "no hpcc; install the Debian package"

    def run(self, build: Build, folder: Path, rules: str | None) -> Outcome:
        shutil.copy(HERE / "hpccinf.txt", folder)
        output = folder / "hpccoutf.txt"
        output.unlink(missing_ok=True)
        ended = started(mpirun, build.preload, folder, rules, self.program or "", nprocs=4)
        said = self.complaints(output.read_text() if output.exists() else "")
        return Outcome((), ended.wrong + tuple(said), ended.replaced)

    @staticmethod
    def complaints(output: str) -> list[str]:
        """What the checks in its output file say against its results."""
        found = [line for line in output.splitlines() if re.search("FAILED|INVALID", line, re.I)]
        counted = re.findall(r"^.*?(\d+) tests completed and (passed|failed)", output, re.MULTILINE)
        if counted != [("5", "passed"), ("0", "failed"), ("1", "passed"), ("0", "failed")]:
            found.append(f"residual checks: {counted}")
        errors = re.findall(r"^Found (\d+) errors in \d+ locations \((\w+)\)", output, re.MULTILINE)
        if errors != 4 * [("0", "passed")]:
            found.append(f"random accesses: {errors}")
        if set(re.findall(r"^Node\(s\) with error (\d+)", output, re.MULTILINE)) != {"0"}:
            found.append("nodes with errors")
        for name in ("PTRANS_residual", "MPIRandomAccess_Errors", "MPIRandomAccess_LCG_Errors"):
            if f"\n{name}=0\n" not in output:
                found.append(name)
        accuracy = re.search(r"^MPIFFT_maxErr=(.*)$", output, re.MULTILINE)
        if accuracy is None or not float(accuracy[1]) < 1e-13:
            found.append(f"MPIFFT_maxErr: {accuracy and accuracy[1]}")
        for line in ("Success=1", "Solution Validates: avg error", "End of HPC Challenge tests."):
            if f"\n{line}" not in output:
                found.append(f"no {line!r}")
        return [line for line in found if "0 tests completed and failed" not in line]


@dataclass(frozen=True)
class Mpi4py:
    """The test suite of mpi4py, which calls every function of MPI and checks what comes back. Tests
    that spawn processes are left out: on crowded cores Open MPI 4.1.4 alone hangs in them. So are
    those of ULFM, which Open MPI 4.1.4 lacks: what mpi4py has in its place starts an Iallreduce
    before a Barrier on one rank and after it on others, which MPI forbids (4.1, 6.12). That goes
    well as long as the library's Barrier is no Ibarrier."""

    tests: str = ""  # a regular expression of names of files; all without
    name: str = "mpi4py"

    def lacks(self) -> str:
        return "" if (MPI4PY / "ready").exists() else f"no {MPI4PY}: make build/mpi4py/ready"

    def run(self, build: Build, folder: Path, rules: str | None) -> Outcome:
        ranks = folder / "ranks"  # of each rank alone: together lines get mixed
        shutil.rmtree(ranks, ignore_errors=True)
        words: list[str | Path] = ["--output-filename", ranks, MPI4PY / "bin" / "python"]
        words += [MPI4PY / "test" / "main.py", "-v", "-e", "test_(spawn|dynproc|ulfm)"]
        words += ["-i", self.tests] if self.tests else []
        ended = started(mpirun, build.preload, folder, rules, *words, nprocs=3)
        said = self.results([one.read_text() for one in ranks.glob("*/rank.*/stderr")])
        none = () if any(one.startswith("Ran") for one in said) else ("no test ran",)
        return Outcome(said, ended.wrong + none, ended.replaced)

    @staticmethod
    def results(outputs: Sequence[str]) -> tuple[str, ...]:
        """Of all ranks: what failed, and how many tests there were."""
        pattern = re.compile(
            r"^Ran [1-9]\d* tests|^OK.*|^FAILED.*|^(?:FAIL|ERROR): .*", re.MULTILINE
        )
        return tuple(sorted(line for one in outputs for line in pattern.findall(one)))


class Imb:
    """Intel's IMB-MPI1 of the wheel impi-devel, under Intel MPI. It does not check results: that
    build has no -check. What it shows is that calls end. Intel MPI spins: two ranks, as many as
    there are cores."""

    name = "IMB"
    benchmarks: Sequence[str] = (
        *("Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Allgather"),
        *("Allgatherv", "Scatter", "Scatterv", "Gather", "Gatherv", "Alltoall", "Alltoallv"),
        *("Bcast", "Barrier"),
    )

    def lacks(self) -> str:
        if not (INTEL / "bin" / "IMB-MPI1").exists():
            return f"no {INTEL}: make setup-mpis"
        library = self.library(IntelMpi().find(INTEL)[0])
        return "" if library.exists() else f"no {library}: make setup-mpis"

    @staticmethod
    def library(found: Installation) -> Path:
        return ROOT / "build" / paths.build_id(found.library) / "libplumbline.so"

    def run(self, build: Build, folder: Path, rules: str | None) -> Outcome:
        words = [INTEL / "bin" / "IMB-MPI1", *self.benchmarks, "-npmin", "2"]
        words += ["-iter", "20", "-iter_policy", "off", "-msglog", "2:14"]
        found = IntelMpi().find(INTEL)[0]
        own = {"prefix": INTEL, "surroundings": IntelMpi().environment(found)}
        ended = started(mpiexec, self.library(found), folder, rules, *words, nprocs=2, **own)
        ran = re.findall(r"^# Benchmarking (\w+)", ended.done.stdout, re.MULTILINE)
        rows = len(re.findall(r"^ +\d+ +\d+(?: +[\d.]+){3}", ended.done.stdout, re.MULTILINE))
        return Outcome((tuple(ran), rows), ended.wrong, ended.replaced)


APPLICATIONS: Mapping[str, Application] = {
    one.name: one
    for one in (
        Plain(),
        Fuzzer(calls=8000, ranks=(1, 2, 3, 4, 5, 6, 7, 8, 13)) if ALL_TURNS else Fuzzer(1300, (5,)),
        Hpcc(),
        Mpi4py() if ALL_TURNS else Mpi4py(tests=r"test_cco_(buf|vec)\.py"),
        Imb(),
    )
}
