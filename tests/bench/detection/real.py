"""The same as C programs, under the real recorder: `manual.c` beside this file, and what is in it.

    python -m tests.bench.detection.real [--ranks N,N…]

Prints what is missed and what is wrong. Recall and precision over all."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from plumbline.detect import read
from plumbline.detect.detecting import detect
from tests.bench.detection.__main__ import Row, rates
from tests.collectives_alt.programs import mpirun
from tests.probes.recorder.programs import Recorder, recorder

SOURCE = Path(__file__).parent / "manual.c"
NEGATIVE = ("halo", "token_ring", "bcast_but_one", "pipeline", "workers")
PATTERNS = (
    *(f"bcast_{name}" for name in ("linear", "chain", "binomial", "pipelined", "nonblocking")),
    *("bcast_scatter_allgather", "bcast_persistent"),
    *(f"gather_{name}" for name in ("linear", "waitany", "wildcard", "columns")),
    *("scatter_linear", "scatter_halving", "allgather_ring", "allgather_bruck"),
    *("alltoall_nonblocking", "alltoall_pairwise", "reduce_binomial", "allreduce_linear"),
    *("allreduce_doubling", "barrier_dissemination", "barrier_linear"),
    *("allgather_copied", "alltoall_bruck"),
    *NEGATIVE,
)
TIMES = 3


def found(installed: Recorder, program: Path, pattern: str, nprocs: int) -> list[str]:
    """The collectives that are reported of one run, each once a time."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record"
        record.mkdir()
        variables = {"LD_PRELOAD": str(installed.library), "PLUMBLINE_RECORD": str(record)}
        done = mpirun(nprocs, program, pattern, str(TIMES), env=variables)
        assert done.returncode == 0, done.stderr
        instances = detect(read.read(record)).instances
    whole = [each for each in instances if not each.missing]
    return [each.collective for each in whole if each.group == tuple(range(nprocs))]


def truth(pattern: str) -> list[str]:
    return [] if pattern in NEGATIVE else [pattern.partition("_")[0]] * TIMES


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="4,5,8")
    asked = parser.parse_args(arguments)
    installed = recorder()
    total = Row("all")
    with tempfile.TemporaryDirectory() as folder:
        program = installed.compiled(SOURCE, Path(folder))
        for nprocs in map(int, asked.ranks.split(",")):
            for pattern in PATTERNS:
                if pattern == "allreduce_doubling" and nprocs & (nprocs - 1):
                    continue
                told, wanted = found(installed, program, pattern, nprocs), truth(pattern)
                right = sum(min(told.count(name), wanted.count(name)) for name in set(wanted))
                total.cases += 1
                total.right += right
                total.missed += len(wanted) - right
                total.wrong += len(told) - right
                if told != wanted:
                    print(f"{pattern}, {nprocs} ranks: {told}")
    recall, precision = rates(total)
    print(f"{total.cases} programs, recall {recall:.3f}, precision {precision:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
