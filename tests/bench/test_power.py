"""The power command: what it plants is what it finds, on noise that is known; and the recorded file
is read on a machine without a database."""

from __future__ import annotations

import gzip
import math

import msgspec
import numpy as np
import pytest

from tests.bench import power
from tests.bench.power import Cell, ColdPairs, Recorded


def cells(spread: float, count: int = 40, seconds: float = 1e-5) -> list[Cell]:
    rng = np.random.default_rng(1)
    return [
        Cell(str(n), seconds, list(rng.normal(0, spread, 18).round(5).tolist()))
        for n in range(count)
    ]


@pytest.mark.parametrize(("ratio", "word"), [(0.9, "faster"), (1.0, "equal"), (1.2, "slower")])
def test_little_noise_is_decided_at_once(ratio: float, word: str) -> None:
    found = power.pairs_inside(cells(0.002), ratio, power.acceptance_launches.LOOKS, 1)
    assert found == [(word, 6)] * 40


def test_much_noise_leaves_equal_winners_undecided() -> None:
    found = power.pairs_inside(cells(0.3), 1.0, power.acceptance_launches.LOOKS, 1)
    assert sum(word == "undecided" for word, _ in found) > 20


def test_a_loss_is_found_twice_in_cold_pairs_and_alone() -> None:
    table = ColdPairs(cells(0.01), 3)
    assert table.slower({}) == {}
    assert list(table.slower({7: math.log(1.3)})) == [7]
    assert table.slower({7: math.log(1.04)}) == {}


def test_shares_of_both_classes() -> None:
    noise = cells(0.01, 6) + cells(0.01, 6, seconds=1e-6)
    rows = power.shares(Recorded("c", noise, noise), 1)
    known = {(row.design, row.rule, row.cells, row.ratio): row.refused for row in rows}
    for kind in power.CLASSES:
        unless = "refused unless known not to be slower"
        assert known["inside a launch, 6 … 18", unless, kind, 1.0] == 0
        assert known["cold pairs, 6 … 30", unless, kind, 1.2] == 1
        assert known["cold pairs, 6 … 30", "refused if slower twice", kind, 1.0] == 0


def test_the_recorded_campaign_is_there() -> None:
    found = msgspec.json.decode(gzip.decompress(power.RECORDED.read_bytes()), type=Recorded)
    assert len(found.inside) > 500 and len(found.cold) > 100
    assert {cell.size_class for cell in found.cold} == set(power.CLASSES)
    assert all(len(cell.logs) >= 9 for cell in found.inside)
    assert len({len(cell.logs) for cell in found.cold}) == 1  # pairs are drawn for all cells
