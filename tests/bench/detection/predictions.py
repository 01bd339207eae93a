"""What `plumbline detect --replay` says that MPI's own collective would save, beside what a program
saves that was rewritten (rewritten.c): docs/design/advice.md.

    python -m tests.bench.detection.predictions [--only NAME] [--pairs N] [--launches N]

A row a program, in ms a run. Run it with nothing else on the machine."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plumbline.detect import analysis, read, savings
from plumbline.detect.analysis import analysed
from plumbline.detect.findings import Saved
from plumbline.measure import side_by_side
from plumbline.settings import campaign_file, starting
from plumbline.settings.toolchain import find_toolchain
from plumbline.verify.significance.signed_rank import paired_shift
from tests.collectives_alt.programs import mpirun
from tests.probes.recorder.programs import Recorder, recorder

SOURCE = Path(__file__).with_name("rewritten.c")
WARMUP = 20  # calls that the program does not time


@dataclass(frozen=True)
class Program:
    """`function`: what is to be found in it."""

    pattern: str
    function: str
    ranks: int
    bytes: int
    times: int
    compute_ns: int = 0

    @property
    def name(self) -> str:
        beside = f", computes {self.compute_ns / 1000:g} µs" if self.compute_ns else ""
        return f"{self.pattern}, {self.ranks} ranks, {self.bytes} B, {self.times} times{beside}"

    def words(self, how: str) -> list[str]:
        return [self.pattern, how, *map(str, (self.bytes, self.times, self.compute_ns))]


PROGRAMS = (
    Program("bcast_linear", "MPI_Bcast", 8, 8000, 1000),
    Program("bcast_linear", "MPI_Bcast", 4, 1000, 3000),
    Program("bcast_linear", "MPI_Bcast", 4, 20_000, 2000),
    Program("bcast_linear", "MPI_Bcast", 6, 20_000, 1000),
    Program("bcast_linear", "MPI_Bcast", 4, 100_000, 500, 20_000),
    Program("bcast_chain", "MPI_Bcast", 4, 4096, 2000),
    Program("gather_linear", "MPI_Gather", 4, 2000, 2000),
    Program("allreduce_linear", "MPI_Allreduce", 4, 800, 2000),
    Program("allgather_ring", "MPI_Allgather", 4, 4096, 1000),
    Program("alltoall_nonblocking", "MPI_Alltoall", 4, 2000, 1000, 10_000),
    Program("barrier_central", "MPI_Barrier", 4, 0, 2000),
)


@dataclass(frozen=True)
class Row:
    """Seconds of one run's timed calls: predicted; how much of it shows at least; by hand, and what
    pairs of runs have saved."""

    program: Program
    predicted: Saved
    shown: float
    by_hand: float
    measured: Saved

    def is_covered(self, factor: float = 1.0) -> bool:
        """Whether the intervals of what was predicted and of what was measured have a time in
        common; each end of the former may be off by `factor`."""
        low, high = self.predicted.low_seconds, self.predicted.high_seconds
        low = low / factor if low > 0 else low * factor
        high = high * factor if high > 0 else high / factor
        return low <= self.measured.high_seconds and self.measured.low_seconds <= high


def measured(
    program: Program, installed: Recorder, binary: Path, record: Path, launches: int, pairs: int
) -> Row:
    """`record`: a new folder. Raises ValueError where the collective is not found."""

    def took(how: str, **env: str) -> float:
        done = mpirun(program.ranks, binary, *program.words(how), env=env)
        if done.returncode != 0:
            raise ValueError(done.stderr)
        return float(done.stdout.partition("took ")[2].split()[0])

    record.mkdir()
    took("hand", LD_PRELOAD=str(installed.library), PLUMBLINE_RECORD=str(record))
    recording = read.read(record)
    looked = analysed(recording)
    settings = campaign_file.load(None, {"nprocs": program.ranks, "bind": recording.bind})
    toolchain = find_toolchain(None, settings=settings)
    settings = settings.on(toolchain.launcher.processing_units())
    starter = starting.starter(toolchain, settings)
    with side_by_side.unkept_store(toolchain, starter, "detect") as store:
        answer = savings.replayed(store, looked.found, {}, toolchain.space, launches)
    found = [
        finding
        for finding in analysis.lowered(looked, answer.findings)
        if finding.category == "collective"
        and (finding.function, finding.instances) == (program.function, program.times + WARMUP)
    ]
    if len(found) != 1 or found[0].saving is None:
        told = [(each.function, each.instances, each.bytes) for each in looked.found]
        raise ValueError(f"{program.name}: {told}, {answer.failures}")
    saving, share = found[0].saving, program.times / (program.times + WARMUP)
    saved = saving.default
    ends = (saved.seconds, saved.low_seconds, saved.high_seconds)
    shown = 1.0 if saving.shown is None else saving.shown
    runs = [(took("hand"), took("library")) for _ in range(pairs)]
    return Row(
        program,
        Saved(*(share * seconds for seconds in ends)),
        shown,
        statistics.median(hand for hand, _ in runs),
        Saved(*paired_shift([hand - library for hand, library in runs])),
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--launches", type=int, default=savings.LAUNCHES)
    asked = parser.parse_args(arguments)
    installed = recorder()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        binary = installed.compiled(SOURCE, Path(folder))
        for number, program in enumerate(PROGRAMS):
            if asked.only not in program.name:
                continue
            record = Path(folder) / f"record-{number}"
            try:
                row = measured(program, installed, binary, record, asked.launches, asked.pairs)
            except ValueError as error:
                print(error, flush=True)
                continue
            rows.append(row)
            print(line(row), flush=True)
    print(f"covered: {sum(row.is_covered() for row in rows)} of {len(rows)}")


def line(row: Row) -> str:
    said, measured = row.predicted, row.measured
    return (
        f"{row.program.name:62} by hand {1e3 * row.by_hand:.3g}, predicted {_saved(said)}, "
        f"shown {row.shown:.2f}, measured {_saved(measured)}, "
        f"ratio {said.seconds / measured.seconds:.2f}{'' if row.is_covered() else ', not covered'}"
    )


def _saved(saved: Saved) -> str:
    ends = (saved.seconds, saved.low_seconds, saved.high_seconds)
    return "{:.3g} [{:.3g}, {:.3g}]".format(*(1e3 * seconds for seconds in ends))


if __name__ == "__main__":
    main(sys.argv[1:])
