"""The detector's bench: its arrays do what the product does to states; what it plants is found; and
the recorded launches are there."""

from __future__ import annotations

import math

import numpy as np

from plumbline.watch.canary import observe
from plumbline.watch.chart import CellState, DetectorDesign
from tests.bench.detector import __main__ as bench
from tests.bench.detector import figures, noise
from tests.bench.detector.rules import Product

DESIGN = DetectorDesign(cells=60, learning=30)


def test_arrays_do_what_states_do() -> None:
    """One machine with busy canaries and a change, by both."""
    busy = noise.Busy(noise.Normal(0.02, cells=60))
    busy.every = 16
    logs = figures.drawn(busy, np.random.default_rng(1), 110, 1)
    logs[85:, 0, 20:30] += math.log(1.3)
    rule = Product(DESIGN, references=12)
    rule.learn(logs[:80])
    states: dict[int, CellState] = {}
    told, expected = [], []
    learnt = 0
    for number, canary in enumerate(logs):
        values = {cell: [float(one)] for cell, one in enumerate(canary[0])}
        watched = observe(DESIGN, states, values, range(12))
        states = watched.states
        ready = all(state.baseline for state in states.values())
        if learnt:
            slower, faster = rule.step(canary)
            expected += [(number, cell, "slower") for cell in np.flatnonzero(slower[0])]
            expected += [(number, cell, "faster") for cell in np.flatnonzero(faster[0])]
            told += [(number, cell, one.direction) for cell, one in watched.alarms.items()]
        elif ready:
            learnt = number
    assert 30 <= learnt < 80  # busy canaries were left out
    assert {cell for _, cell, _ in told} >= set(range(20, 30))
    assert sorted(told) == sorted(expected)


def test_what_is_planted_is_found() -> None:
    quiet = noise.Normal(0.01, cells=60)
    row = bench.row(Product(DESIGN, 12), quiet, DESIGN, 2, 1)
    assert [one.change for one in row.delays] == list(bench.CHANGES)
    assert row.delays[2].in_time > 0.99
    assert row.delays[0].in_time <= row.delays[2].in_time
    assert row.false_alarms.low <= row.false_alarms.mean <= row.false_alarms.high
    assert row.promised is not None and row.promised.in_time is not None
    assert (row.promised.cells, row.promised.in_time) == (1.0, row.delays[1].in_time)
    assert len(list(bench.lines(iter([row]), 2))) == 3


def test_recorded_noise_is_around_nothing() -> None:
    rng = np.random.default_rng(1)
    for source in (noise.campaign, noise.canary_launches):
        one, many = source(1).draw(rng, 50, 2), source(5).draw(rng, 50, 2)
        assert one.shape[:2] == (50, 2) and one.shape[2] > 100
        assert abs(np.median(one)) < 0.01
        assert np.median(np.abs(many)) < 0.7 * np.median(np.abs(one))


def test_noisy_cells_of_recorded_noise_get_more_launches() -> None:
    design = DetectorDesign(cells=200, launches=2, launches_max=12)
    sized = noise.Sized(noise.recorded_launches(), design)
    canaries = sized.draw(np.random.default_rng(1), 40, 2)
    assert canaries.shape == (40, *sized.launches.shape) == (40, 2, sized.cells)
    assert set(np.unique(sized.launches)) <= {2, 4, 8, 12}
    spreads = np.median(np.abs(sized.draw(np.random.default_rng(2), 40, 2)), axis=0)
    assert sized.launches[0][spreads[0] > 0.05].min(initial=12) == 12
    assert np.median(sized.launches) == 2
    row = bench.CellRow("MPI_Scan 512", 12.0, 0.5)
    lines = list(bench._of_cells(bench.SizedCells(3.5, 12.0, [row])))
    assert lines[1].split() == ["50.0%", "MPI_Scan", "512", "(12.0", "launches)"]
