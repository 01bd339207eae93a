"""How many points refinement takes to find a planted threshold, beside a grid in steps of the
square root of two: `make bench-refinement` (docs/design/measurement.md).

The curve is a formula with noise."""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from plumbline.measure.refine import CurveValue, Refinement, SweptCurve, grid, proposals, thresholds

THRESHOLD = 5000
LOW, HIGH = 16, 1 << 22
FIRST = 5  # points that are asked for
LAUNCHES = 8
HOW = Refinement(error=0.04, resolution=0.05, most=18)


class Planted:
    """Latency, bandwidth, and another protocol from the threshold on; launches differ by noise."""

    def __init__(self, noise: float, draws: random.Random) -> None:
        self._noise, self._draws = noise, draws

    def truth(self, place: float) -> float:
        return math.log(3e-6 + place * 0.25e-9 + (8e-6 if place >= THRESHOLD else 0))

    def measure(self, place: int) -> CurveValue:
        launches = sorted(
            self.truth(place) + self._draws.gauss(0, self._noise) for _ in range(LAUNCHES)
        )
        return CurveValue(statistics.median(launches), (launches[-1] - launches[0]) / 2)


class Beside(NamedTuple):
    """`error`: mean of |log(interpolated / true)| over the axis in log space."""

    points: int
    looks: int
    low: int
    high: int
    error: float
    grid_points: int
    grid_error: float


def sqrt_two(low: int, high: int) -> list[int]:
    steps = math.floor(2 * math.log2(high / low) + 1e-9)
    return [round(low * 2 ** (step / 2)) for step in range(steps + 1)]


def compared(source: Planted) -> Beside:
    """Raises ValueError where no threshold was found, or several."""
    points = {place: source.measure(place) for place in grid(LOW, HIGH, FIRST, scale="logarithmic")}
    looks = 1
    while wanted := proposals([SweptCurve("planted", points)], HOW):
        looks += 1
        points |= {each.place: source.measure(each.place) for each in wanted}
    found = thresholds([SweptCurve("planted", points)], HOW)
    largest = max(found, key=lambda each: abs(math.log(each.factor)))
    beside = {place: source.measure(place) for place in sqrt_two(LOW, HIGH)}
    return Beside(
        len(points),
        looks,
        largest.low,
        largest.high,
        mean_error(points, source.truth),
        len(beside),
        mean_error(beside, source.truth),
    )


def mean_error(points: Mapping[int, CurveValue], truth: Callable[[float], float]) -> float:
    places = sorted(points)
    errors = []
    for low, high in pairwise(places):
        width = math.log(high / low)
        steps = max(2, round(200 * width))
        for step in range(steps):
            part = (step + 0.5) / steps
            between = points[low].value * (1 - part) + points[high].value * part
            errors.append((abs(between - truth(low * math.exp(part * width))), width / steps))
    return sum(error * width for error, width in errors) / math.log(places[-1] / places[0])


def formula(draws: int) -> None:
    print(f"{draws} draws of noise; threshold at {THRESHOLD} B, {LOW} to {HIGH} B")
    print("noise  points (of a grid)  looks  threshold within  error over the grid's")
    for noise in (0.01, 0.02, 0.04, 0.08):
        runs = [compared(Planted(noise, random.Random(seed))) for seed in range(draws)]
        within = max(run.high / run.low - 1 for run in runs)
        hits = sum(run.low < THRESHOLD <= run.high for run in runs)
        share = statistics.mean(run.points / run.grid_points for run in runs)
        print(
            f"{100 * noise:>4.0f}%  {statistics.mean(run.points for run in runs):>5.1f} "
            f"({runs[0].grid_points}, {100 * share:.0f} %)"
            f"  {statistics.mean(run.looks for run in runs):>9.1f}  "
            f"{100 * within:.1f} %, {hits} of {draws} found  "
            f"{statistics.mean(run.error / run.grid_error for run in runs):>6.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100, help="of noise")
    formula(parser.parse_args().draws)


if __name__ == "__main__":
    main()
