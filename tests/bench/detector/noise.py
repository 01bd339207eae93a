"""Noise of canaries: log ratios around 0, canaries × machines × cells, less what launches share."""

from __future__ import annotations

import gzip
import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.watch.canary import of_launches
from plumbline.watch.chart import LEAST_LEARNING, DetectorDesign, learn, sized
from tests.bench.power import LONG_SECONDS, RECORDED, Recorded

if TYPE_CHECKING:
    from plumbline.watch.chart import Counts

LAUNCHES = Path(__file__).with_name("launches.json.gz")
AT_ONCE = 40  # canaries that are drawn together

Logs = NDArray[np.float64]
Random = np.random.Generator


class RecordedLaunches(msgspec.Struct, frozen=True):
    """Launches that followed each other: `logs`, a row a cell, of the cell's time in a launch over
    its median, less the launch's median over all cells. `machine`: where and beside what load."""

    machine: str
    cells: list[str]
    seconds: list[float]
    logs: list[list[float]]


class Noise(Protocol):
    name: str
    cells: int

    def draw(self, rng: Random, canaries: int, machines: int) -> Logs: ...


class Normal:
    """The same spread in every cell and canary."""

    def __init__(self, spread: float, cells: int = 200) -> None:
        self.name, self.spread, self.cells = f"normal, {100 * spread:g} %", spread, cells

    def draw(self, rng: Random, canaries: int, machines: int) -> Logs:
        return rng.normal(0.0, self.spread, (canaries, machines, self.cells))


class HeavyTails:
    """Student's t with 3 degrees of freedom, as wide in the middle as a normal one."""

    def __init__(self, spread: float, cells: int = 200) -> None:
        self.name, self.cells = f"t with 3 degrees, {100 * spread:g} %", cells
        self._scale = spread * 0.6745 / 0.7649  # of the quartiles

    def draw(self, rng: Random, canaries: int, machines: int) -> Logs:
        return self._scale * rng.standard_t(3, (canaries, machines, self.cells))


class Busy:
    """A noise on a machine that is busy for some canaries, once in EVERY on average: all cells take
    longer, by a factor that they share and one of their own that stays as long as that load."""

    every, longest, shared, own = 48, 6, 1.5, 0.15

    def __init__(self, quiet: Noise) -> None:
        self.quiet, self.name, self.cells = quiet, f"{quiet.name}, busy at times", quiet.cells

    def draw(self, rng: Random, canaries: int, machines: int) -> Logs:
        logs = self.quiet.draw(rng, canaries, machines)
        for machine in range(machines):
            begun = 0
            while (begun := begun + int(rng.geometric(1 / self.every))) < canaries:
                ended = begun + int(rng.integers(1, self.longest, endpoint=True))
                own = rng.normal(math.log(self.shared), self.own, self.cells)
                logs[begun:ended, machine] += own
                begun = ended
        return logs


class Wandering:
    """Normal noise that remembers: each canary keeps a `share` of the one before."""

    def __init__(self, spread: float, share: float, cells: int = 200) -> None:
        self.name = f"normal, {100 * spread:g} %, correlated {share:g}"
        self.spread, self.share, self.cells = spread, share, cells

    def draw(self, rng: Random, canaries: int, machines: int) -> Logs:
        logs = rng.normal(0.0, self.spread, (canaries, machines, self.cells))
        for before, here in itertools.pairwise(logs):
            here *= math.sqrt(1 - self.share**2)
            here += self.share * before
        return logs


class Resampled:
    """Recorded launches, all cells of one together and turned over or not; a canary of `launches`.
    `logs`: a row a cell."""

    def __init__(self, name: str, logs: Logs, launches: int) -> None:
        self.name, self.launches = f"{name}, {launches} a canary", launches
        self._logs, self.cells = logs, len(logs)

    def draw(self, rng: Random, canaries: int, machines: int) -> Logs:
        return np.concatenate(list(self._parts(rng, canaries, machines)))

    def _parts(self, rng: Random, canaries: int, machines: int) -> Iterator[Logs]:
        for begun in range(0, canaries, AT_ONCE):
            size = (self.launches, min(AT_ONCE, canaries - begun), machines)
            chosen = rng.integers(self._logs.shape[1], size=size)
            turned = rng.choice([-1.0, 1.0], size)
            yield of_launches(self._logs.T[chosen] * turned[..., None])


def campaign(launches: int) -> Resampled:
    """Cold pairs of tests/bench/power.py: the root of a half of a pair's log ratio is as wide as a
    launch."""
    found = msgspec.json.decode(gzip.decompress(RECORDED.read_bytes()), type=Recorded)
    logs = [cell.logs for cell in found.cold if cell.seconds >= LONG_SECONDS]
    return Resampled("launches of a campaign", np.array(logs) / math.sqrt(2), launches)


class Sized:
    """Recorded launches likewise, of which each cell of each machine takes part in as many as its
    noise asks for in its first canaries, as in the product."""

    def __init__(self, recorded: RecordedLaunches, design: DetectorDesign) -> None:
        self.design, self.cells, self.names = design, len(recorded.cells), recorded.cells
        self.name = f"launches of canaries, {design.launches} to {design.launches_max} by noise"
        self._logs = np.array(recorded.logs)
        self.launches: Counts = np.zeros((0, self.cells), dtype=np.int64)

    def draw(self, rng: Random, canaries: int, machines: int) -> Logs:
        if len(self.launches) != machines:
            self._size(rng, machines)
        return self._drawn(rng, canaries)

    def _size(self, rng: Random, machines: int) -> None:
        self.launches = np.full((machines, self.cells), self.design.launches)
        noisy = np.ones_like(self.launches, dtype=bool)
        while noisy.any():
            found = self._drawn(rng, LEAST_LEARNING)
            scales = np.stack([learn(found[:, machine])[1] for machine in range(machines)])
            wanted = np.where(noisy, sized(self.design, self.launches, scales), self.launches)
            noisy, self.launches = wanted > self.launches, wanted

    def _drawn(self, rng: Random, canaries: int) -> Logs:
        """A canary has as many launches as its noisiest cell."""
        values = np.empty((canaries, *self.launches.shape))
        for begun in range(0, canaries, AT_ONCE):
            here = values[begun : begun + AT_ONCE]
            size = (int(self.launches.max()), *here.shape[:2])
            turned = rng.choice([-1.0, 1.0], size)
            logs = self._logs.T[rng.integers(self._logs.shape[1], size=size)] * turned[..., None]
            for count in np.unique(self.launches):
                cells = self.launches == count
                here[:, cells] = of_launches(logs[:count][:, :, cells])
        return values


def recorded_launches() -> RecordedLaunches:
    """Of the cells that are long enough to be seen."""
    found = msgspec.json.decode(gzip.decompress(LAUNCHES.read_bytes()), type=RecordedLaunches)
    long = [n for n, seconds in enumerate(found.seconds) if seconds >= LONG_SECONDS]
    return RecordedLaunches(
        found.machine,
        [found.cells[n] for n in long],
        [found.seconds[n] for n in long],
        [found.logs[n] for n in long],
    )


def canary_launches(launches: int) -> Resampled:
    return Resampled("launches of canaries", np.array(recorded_launches().logs), launches)
