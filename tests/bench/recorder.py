"""What recording costs: a small message, hashing, HPL (Debian's hpcc) with and without in turn.

Prints one line a figure, or JSON. Asserts nothing: noise must not turn anything red."""

from __future__ import annotations

import argparse
import itertools
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from plumbline.detect.read import match, read
from plumbline.detect.recording import read as read_file
from tests.bench.figure import Figure
from tests.collectives_alt.programs import mpirun
from tests.probes.recorder.programs import recorder

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INPUT = ROOT / "tests" / "collectives_alt" / "hpccinf.txt"


@cache
def library() -> Path:
    return recorder().library


def started(nprocs: int, folder: Path, record: Path | None, *command: str | Path) -> str:
    env = {}
    if record is not None:
        shutil.rmtree(record, ignore_errors=True)
        record.mkdir()
        env = {"LD_PRELOAD": str(library()), "PLUMBLINE_RECORD": str(record)}
    done = mpirun(nprocs, *command, env=env, cwd=folder, timeout=3600)
    done.check_returncode()
    return done.stdout


def messages(folder: Path, rounds: int) -> Iterator[Figure]:
    """An event: half of what a message of a rank to itself costs more."""
    program = folder / "self"
    subprocess.run(["mpicc", "-O2", HERE / "self.c", "-o", program], check=True)
    for size in (0, 8, 64):
        plain, recorded = [], []
        for _ in range(rounds):
            plain.append(float(started(1, folder, None, program, str(size))))
            recorded.append(float(started(1, folder, folder / "record", program, str(size))))
        more = (min(recorded) - min(plain)) / 2
        what = f"message to oneself, {min(recorded):.0f} and {min(plain):.0f} ns, best of {rounds}"
        yield Figure(f"an event of {size} bytes, with its hashes", more, "ns", what)


def hashing(folder: Path) -> Iterator[Figure]:
    program = folder / "hashing"
    objects = library().parent / "obj" / "probes" / "recorder"
    parts = [objects / f"{name}.o" for name in ("hash", "hash_avx2", "hashing")]
    command = ["gcc", "-O2", "-D_GNU_SOURCE", f"-I{ROOT / 'probes'}", HERE / "hashing.c", *parts]
    subprocess.run([*command, "-o", program], check=True)
    done = subprocess.run([program], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        element, size, ns, rate = line.split()
        yield Figure(f"hashing {size} bytes of {element}", float(rate), "GB/s", f"{ns} ns")


def hpcc_input(size: int, ranks: int) -> str:
    """Return the input of hpcc for a matrix of this size, in a row of ranks."""
    text = INPUT.read_text().splitlines()
    changes = {5: f"{size} Ns", 7: "80 NBs", 10: "1 Ps", 11: f"{ranks} Qs"}
    for line, content in changes.items():
        text[line] = content
    return "\n".join(text) + "\n"


def hpl(folder: Path, rounds: int, size: int) -> Iterator[Figure]:
    """The wall time of HPL's own section, 2 ranks, pairs of runs in alternating order."""
    if shutil.which("hpcc") is None:
        return
    (folder / "hpccinf.txt").write_text(hpcc_input(size, 2))
    ratios = []
    for number in range(rounds):
        seconds: dict[bool, float] = {}
        for recorded in (False, True) if number % 2 else (True, False):
            output = folder / "hpccoutf.txt"
            output.unlink(missing_ok=True)
            started(2, folder, folder / "record" if recorded else None, "hpcc")
            found = re.search(r"^HPL_time=(.*)$", output.read_text(), re.MULTILINE)
            seconds[recorded] = float(found[1]) if found else float("nan")
        ratios.append(seconds[True] / seconds[False])
        print(f"# HPL: {seconds[True]:.3f} s recorded, {seconds[False]:.3f} s plain", flush=True)
    what = f"median of {rounds} pairs, N={size}, 2 ranks; " + " ".join(f"{r:.3f}" for r in ratios)
    yield Figure("HPL, recorded over plain", statistics.median(ratios), "", what)
    yield from reading(folder / "record")


def reading(record: Path) -> Iterator[Figure]:
    started = time.perf_counter()
    recording = read(record)
    seconds = time.perf_counter() - started
    count = len(recording.events)
    yield Figure("reading and matching", count / seconds / 1e6, "million events/s", f"{count}")
    started = time.perf_counter()
    match(recording.events)
    seconds = time.perf_counter() - started
    yield Figure("matching alone", count / seconds / 1e6, "million events/s", f"{count} events")
    used = sum(read_file(path).events for path in record.glob("*.record"))
    size = sum(path.stat().st_size for path in record.glob("*.record"))
    yield Figure("a recording", size / max(used, 1), "bytes an event", f"{used} events")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=2000, help="N of HPL")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for figure in itertools.chain(
            messages(folder, given.rounds), hashing(folder), hpl(folder, given.rounds, given.size)
        ):
            line = f"{figure.name}: {figure.value:.3g} {figure.unit} ({figure.of})"
            print(msgspec.json.encode(figure).decode() if given.json else line, flush=True)


if __name__ == "__main__":
    main()
