"""Events a second of the analysis, on one core, and memory by event, by the length of a program
that mixes collectives made by hand with halos.

    python -m tests.bench.detection.speed [--rounds N,N…] [--ranks N]"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Sequence

import numpy as np

from plumbline.detect.detecting import detect
from plumbline.detect.recording import Recording
from tests.bench.detection import broadcasts, negatives, reductions, spmd


def mixed(nprocs: int, rounds: int) -> Recording:
    def main(me: spmd.Rank) -> spmd.Waits:
        data, term = me.data(200), me.data(2)
        for _ in range(rounds):
            yield from negatives.halo(me, 3)
            if me.rank == 0:
                me.fill(data)
            yield from broadcasts.binomial(me, data, 0, 1000)
            me.fill(term)
            yield from reductions.allreduce_doubling(me, term, np.add)
            me._used = min(me._used, 1 << 16)

    return spmd.run(nprocs, main)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", default="10,40,160")
    parser.add_argument("--ranks", type=int, default=16)
    asked = parser.parse_args(arguments)
    print("  events  instances  events/s  bytes/event")
    for rounds in map(int, asked.rounds.split(",")):
        recording = mixed(asked.ranks, rounds)
        begin = time.process_time()
        detected = detect(recording)
        seconds = time.process_time() - begin
        tracemalloc.start()
        detect(recording)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        events = len(recording.events)
        print(
            f"{events:8} {len(detected.instances):10} {events / seconds:9.0f} {peak / events:12.0f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
