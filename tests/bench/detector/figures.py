"""What a rule does on a noise: false alarms of a month, and delays after planted changes."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from scipy.stats import chi2

from plumbline.watch.chart import DetectorDesign
from tests.bench.detector.noise import Logs, Noise, Random
from tests.bench.detector.rules import Product

QUIET = 24  # canaries between the learning period and a planted change
PATIENCE = 96  # canaries that a change is waited for
IN_TIME = 6


class FalseAlarms(msgspec.Struct, frozen=True):
    """Scaled to the canaries and cells of the design; `low`, `high`: 95 % interval."""

    mean: float
    low: float
    high: float


class Delay(msgspec.Struct, frozen=True):
    """After a slow-down by `change`: canaries (None: more than PATIENCE)."""

    change: float
    in_time: float
    median: int | None
    most: int | None
    cells: int


def drawn(noise: Noise, rng: Random, canaries: int, machines: int) -> Logs:
    """Less what the references of a canary share."""
    logs = noise.draw(rng, canaries, machines)
    shared = np.median(logs[..., : references(noise.cells)], axis=-1, keepdims=True)
    return np.asarray(logs - shared)


def false_alarms(
    rule: Product, noise: Noise, design: DetectorDesign, rng: Random, machines: int
) -> FalseAlarms:
    """Poisson; alarms come in swarms where a launch is bad for many cells, and count for less."""
    rule.learn(drawn(noise, rng, 2 * design.learning, machines))
    counts = np.zeros(machines)
    for logs in drawn(noise, rng, design.canaries, machines):
        slower, faster = rule.step(logs)
        counts += (slower | faster).sum(axis=1)
    scale = design.cells / noise.cells
    swarm = max(1.0, float(counts.var(ddof=1) / counts.mean())) if counts.any() else 1.0
    count = counts.sum() / swarm
    unit = scale * swarm / machines
    low = float(chi2.ppf(0.025, 2 * count)) / 2 if count else 0.0
    return FalseAlarms(
        scale * float(counts.mean()), unit * low, unit * float(chi2.ppf(0.975, 2 * count + 2)) / 2
    )


def delays(
    rule: Product, noise: Noise, design: DetectorDesign, rng: Random, machines: int, change: float
) -> Logs:
    """Canaries to the first alarm that a cell is slower; PATIENCE + 1: none. Machines × cells."""
    rule.learn(drawn(noise, rng, 2 * design.learning, machines))
    for logs in drawn(noise, rng, QUIET, machines):
        rule.step(logs)
    found = np.full((machines, noise.cells), PATIENCE + 1.0)
    for number, logs in enumerate(drawn(noise, rng, PATIENCE, machines), 1):
        slower, _ = rule.step(_planted(logs, change))
        found[slower & (found > PATIENCE)] = number
    return found[:, references(noise.cells) :]


def delay(found: Logs, change: float) -> Delay:
    median, most = (
        _canaries(float(np.quantile(found, share, method="higher"))) for share in (0.5, 0.95)
    )
    return Delay(change, float((found <= IN_TIME).mean()), median, most, found.size)


def _canaries(number: float) -> int | None:
    return int(number) if number <= PATIENCE else None


def references(cells: int) -> int:
    """How many of a machine's cells are references: as good as a fifth."""
    return math.ceil(cells / 5)


def _planted(logs: Logs, change: float) -> Logs:
    changed = logs.copy()
    changed[:, references(logs.shape[1]) :] += math.log1p(change)
    return changed
