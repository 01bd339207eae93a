"""Events a second of the analysis, on one core, and memory by event, by the length of a program
that mixes collectives made by hand with halos.

    python -m tests.bench.detection.speed [--rounds N,N…] [--ranks N,N…]"""

from __future__ import annotations

import argparse
import ctypes
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

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


def measured(path: Path) -> str:
    """In a process of its own, whose memory nothing else has used."""
    analysis(mixed(4, 2))
    recording: Recording = pickle.loads(path.read_bytes())
    _peak()
    before = _peak()
    begin = time.process_time()
    found = analysis(recording)
    seconds = time.process_time() - begin
    events, grown = len(recording.events), _peak() - before
    instances = sum(each.instances for each in found)
    ranks = recording.nprocs
    return f"{ranks:6} {events:8} {instances:10} {events / seconds:9.0f} {grown / events:12.0f}"


def _peak() -> int:
    """Bytes that this process has had in memory at most since it was last asked, when it gave back
    what was free."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(line for line in text.splitlines() if line.startswith("VmHWM")).split()[1]
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return int(peak) * 1024


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", default="160,640,2560")
    parser.add_argument("--ranks", default="4,16")
    parser.add_argument("--recording", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.recording:
        print(measured(asked.recording))
        return
    print(" ranks   events  instances  events/s  bytes/event", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        own = [sys.executable, "-m", "tests.bench.detection.speed", "--recording", str(path)]
        for ranks in map(int, asked.ranks.split(",")):
            for rounds in map(int, asked.rounds.split(",")):
                path.write_bytes(pickle.dumps(mixed(ranks, rounds)))
                subprocess.run(own, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
