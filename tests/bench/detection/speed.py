"""Events a second of the analysis, on one core, and memory by event, by the length of a program
that mixes collectives made by hand with halos.

    python -m tests.bench.detection.speed [--rounds N,N…] [--ranks N,N…]"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from plumbline.detect.analysis import analysis
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


def measured(nprocs: int, rounds: int) -> str:
    """In this process, whose memory nothing else has used."""
    analysis(mixed(nprocs, 2))
    recording = mixed(nprocs, rounds)
    _peak()
    before = _peak()
    begin = time.process_time()
    found = analysis(recording)
    seconds = time.process_time() - begin
    events, grown = len(recording.events), _peak() - before
    instances = sum(each.instances for each in found)
    return f"{nprocs:6} {events:8} {instances:10} {events / seconds:9.0f} {grown / events:12.0f}"


def _peak() -> int:
    """Bytes that this process has had in memory at most, since the last call; then as many as now
    (Linux 4.0)."""
    with open("/proc/self/status", encoding="ascii") as file:
        peak = next(line for line in file if line.startswith("VmHWM")).split()[1]
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return int(peak) * 1024


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", default="40,160,640")
    parser.add_argument("--ranks", default="4,16")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.one:
        print(measured(int(asked.ranks), int(asked.rounds)))
        return
    print(" ranks   events  instances  events/s  bytes/event", flush=True)
    for ranks in asked.ranks.split(","):
        for rounds in asked.rounds.split(","):
            own = [sys.executable, "-m", "tests.bench.detection.speed", "--one"]
            subprocess.run([*own, "--ranks", ranks, "--rounds", rounds], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
