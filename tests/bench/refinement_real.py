"""The same with the library that is there: `make bench-refinement ARGS=--real`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import msgspec

from plumbline.measure.launches import LaunchStore
from plumbline.measure.refine import Estimate
from plumbline.settings import campaign_file, starting
from plumbline.settings.toolchain import find_toolchain
from plumbline.suites import run as running
from plumbline.suites.description import AskedSuite
from plumbline_db.connection import Database
from tests.bench.refinement import FIRST, HIGH, HOW, LOW, THRESHOLD, mean_error, sqrt_two

LAUNCHES = 8


def suites() -> tuple[AskedSuite, ...]:
    dense = {round(LOW * 2 ** (step / 4)) for step in range(73)} | {THRESHOLD - 1, THRESHOLD}
    bcast = AskedSuite(name="refined", operations=("MPI_Bcast",), launches=LAUNCHES)
    return (
        msgspec.structs.replace(
            bcast,
            first=LOW,
            to=HIGH,
            points=FIRST,
            refine=True,
            error=HOW.error,
            most_points=HOW.most,
        ),
        msgspec.structs.replace(bcast, name="grid", at=tuple(sqrt_two(LOW, HIGH))),
        msgspec.structs.replace(bcast, name="dense", at=tuple(sorted(dense))),
    )


def show(library: Path, path: Path) -> None:
    """Measures into the database at `path`, or goes on there, and prints what came of it."""
    settings = campaign_file.of("bench", {"nprocs": 2, "preload": [str(library)]}, {})
    toolchain = find_toolchain(settings=settings)
    placement = settings.ranks.placement(toolchain.launcher.processing_units())
    asked = running.SuiteRun(2, "refinement", suites())
    every = running.prepare(asked, toolchain, placement)
    with Database.open(path, write=True) as db:
        row = running.begin(db, toolchain, asked, placement, new=False)
        store = LaunchStore(db, row.id, starting.starter(toolchain, settings))
        running.measure(store, row, asked, every)
        refined, grid, dense = (running.curves(db, row, of)[0].points for of in every)
        found = running.found_thresholds(db, row, every[0])
    for each in found:
        apart = 100 * (each.high / each.low - 1)
        print(
            f"threshold between {each.low} and {each.high} B ({apart:.1f} % apart), "
            f"{each.factor:.2f} times as long"
        )
    truth = _between(dense)
    for name, points in (("refined", refined), ("grid of the square root of two", grid)):
        without_noise = {place: Estimate(truth(place), 0.0) for place in points}
        print(
            f"{name}: {len(points)} points, mean error {100 * mean_error(points, truth):.1f} %, "
            f"{100 * mean_error(without_noise, truth):.1f} % without noise of its own"
        )


def _between(points: Mapping[int, Estimate]) -> Callable[[float], float]:
    pairs = list(pairwise(sorted(points)))

    def truth(place: float) -> float:
        low, high = next(pair for pair in pairs if pair[0] <= place <= pair[1])
        part = math.log(place / low) / math.log(high / low)
        return points[low].value * (1 - part) + points[high].value * part

    return truth
