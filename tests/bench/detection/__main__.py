"""Recall and precision of `plumbline detect` on programs of which is known what is in them:
docs/design/detection.md.

    python -m tests.bench.detection [--ranks N,N…] [--seeds N] [--wrong] [--json]

Counts instances. Prints how far it is as it goes, then a row for each kind of program."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import msgspec

from tests.bench.detection import suite


class Row(msgspec.Struct):
    programs: str
    cases: int = 0
    right: int = 0
    missed: int = 0
    wrong: int = 0


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default=",".join(map(str, suite.SIZES)))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--wrong", action="store_true", help="name what is missed or wrong")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    rows: dict[str, Row] = {}
    begin, known = time.process_time(), 0
    for seed in range(1, asked.seeds + 1):
        for case in suite.cases([int(size) for size in asked.ranks.split(",")]):
            if asked.only not in case.name:
                continue
            if case.nprocs != known:
                known = case.nprocs
                print(f"# {known} ranks, {time.process_time() - begin:.0f} s", file=sys.stderr)
            scored = suite.score(case, seed)
            row = rows.setdefault(case.name.split()[0], Row(case.name.split()[0]))
            row.cases += 1
            row.right += scored.right
            row.missed += scored.missed
            row.wrong += scored.wrong
            if asked.wrong and (scored.missed or scored.wrong):
                where = f"{case.name}, {case.nprocs} ranks"
                print(f"{where}: {scored.missed} missed, wrong: {scored.told}", flush=True)
    total = Row(
        "all",
        *(
            sum(getattr(row, name) for row in rows.values())
            for name in ("cases", "right", "missed", "wrong")
        ),
    )
    if asked.json:
        print(msgspec.json.encode([*rows.values(), total]).decode())
        return
    print("programs        cases  right missed  wrong  recall precision")
    for row in (*rows.values(), total):
        recall, precision = rates(row)
        print(
            f"{row.programs:14} {row.cases:6} {row.right:6} {row.missed:6} {row.wrong:6}"
            f"  {recall:6.3f} {precision:9.3f}"
        )
    print(f"{time.process_time() - begin:.1f} s of processor time")


def rates(row: Row) -> tuple[float, float]:
    """Recall and precision; 1 where there is nothing."""
    return (
        row.right / (row.right + row.missed) if row.right + row.missed else 1.0,
        row.right / (row.right + row.wrong) if row.right + row.wrong else 1.0,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
