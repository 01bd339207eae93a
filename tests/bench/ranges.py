"""Ranges that acceptance keeps: how many are islands, and whether what is slower is lost.

    python -m tests.bench.ranges [--seeds N] [--json]

Winners whose true ratios are planted, size by size and use by use, go through the product's own
acceptance (campaign/acceptance.py, acceptance_sizes.py); the noise of their launches is
drawn from that of a recorded campaign (power.json.gz). Asserts nothing."""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np

from plumbline.campaign.acceptance import AcceptanceLaunches
from plumbline.campaign.acceptance_sizes import AcceptanceTrial, kept, trials
from plumbline.core.plan import measurable
from plumbline.measure import tables
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite, Winner
from tests.bench.power import RECORDED, Cell, Recorded
from tests.exporters.bundles import variant

FUNCTION = "MPI_Allreduce"
SETTINGS = load(None, {"nprocs": 2})
SIZES = measurable(FUNCTION, SETTINGS.sizes_of(FUNCTION), 2, SETTINGS.cases.data)
LENGTH = 8  # measured sizes of each winner
GAIN, LOSS = math.log(1 / 1.15), math.log(1.1)
LIMIT = math.log1p(SETTINGS.claims.tolerance)
# Standard deviations of true log ratios, as recorded (sizes, ways of use, types).
OF_SIZES, OF_USES, OF_DATA = 0.17, 0.09, 0.04
BEYOND = math.log(1.3)


class Planted(msgspec.Struct, frozen=True):
    """A winner with the true log ratio of each of its sizes in each circumstance."""

    kind: str
    winner: Winner
    first: int
    ratio: Callable[[int, str, str], float]


def _where(trial: AcceptanceTrial) -> tuple[str, str]:
    return trial.where.use, trial.where.data.type


def _gain(place: int, use: str, data: str) -> float:
    return GAIN


def _nothing(place: int, use: str, data: str) -> float:
    return 0.0


def _half(place: int, use: str, data: str) -> float:
    """Slower in one way of use over the larger half of its sizes."""
    return LOSS if use == "stream" and place >= LENGTH // 2 else GAIN


def _varied(rng: np.random.Generator) -> Callable[[int, str, str], float]:
    """Draw true ratios as they were recorded: sizes differ most, then ways of use, then types."""
    steps = rng.normal(0, OF_SIZES / math.sqrt(LENGTH / 2), LENGTH)
    of_size = np.cumsum(steps) - steps[0] + rng.normal(-0.1, OF_SIZES / 2)
    of_use: dict[str, float] = {}
    of_data: dict[str, float] = {}

    def ratio(place: int, use: str, data: str) -> float:
        at_use = of_use.setdefault(use, rng.normal(0, OF_USES))
        return float(of_size[place]) + at_use + of_data.setdefault(data, rng.normal(0, OF_DATA))

    return ratio


KINDS = ("gain", "nothing", "half", "varied")


def _planted(kind: str, first: int, rng: np.random.Generator) -> Planted:
    sizes = SIZES[first : first + LENGTH]
    winner = msgspec.structs.replace(
        variant(FUNCTION, "allreduce_shared_memory", sizes[0], sizes[-1]), removes=[]
    )
    known = {"gain": _gain, "nothing": _nothing, "half": _half}
    return Planted(kind, winner, first, known.get(kind) or _varied(rng))


class _Simulated(AcceptanceLaunches):
    """Launches whose log ratios are the planted ones and recorded noise."""

    def __init__(
        self,
        true: Callable[[AcceptanceTrial], float],
        noise: Sequence[Cell],
        rng: np.random.Generator,
    ) -> None:
        self.logs = {}
        self.reasons = {}
        self.visits = 0
        self._store: Any = SimpleNamespace(is_quiet=True)
        self._plan = tables.plan(SETTINGS, [])
        self._true, self._noise, self._rng = true, noise, rng
        self._cells: dict[AcceptanceTrial, Cell] = {}

    def _add(
        self,
        suite: Suite,
        turn: range,
        trials: Sequence[AcceptanceTrial],
        blocks: int,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        for trial in trials:
            cell = self._cells.setdefault(trial, self._noise[self._rng.integers(len(self._noise))])
            drawn = self._rng.choice(cell.logs, len(turn)) * self._rng.choice([-1, 1], len(turn))
            true = self._true(trial)
            noisy = {n: true + float(log) for n, log in zip(turn, drawn, strict=True)}
            self.logs.setdefault(trial, {}).update(noisy)
            self.visits += len(turn)


Row = tuple[str, dict[str, float]]  # the kind of a winner, and numbers of its sizes


def simulated(noise: Sequence[Cell], seed: int, each: int = 3) -> list[Row]:
    """One turn of acceptance with some winners of each kind: its kind and numbers of its sizes for
    each winner."""
    rng = np.random.default_rng(seed)
    places = range(0, len(SIZES) - LENGTH, 3)
    those = [_planted(kind, int(rng.choice(places)), rng) for kind in KINDS for _ in range(each)]
    winners = [one.winner for one in those]
    asked = trials(winners, [], SETTINGS, {FUNCTION: SIZES}, crowded=False)

    def true(trial: AcceptanceTrial) -> float:
        if trial.beyond:
            return BEYOND
        one = those[trial.winner]
        return one.ratio(SIZES.index(trial.target.bytes) - one.first, *_where(trial))

    launches = _Simulated(true, noise, rng)
    rows = launches.decide(Suite("accept", 1), asked, SETTINGS)
    found = kept(winners, rows, SETTINGS, {FUNCTION: SIZES}, "none")
    told: list[Row] = []
    for number, (one, its) in enumerate(zip(those, found, strict=True)):
        own = [trial for trial in asked if trial.winner == number and not trial.beyond]
        worst = [
            max(true(trial) for trial in own if trial.target.bytes == size)
            for size in SIZES[one.first : one.first + LENGTH]
        ]
        pieces = [
            {n for n in range(LENGTH) if w.bytes_from <= SIZES[one.first + n] <= w.bytes_to}
            for w in its.winners
        ]
        held = set[int]().union(*pieces)
        numbers: dict[str, float] = {
            "good": sum(log <= 0 for log in worst),
            "good and kept": sum(worst[n] <= 0 for n in held),
            "slower": sum(log > LIMIT for log in worst),
            "slower and kept": sum(worst[n] > LIMIT for n in held),
            "kept": len(held),
            "ranges": len(pieces),
            "islands": sum(_is_island(piece, worst) for piece in pieces),
            "visits": launches.visits / len(those),
        }
        told.append((one.kind, numbers))
    return told


def _is_island(piece: set[int], worst: Sequence[float]) -> bool:
    """Return whether a range has one measured size, and a neighbour of it is as good."""
    if len(piece) != 1:
        return False
    (place,) = piece
    return any(worst[n] <= 0 for n in (place - 1, place + 1) if 0 <= n < LENGTH)


def main() -> None:
    parser = argparse.ArgumentParser(description="Ranges that acceptance keeps.")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    noise = msgspec.json.decode(gzip.decompress(RECORDED.read_bytes()), type=Recorded).inside
    rows = [row for seed in range(options.seeds) for row in simulated(noise, seed)]
    sums = {
        kind: {name: sum(row[name] for own, row in rows if own == kind) for name in rows[0][1]}
        for kind in KINDS
    }
    if options.json:
        print(json.dumps(sums))
        return
    for kind, found in sums.items():
        print(f"{kind}: " + ", ".join(f"{name} {value:.0f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
