"""Bench of what `plumbline run --tune` gains: an application, 60 % small Allreduce and Bcast, on
two ranks, with and without in turn, once its jobs have measured all that is unknown.

Prints one line a figure, or JSON. Asserts nothing: noise must not turn anything red."""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.bench.figure import Figure
from tests.tuner.started import environment

SOURCE = Path(__file__).with_suffix(".c")
MOST_JOBS = 12
_SHARE = 0.6  # of the application's time, in collectives
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Job:
    """The application under a plain mpirun, and as a job that tunes itself."""

    def __init__(self, folder: Path, budget: str) -> None:
        self._program, self._database = folder / "application", folder / "plumbline.db"
        self._budget = budget
        subprocess.run(["mpicc", "-O2", SOURCE, "-o", self._program], check=True)

    def plain(self, iterations: int, work: int) -> float:
        return self._run([], iterations, work)[0]

    def tuned(self, iterations: int, work: int, budget: str = "") -> tuple[float, str]:
        words = ["run", "--tune", budget or self._budget, "--no-proof", "--db", self._database]
        return self._run([sys.executable, "-m", "plumbline", *words, "--"], iterations, work)

    def saving(self) -> float | None:
        """Return the share of the time that the application's control group reports as saved by all
        rules; None where it left no record."""
        (*_, file) = [None, *self._database.parent.glob("applications/*.control.json")]
        if file is None:
            return None
        record = json.loads(file.read_text())
        return sum(float(rule.get("saving_seconds") or 0.0) for rule in record["rules"])

    def _run(self, before: list[object], iterations: int, work: int) -> tuple[float, str]:
        mpirun = ["mpirun", "-np", "2", self._program, iterations, work]
        done = subprocess.run(
            [str(word) for word in [*before, *mpirun]],
            env=environment() | _AS_ROOT, capture_output=True, text=True, check=True, timeout=3600,
        )  # fmt: skip
        (seconds,) = re.findall(r"^seconds ([\d.]+)$", done.stdout, re.MULTILINE)
        return float(seconds), done.stderr


def calibrated(job: Job, iterations: int) -> int:
    """Return the work of an iteration that takes the other part of the time."""
    collectives = statistics.median(job.plain(iterations, 0) for _ in range(3))
    unit = statistics.median(job.plain(iterations, -1000) for _ in range(3)) / 1000
    return max(1, round(collectives * (1 - _SHARE) / _SHARE / unit))


def figures(folder: Path, iterations: int, pairs: int, budget: str) -> Iterator[Figure]:
    job = Job(folder, budget)
    work = calibrated(job, iterations)
    said = ""
    jobs = 0
    while "nothing is measured" not in said and jobs < MOST_JOBS:
        _, said = job.tuned(iterations, work)
        jobs += 1
    yield Figure("jobs until nothing is unknown", jobs, "jobs", f"--tune {budget}")
    ratios, savings = [], []
    for pair in range(pairs):
        order = (False, True) if pair % 2 else (True, False)
        seconds = {
            tuned: job.tuned(iterations, work, "0s")[0] if tuned else job.plain(iterations, work)
            for tuned in order
        }
        ratios.append(seconds[True] / seconds[False])
        saving = job.saving()
        if saving is not None:
            savings.append(saving / seconds[True])
    low, _, high = statistics.quantiles(ratios, n=4)
    what = f"median of {pairs} pairs, quartiles {low:.3f} and {high:.3f}"
    yield Figure("time with winners over time without", statistics.median(ratios), "", what)
    if savings:
        what = f"median of {len(savings)} records of the control group"
        yield Figure(
            "saving that the job reports, of its time", statistics.median(savings), "", what
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--budget", default="2m")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        of = figures(Path(folder), asked.iterations, asked.pairs, asked.budget)
        for figure in of:
            print(msgspec.json.encode(figure).decode() if asked.json else figure.line(), flush=True)


if __name__ == "__main__":
    main()
