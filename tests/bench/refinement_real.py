"""The same with the library that is there: `make bench-refinement ARGS=--real`.

Both curves are held to a third one, at places that neither has, by three times as many launches,
all in turn; so is the grid once more, which says what chance does."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
from scipy.stats import t as student

from plumbline.measure.launches import LaunchStore
from plumbline.measure.refine import Estimate
from plumbline.settings import campaign_file, starting
from plumbline.settings.toolchain import find_toolchain
from plumbline.suites import run as running
from plumbline.suites.description import AskedSuite
from plumbline_db.connection import Database
from tests.bench.refinement import FIRST, HIGH, HOW, LOW, THRESHOLD, sqrt_two

LAUNCHES, OF_REFERENCE = 8, 24


class RealRun(NamedTuple):
    """Mean errors against the reference; `again`: of the grid, measured once more."""

    refined: float
    grid: float
    again: float


def suites() -> tuple[AskedSuite, ...]:
    # Close together at the threshold, where even a curve that knows its place is wrong.
    between = {round(LOW * 2 ** ((step + 0.5) / 4)) for step in range(72)}
    between |= {round(THRESHOLD * 1.02 ** (step + 0.5)) for step in range(-10, 10)}
    bcast = AskedSuite(name="refined", operations=("MPI_Bcast",), launches=LAUNCHES)
    grid = msgspec.structs.replace(bcast, name="grid", at=tuple(sqrt_two(LOW, HIGH)))
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
        grid,
        msgspec.structs.replace(grid, name="again"),
        msgspec.structs.replace(
            bcast, name="reference", at=tuple(sorted(between)), launches=OF_REFERENCE
        ),
    )


def show(library: Path, paths: Sequence[Path]) -> None:
    """A run into each database, or what it lacks there, and what came of all of them."""
    found = [measured(library, path) for path in paths]
    for name, ratios in (
        ("refined over the grid", [each.refined / each.grid for each in found]),
        ("the grid again over the grid", [each.again / each.grid for each in found]),
    ):
        print(f"error of {name}: {_with_interval(ratios)}")


def _with_interval(ratios: Sequence[float]) -> str:
    """The geometric mean, and where it lies with 95 % (Student's t of the logarithms)."""
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.mean(logs)
    said = f"{math.exp(middle):.2f}"
    if len(logs) > 1:
        t = float(student.ppf(0.975, len(logs) - 1))
        half = t * statistics.stdev(logs) / math.sqrt(len(logs))
        said += f" [{math.exp(middle - half):.2f}, {math.exp(middle + half):.2f}]"
    return f"{said} in {len(ratios)} runs: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"


def measured(library: Path, path: Path) -> RealRun:
    """One run, which is printed."""
    settings = campaign_file.of("bench", {"nprocs": 2, "preload": [str(library)]}, {})
    toolchain = find_toolchain(settings=settings)
    placement = settings.ranks.placement(toolchain.launcher.processing_units())
    asked = running.SuiteRun(2, "refinement", suites())
    every = running.prepare(asked, toolchain, placement)
    with Database.open(path, write=True) as db:
        row = running.begin(db, toolchain, asked, placement, new=False)
        store = LaunchStore(db, row.id, starting.starter(toolchain, settings))
        running.measure(store, row, asked, every)
        refined, grid, again, reference = (running.curves(db, row, of)[0].points for of in every)
        found = running.found_thresholds(db, row, every[0])
    for each in found:
        apart = 100 * (each.high / each.low - 1)
        print(
            f"threshold between {each.low} and {each.high} B ({apart:.1f} % apart), "
            f"{each.factor:.2f} times as long"
        )
    errors = RealRun(*(held_out_error(points, reference) for points in (refined, grid, again)))
    print(
        f"{len(refined)} points refined, mean error {100 * errors.refined:.2f} %; "
        f"{len(grid)} points of a grid {100 * errors.grid:.2f} %, again {100 * errors.again:.2f} %"
    )
    return errors


def held_out_error(points: Mapping[int, Estimate], reference: Mapping[int, Estimate]) -> float:
    """The mean of |log(interpolated / measured)| at the reference's places over the axis in log
    space: each stands for what is nearer to it than to others."""
    places = sorted(reference)
    at = [math.log(place) for place in places]
    ends = [math.log(LOW), *((low + high) / 2 for low, high in pairwise(at)), math.log(HIGH)]
    widths = [high - low for low, high in pairwise(ends)]
    errors = [abs(_between(points, place) - reference[place].value) for place in places]
    return sum(map(operator.mul, errors, widths)) / sum(widths)


def _between(points: Mapping[int, Estimate], place: int) -> float:
    low, high = next(pair for pair in pairwise(sorted(points)) if pair[0] <= place <= pair[1])
    part = math.log(place / low) / math.log(high / low)
    return points[low].value * (1 - part) + points[high].value * part
