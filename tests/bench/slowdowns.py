"""Whether `plumbline compare --measure` finds a slow-down of 10 % that a preloaded tool plants into
two cells of six, and calls nothing slower or faster where none is planted: `make bench-slowdowns`
(docs/design/comparing.md). The library that is there, 2 ranks; a pair takes a minute or two.

ARGS="--runs N": so many comparisons of each kind."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from plumbline.cli.comparing import FIRST, LAUNCHES, TOLERANCE
from plumbline.results import compared_now
from plumbline.results.compare import How
from plumbline.results.compared_now import MeasuredComparison
from plumbline.results.regressions import RegressionClaim
from plumbline.settings.campaign_file import load
from plumbline.verify import design
from plumbline_db.connection import Database
from tests.tuner import shim

FUNCTIONS = ["MPI_Allreduce", "MPI_Allgather", "MPI_Reduce"]
SIZES = [16384, 262144]
PLANTED = [("MPI_Allreduce", 262144), ("MPI_Allgather", 262144)]
SHARE = 0.10


def compare(folder: Path, tool: Path | None) -> MeasuredComparison:
    settings = load(None, {"nprocs": 2, "sizes": SIZES, "functions": FUNCTIONS})
    claim = RegressionClaim(0.05, TOLERANCE, design.over(FIRST, LAUNCHES))
    slow = "default" if tool is None else f"LD_PRELOAD={tool}"
    names = (compared_now.parse("default"), compared_now.parse(slow))
    with Database.open(folder / "plumbline.db", write=True) as db:
        return compared_now.measure(db, names, settings, claim, How())


def told(found: MeasuredComparison) -> dict[tuple[str, int], str]:
    return {(line.cell.function, line.cell.bytes): line.verdict for line in found.cells}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    right = {"equal builds": 0, "planted": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(runs):
            equal = compare(folder, None)
            verdicts = told(equal)
            right["equal builds"] += not {"slower", "faster", "lost"} & set(verdicts.values())
            print(f"equal {number}: {verdicts}", flush=True)
            times = {
                (line.cell.function, line.cell.bytes): line.a.median
                for line in equal.cells
                if line.a is not None
            }
            slow = {
                function: (size, size, round(1e9 * SHARE * times[function, size]))
                for function, size in PLANTED
            }
            verdicts = told(compare(folder, shim.build(folder, "mpicc", slow)))
            found = [cell for cell, verdict in verdicts.items() if verdict == "slower"]
            others = {verdict for cell, verdict in verdicts.items() if cell not in PLANTED}
            right["planted"] += sorted(found) == sorted(PLANTED) and "faster" not in others
            print(f"planted {number}, {slow}: {verdicts}", flush=True)
    for kind, count in right.items():
        print(f"{kind}: right in {count} of {runs}")


if __name__ == "__main__":
    main()
