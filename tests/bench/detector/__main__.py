"""Figures of the change detector of `plumbline watch`: docs/design/daemon.md.

    python -m tests.bench.detector [--machines N] [--seed N] [--json]

Canaries of a machine of 200 cells, every fifth a reference, are drawn: normal, with heavy tails,
busy at times, and resampled from recorded launches. Each row has a learning period, then 30 days
without a change on so many machines (false alarms of all cells, with a 95 % interval), and half
as many on which all cells but the references become slower, for each size of a change. Prints the
rows, and cells in which too few changes of 10 % are found in time. Asserts nothing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from plumbline.daemon.configuration import CanaryTable
from plumbline.watch.chart import DetectorDesign, largest_scale
from tests.bench.detector import figures
from tests.bench.detector.figures import IN_TIME, Delay, FalseAlarms
from tests.bench.detector.noise import (
    Busy,
    HeavyTails,
    Logs,
    Noise,
    Normal,
    Sized,
    Wandering,
    campaign,
    canary_launches,
    recorded_launches,
)
from tests.bench.detector.rules import Product

CHANGES = (0.05, 0.1, 0.2)
PROMISED, SHARE = 0.1, 0.95
NORMAL = (0.01, 0.02, 0.025, 0.03, 0.05)
LAUNCHES = (1, 5, 15, 30)  # of a canary
CANARIES = (1, 3, 5, 15)  # the same, where launches are as canaries have them


class Promised(msgspec.Struct, frozen=True):
    """Of the product: `counted`, the share of the canaries that were not disturbed; `cells`, the
    share of cells in which, by their scales, 10 % are found in time; `in_time`: of these."""

    counted: float
    cells: float
    in_time: float | None


class CellRow(msgspec.Struct, frozen=True):
    """`launches`: of a canary, on average over the machines; `in_time`: of changes of 10 %."""

    cell: str
    launches: float
    in_time: float


class SizedCells(msgspec.Struct, frozen=True):
    """Launches of a cell and of a canary on average; `cells`: the worst one first."""

    launches: float
    canary: float
    cells: list[CellRow]


class Row(msgspec.Struct, frozen=True):
    noise: str
    false_alarms: FalseAlarms
    delays: list[Delay]
    months: int
    promised: Promised | None
    sized: SizedCells | None = None


def noises(design: DetectorDesign) -> list[Noise]:
    return [
        *(Normal(spread) for spread in NORMAL),
        HeavyTails(0.02),
        Busy(Normal(0.02)),
        Wandering(0.02, 0.3),
        *(campaign(launches) for launches in LAUNCHES),
        *(canary_launches(launches) for launches in CANARIES),
        Sized(recorded_launches(), design),
    ]


def rows(drawn: Sequence[Noise], design: DetectorDesign, machines: int, seed: int) -> Iterator[Row]:
    for noise in drawn:
        rule = Product(design, figures.references(noise.cells))
        yield row(rule, noise, design, machines, seed)


def row(rule: Product, noise: Noise, design: DetectorDesign, machines: int, seed: int) -> Row:
    rng = np.random.default_rng(seed)
    quiet = figures.false_alarms(rule, noise, design, rng, machines)
    found, promised, cells = [], None, None
    for change in CHANGES:
        canaries = figures.delays(rule, noise, design, rng, max(1, machines // 2), change)
        found.append(figures.delay(canaries, change))
        if change == PROMISED:
            promised = _promised(rule, canaries)
            cells = _sized(noise, canaries) if isinstance(noise, Sized) else None
    return Row(noise.name, quiet, found, machines, promised, cells)


def _sized(noise: Sized, canaries: Logs) -> SizedCells:
    """Of the cells that are no references."""
    first = figures.references(noise.cells)
    launches, in_time = noise.launches[:, first:], (canaries <= IN_TIME).mean(axis=0)
    cells = [
        CellRow(name, float(mean), float(share))
        for name, mean, share in zip(
            noise.names[first:], launches.mean(axis=0), in_time, strict=True
        )
    ]
    cells.sort(key=lambda cell: cell.in_time)
    return SizedCells(float(launches.mean()), float(noise.launches.max(axis=1).mean()), cells)


def _promised(rule: Product, canaries: Logs) -> Promised:
    watched = rule.scales[:, figures.references(rule.scales.shape[1]) :]
    cells = watched <= largest_scale(rule.design, PROMISED)
    in_time = float((canaries[cells] <= IN_TIME).mean()) if cells.any() else None
    return Promised(rule.counted, float(cells.mean()), in_time)


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description="Figures of the change detector.")
    parser.add_argument("--machines", type=int, default=20, help="months of 200 cells for each row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    table = CanaryTable()
    design = DetectorDesign(cells=200, launches=table.launches, launches_max=table.launches_max)
    told = rows(noises(design), design, options.machines, options.seed)
    if options.json:
        sys.stdout.buffer.write(msgspec.json.encode(list(told)) + b"\n")
        return
    for line in lines(told, options.machines):
        say(line)


def lines(told: Iterator[Row], machines: int) -> Iterator[str]:
    yield (
        f"{machines} machines of 200 cells for 30 days each; alarms of a month with 95 % interval; "
        f"found within {IN_TIME} canaries, canaries to the alarm (median, 95 %); canaries that "
        "count; cells in which +10 % should be found so, by their scales, and is"
    )
    heads = "".join(f"{f'+{100 * change:.0f} %':>18}" for change in CHANGES)
    ends = f"{'counted':>9}{'seen':>8}{'of them':>9}"
    yield f"{'noise':42}{'false alarms':>20}{heads}{ends}"
    for one in told:
        quiet = one.false_alarms
        cells = "".join(f"{_delay(delay):>18}" for delay in one.delays)
        span = f"{quiet.mean:.2f} ({quiet.low:.2f}-{quiet.high:.2f})"
        own = one.promised
        ends = f"{own.counted:9.0%}{own.cells:8.0%}{_share(own.in_time):>9}" if own else ""
        yield f"{one.noise:42}{span:>20}{cells}{ends}"
        if one.sized:
            yield from _of_cells(one.sized)


def _of_cells(sized: SizedCells) -> Iterator[str]:
    few = [cell for cell in sized.cells if cell.in_time < SHARE]
    yield (
        f"  {sized.launches:.1f} launches of a cell and {sized.canary:.1f} of a canary on average; "
        f"+10 % in time in {SHARE:.0%} of cases or more in {len(sized.cells) - len(few)} of "
        f"{len(sized.cells)} cells; in the others:"
    )
    for cell in few:
        yield f"  {cell.in_time:7.1%}  {cell.cell} ({cell.launches:.1f} launches)"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _delay(one: Delay) -> str:
    median, most = (f"{number or f'>{figures.PATIENCE}'}" for number in (one.median, one.most))
    return f"{one.in_time:.1%}  {median:>3} {most:>3}"


if __name__ == "__main__":
    main()
