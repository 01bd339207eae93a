"""Records launches as canaries take them, for tests/bench/detector/noise.py.

    python -m tests.bench.detector.record FILE [--launches N] [--every SECONDS] [--nprocs N]

All functions of the library's search space over ten sizes, the library as it is, as many calls as
canaries make. Each launch's lower quartiles less their middle over all cells are kept."""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path

import msgspec
import numpy as np

from plumbline.core.plan import PlanCase, measurable
from plumbline.daemon.configuration import CanaryTable
from plumbline.daemon.step import QUARTILE
from plumbline.measure import tables
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db.probe_records import CaseRecord, Samples
from tests.bench.detector.noise import RecordedLaunches

SIZES = [8, 64, 512, 2048, 8192, 16384, 32768, 65536, 131072, 262144]
REPS = 4
BLOCKS = CanaryTable().samples // REPS

Quartiles = dict[str, float]


def launches(number: int, every_seconds: float, nprocs: int) -> tuple[str, list[Quartiles]]:
    """The machine, and nanoseconds by cell, launch by launch."""
    settings = load(None, {"nprocs": nprocs, "sizes": SIZES, "blocks": BLOCKS, "reps": REPS})
    toolchain = find_toolchain(settings=settings)
    starter = starting.starter(toolchain, settings)
    plan = tables.plan(settings, [])
    cases = tuple(
        PlanCase(function.name, size)
        for function in toolchain.space.function
        for size in measurable(function.name, SIZES, nprocs, plan.data)
    )
    found: list[Quartiles] = []
    for sequence in range(number):
        begun = time.monotonic()
        launch = msgspec.structs.replace(plan, name="canary", seed=sequence + 1, cases=cases)
        run, records = starter.start("bench", "canary", sequence, launch.text(), {})
        if run.finished:
            at = {
                one.case: f"{one.function} {one.bytes}"
                for one in records
                if isinstance(one, CaseRecord)
            }
            samples: dict[str, list[int]] = {}
            for one in records:
                if isinstance(one, Samples):
                    samples.setdefault(at[one.case], []).extend(one.ns)
            found.append({cell: float(np.quantile(ns, QUARTILE)) for cell, ns in samples.items()})
        time.sleep(max(0.0, every_seconds - (time.monotonic() - begun)))
    return f"{toolchain.installation.library.id}, {nprocs} ranks", found


def recorded(machine: str, found: list[Quartiles]) -> RecordedLaunches:
    """Of the cells that all launches have."""
    cells = sorted(set.intersection(*(set(one) for one in found)))
    times = np.array([[one[cell] for cell in cells] for one in found])
    logs = np.log(times) - np.median(np.log(times), axis=0)
    logs -= np.median(logs, axis=1, keepdims=True)
    logs -= np.median(logs, axis=0)
    return RecordedLaunches(
        machine, cells, (np.median(times, axis=0) / 1e9).round(9).tolist(), logs.T.round(4).tolist()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Records launches as canaries take them.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--launches", type=int, default=72)
    parser.add_argument("--every", type=float, default=18.0, metavar="SECONDS")
    parser.add_argument("--nprocs", type=int, default=4)
    options = parser.parse_args()
    told = recorded(*launches(options.launches, options.every, options.nprocs))
    options.file.write_bytes(gzip.compress(msgspec.json.encode(told), 9, mtime=0))


if __name__ == "__main__":
    main()
