"""Whether `plumbline compare --measure` finds a slow-down of 10 % that a preloaded tool plants into
two cells of six, and calls nothing slower or faster where none is planted: `make bench-slowdowns`
(docs/design/reproducibility.md). The library that is there, 2 ranks; a pair takes a minute or two.

ARGS="--runs N": so many comparisons of each kind. Each is printed and kept when it is done: the
same command goes on where it was stopped; `--new` begins anew."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from plumbline.cli.compare import FIRST, LAUNCHES, TOLERANCE
from plumbline.results import compared_now
from plumbline.results.compare import How
from plumbline.results.compared_now import MeasuredComparison, RegressionClaim
from plumbline.settings.campaign_file import load
from plumbline.verify import decision
from plumbline_db.connection import Database
from tests.tuner import shim

FUNCTIONS = ["MPI_Allreduce", "MPI_Allgather", "MPI_Reduce"]
SIZES = [16384, 262144]
PLANTED = [("MPI_Allreduce", 262144), ("MPI_Allgather", 262144)]
SHARE = 0.10


def compare(folder: Path, tool: Path | None) -> MeasuredComparison:
    settings = load(None, {"nprocs": 2, "sizes": SIZES, "functions": FUNCTIONS})
    claim = RegressionClaim(0.05, TOLERANCE, decision.design_over(FIRST, LAUNCHES))
    slow = "default" if tool is None else f"LD_PRELOAD={tool}"
    names = (compared_now.parse("default"), compared_now.parse(slow))
    with Database.open(folder / "plumbline.db", write=True) as db:
        return compared_now.measure(db, names, settings, claim, How())


KEPT = Path("build") / "bench-slowdowns.ndjson"


def verdicts_of(found: MeasuredComparison) -> dict[tuple[str, int], str]:
    return {(line.cell.function, line.cell.bytes): line.verdict for line in found.cells}


def equal_builds(folder: Path) -> dict[str, Any]:
    found = compare(folder, None)
    verdicts = verdicts_of(found)
    right = not {"slower", "faster", "lost"} & set(verdicts.values())
    medians = {
        line.cell.function: line.a.median
        for line in found.cells
        if line.a is not None and (line.cell.function, line.cell.bytes) in PLANTED
    }
    return {"kind": "equal builds", "right": right, "told": str(verdicts), "medians": medians}


def planted(folder: Path, medians: dict[str, float]) -> dict[str, Any]:
    slow = {
        function: (size, size, round(1e9 * SHARE * medians[function])) for function, size in PLANTED
    }
    verdicts = verdicts_of(compare(folder, shim.build(folder, "mpicc", slow)))
    found = [cell for cell, verdict in verdicts.items() if verdict == "slower"]
    others = {verdict for cell, verdict in verdicts.items() if cell not in PLANTED}
    right = sorted(found) == sorted(PLANTED) and "faster" not in others
    return {"kind": "planted", "right": right, "told": f"{slow}: {verdicts}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--new", action="store_true")
    asked = parser.parse_args()
    if asked.new:
        KEPT.unlink(missing_ok=True)
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    done: list[dict[str, Any]] = [json.loads(line) for line in lines]
    with tempfile.TemporaryDirectory() as name, KEPT.open("a") as kept:
        for number in range(2 * asked.runs):
            if number == len(done):
                before = done[-1] if number % 2 else {}
                folder = Path(name)
                one = planted(folder, before["medians"]) if before else equal_builds(folder)
                kept.write(json.dumps(one) + "\n")
                kept.flush()
                done.append(one)
            print(f"{number // 2 + 1}. {done[number]['kind']}: {done[number]['told']}", flush=True)
    for kind in ("equal builds", "planted"):
        of = [one["right"] for one in done[: 2 * asked.runs] if one["kind"] == kind]
        print(f"{kind}: right in {sum(of)} of {len(of)}")


if __name__ == "__main__":
    main()
