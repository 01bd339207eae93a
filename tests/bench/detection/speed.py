"""Events a second of reading (with matching) and of the analysis, on one core, and the memory of
the latter by event, by the length of a program that mixes collectives made by hand with halos.

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
from plumbline.detect.read import read
from plumbline.detect.recording import SLOT, Recording
from tests.bench.detection import broadcasts, negatives, reductions, spmd
from tests.tuner.detect import rank_files

_SAME = (
    *("tag", "bytes", "signature", "element", "operation", "address", "extent", "content", "poly"),
    *("sketch", "kind", "mode", "flags", "function", "thread", "blocks", "comm", "peer"),
)
_RENAMED = {"post": "post_ns", "start": "start_ns", "end": "end_ns", "site": "call_site"}


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


def write(folder: Path, recording: Recording) -> None:
    """Files as the recorder would have written them."""
    sites = [
        piece
        for number, site in enumerate(recording.call_sites)
        for frames in [np.array([frame.address for frame in site.frames], "=u8").tobytes()]
        for piece in rank_files.pieces(3, number, frames)
    ]
    tables = [*rank_files.members(*range(recording.nprocs)), *sites]
    for rank in recording.ranks:
        events = recording.events[recording.of_rank(rank.rank)]
        slots = np.zeros(len(events), SLOT)
        for name in _SAME:
            slots[name] = events[name]
        for name, given in _RENAMED.items():
            slots[name] = events[given]
        slots["payload"] = events["payload"] | events["extremes"].view(np.uint8).reshape(-1, 64)
        content = rank_files.rank_file(
            *tables,
            slots,
            rank=rank.rank,
            nprocs=recording.nprocs,
            used=len(tables) + len(slots),
            limit=len(tables) + len(slots),
            end=rank.end_ns,
        )
        (folder / f"rank-{rank.rank}.record").write_bytes(content)


def measured(path: Path) -> str:
    """In a process of its own, whose memory nothing else has used."""
    analysis(mixed(4, 2))
    begin = time.process_time()
    read(path.parent)
    reading = time.process_time() - begin
    recording: Recording = pickle.loads(path.read_bytes())
    _peak()
    before = _peak()
    begin = time.process_time()
    found = analysis(recording)
    seconds = time.process_time() - begin
    events, grown = len(recording.events), _peak() - before
    instances = sum(each.instances for each in found)
    ranks = recording.nprocs
    rates = f"{events / reading:9.0f} {events / seconds:9.0f}"
    return f"{ranks:6} {events:8} {instances:10} {rates} {grown / events:12.0f}"


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
    print(" ranks   events  instances    read/s  events/s  bytes/event", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        own = [sys.executable, "-m", "tests.bench.detection.speed", "--recording", str(path)]
        for ranks in map(int, asked.ranks.split(",")):
            for rounds in map(int, asked.rounds.split(",")):
                recording = mixed(ranks, rounds)
                for old in path.parent.iterdir():
                    old.unlink()
                write(path.parent, recording)
                path.write_bytes(pickle.dumps(recording))
                subprocess.run(own, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
