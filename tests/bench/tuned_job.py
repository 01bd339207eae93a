"""Bench of `plumbline run --tune`: an application with and without in turn, once its jobs have
measured all that is unknown. The application is any MPI program, else one that is 60 % small
Allreduce and Bcast.

Prints one line a figure, or JSON. Asserts nothing: noise must not turn anything red."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from plumbline.verify.significance.signed_rank import paired_shift
from tests.bench.figure import Figure
from tests.bench.recorder import hpcc_input
from tests.tuner.started import environment

SOURCE = Path(__file__).with_suffix(".c")
_SHARE = 0.6  # of the application's time, in collectives
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Writes when the real mpirun began and ended.
_MPIRUN = """#!/bin/bash
begin=$EPOCHREALTIME
{mpirun} "$@"
status=$?
echo "$begin $EPOCHREALTIME" >> {log}
exit $status
"""


class Run(NamedTuple):
    """A run of the application. `seconds`: from the start of its mpirun to the end, or what the
    application itself prints; `before`, `after`: seconds of the job outside of mpirun; `text`:
    what was printed on standard error."""

    seconds: float
    before: float
    after: float
    text: str


class Job:
    """An application on some ranks under a plain mpirun, and as a job that tunes itself."""

    def __init__(self, folder: Path, ranks: int, budget: str) -> None:
        self._folder, self._ranks, self.budget = folder, ranks, budget
        self._log, self._mpirun = folder / "log", folder / "mpirun"
        real = shutil.which("mpirun")
        self._mpirun.write_text(_MPIRUN.format(mpirun=real, log=self._log))
        self._mpirun.chmod(0o755)
        # Modules are compiled once, as in an installation.
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
        self._environment = environment() | _AS_ROOT | compiled

    def plain(self, program: Sequence[object]) -> Run:
        return self._run([], program)

    def tuned(self, program: Sequence[object]) -> Run:
        database = self._folder / "plumbline.db"
        words = ["run", "--tune", self.budget, "--db", database, "--"]
        for record in self._records():
            record.unlink()
        return self._run([sys.executable, "-m", "plumbline", *words], program)

    def saving(self) -> float | None:
        """Return the seconds that the control group of the last job reports as saved, None where it
        reports nothing."""
        for file in self._records():
            saving = json.loads(file.read_text())["saving_seconds"]
            return None if saving is None else float(saving)
        return None

    def _records(self) -> list[Path]:
        return list(self._folder.glob("applications/*.control.json"))

    def _run(self, before: list[object], program: Sequence[object]) -> Run:
        mpirun = [self._mpirun, "-np", self._ranks]
        if self._ranks > len(os.sched_getaffinity(0)):
            mpirun.append("--oversubscribe")
        begun = time.time()
        done = subprocess.run(
            [str(word) for word in [*before, *mpirun, *program]], cwd=self._folder,
            env=self._environment, capture_output=True, text=True, check=True, timeout=3600,
        )  # fmt: skip
        ended = time.time()
        last = self._log.read_text().replace(",", ".").splitlines()[-1]
        start, end = map(float, last.split())
        printed = re.findall(r"^seconds ([\d.]+)$", done.stdout, re.MULTILINE)
        seconds = float(printed[0]) if printed else end - start
        return Run(seconds, start - begun, ended - end, done.stderr)


def synthetic(folder: Path, job: Job, iterations: int) -> list[object]:
    """Build the application of which 60 % is collectives, and return its words."""
    program = folder / "application"
    subprocess.run(["mpicc", "-O2", SOURCE, "-o", program], check=True)

    def median(work: int) -> float:
        runs = [job.plain([program, iterations, work]) for _ in range(3)]
        return statistics.median(run.seconds for run in runs)

    work = max(1, round(median(0) * (1 - _SHARE) / _SHARE / (median(-1000) / 1000)))
    return [program, iterations, work]


def learnt(job: Job, program: Sequence[object], most_jobs: int) -> Iterator[Figure]:
    """Run jobs until nothing is unknown; yield their number, and whether they kept the budget. If
    something stays unknown, later jobs have no budget."""
    before: list[float] = []
    what = f"--tune {job.budget}"
    while True:
        if len(before) == most_jobs:
            job.budget, what = "0s", f"{what}; something is unknown, later jobs do not measure"
            break
        run = job.tuned(program)
        print(run.text, file=sys.stderr, flush=True)
        if "nothing is measured" in run.text:
            break
        before.append(run.before)
    yield Figure("jobs until nothing is unknown", len(before), "jobs", what)
    yield Figure("longest wait before the application", max(before, default=0.0), "s", "of these")


def figures(job: Job, program: Sequence[object], pairs: int) -> Iterator[Figure]:
    """Yield what jobs gain that know everything."""
    plain, tuned, savings, measured = [], [], [], 0
    for pair in range(pairs):
        for is_tuned in (False, True) if pair % 2 else (True, False):
            if not is_tuned:
                plain.append(job.plain(program).seconds)
                continue
            tuned.append(job.tuned(program))
            measured += ": measuring " in tuned[-1].text
            savings += [saving] if (saving := job.saving()) is not None else []
    seconds = [run.seconds for run in tuned]
    both = list(zip(plain, seconds, strict=True))
    ratio, low, high = map(math.exp, paired_shift([math.log(two / one) for one, two in both]))
    what = f"of {pairs} pairs, from {low:.4f} to {high:.4f} (95 %)"
    yield Figure("time with --tune over time without", ratio, "", what)
    low, _, high = statistics.quantiles(seconds, n=4)
    what = (
        f"with --tune, quartiles {low:.3f} and {high:.3f}; without {statistics.median(plain):.3f}"
    )
    yield Figure("time of a run", statistics.median(seconds), "s", what)
    added = statistics.median(run.before + run.after for run in tuned)
    yield Figure("added before and after the run", added, "s", "median; starts and the test")
    yield Figure("of these jobs measured", measured, "jobs", f"of {pairs}")
    shift, low, high = paired_shift([one - two for one, two in both])
    yield Figure("saved in a run, paired", shift, "s", f"from {low:.4f} to {high:.4f} (95 %)")
    if savings:
        inside = sum(low <= saving <= high for saving in savings)
        what = f"median of {len(savings)} jobs; {inside} of them inside the interval"
        yield Figure("saved in a run, as jobs report", statistics.median(savings), "s", what)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=shlex.split, help="an MPI program with its arguments")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=1000, help="of the matrix, if it is hpcc")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--jobs", type=int, default=6, help="at most, until nothing is unknown")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.pairs < 2:
        parser.error("--pairs: at least 2, for quartiles")
    with tempfile.TemporaryDirectory() as folder:
        job = Job(Path(folder), asked.ranks, asked.budget)
        (Path(folder) / "hpccinf.txt").write_text(hpcc_input(asked.size, asked.ranks))
        program = asked.program or synthetic(Path(folder), job, asked.iterations)
        for of in (learnt(job, program, asked.jobs), figures(job, program, asked.pairs)):
            for figure in of:
                line = msgspec.json.encode(figure).decode() if asked.json else figure.line()
                print(line, flush=True)


if __name__ == "__main__":
    main()
