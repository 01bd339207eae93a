"""Messages of no sense, over and beside each other in memory: whatever the core is given, it stays
within its own. Started under sanitizers by test_sanitized.py, with the library to be looked at."""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

import numpy as np

from plumbline.detect.analysis import analysis
from plumbline.detect.kinds import Flag
from plumbline.detect.recording import Recording
from plumbline.system import paths
from tests.bench.detection import suite
from tests.tuner.detect.program import RankProgram

WORDS = 40  # of memory that ranks have


def soup(seed: int) -> Recording:
    random = np.random.default_rng(seed)
    nprocs = int(random.integers(1, 8))
    program = RankProgram(nprocs)
    comms = [0, program.communicator(range(max(1, nprocs - 1)))]
    known: list[tuple[int, np.ndarray]] = []
    for _ in range(int(random.integers(1, 150))):
        comm = comms[int(random.integers(2))]
        size = nprocs if comm == 0 else max(1, nprocs - 1)
        source, target = random.integers(0, size, 2).tolist()
        if known and random.random() < 0.6:
            address, content = known[int(random.integers(len(known)))]
            first = int(random.integers(0, len(content)))
            address, content = address + 8 * first, content[first:]
        else:
            address = 0x1000 + 8 * int(random.integers(0, WORDS))
            content = random.integers(0, 3, int(random.integers(1, 20)))
        there = 0x1000 + 8 * int(random.integers(0, WORDS))
        known.append((there, content))
        program.message(
            source,
            target,
            content,
            comm=comm,
            tag=int(random.integers(0, 3)),
            site=[f"a.c:{random.integers(1, 4)}", f"b.c:{random.integers(1, 3)}"],
            source_address=address,
            target_address=there,
            flags=Flag.NOT_CONTIGUOUS if random.random() < 0.05 else Flag(0),
        )
    recording = program.recording()
    late = recording.events["rank"] == 0
    for name in ("post_ns", "start_ns", "end_ns"):  # a clock that goes wrong
        recording.events[name][late] += int(random.integers(0, 4000))
    return recording


def main(library: Path) -> None:
    with mock.patch.object(paths.Layout, "detection", lambda self: library):
        for seed in range(60):
            analysis(soup(seed))
        for number, case in enumerate(suite.cases([5])):
            if number % 8 == 0:
                analysis(case.recording())
        print("looked at")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
