"""The power command: what it plants is what it finds, on noise that is known; and the recorded file
is read on a machine without a database."""

from __future__ import annotations

import gzip
import math

import msgspec
import numpy as np

from tests.bench import power
from tests.bench.power import Cell, ColdPairs, Recorded


def cells(spread: float, count: int = 40, seconds: float = 1e-5) -> list[Cell]:
    rng = np.random.default_rng(1)
    return [
        Cell(str(n), seconds, list(rng.normal(0, spread, 18).round(5).tolist()))
        for n in range(count)
    ]


def test_a_loss_is_found_twice_in_cold_pairs_and_alone() -> None:
    table = ColdPairs(cells(0.01), 3)
    assert table.slower({}) == {}
    assert list(table.slower({7: math.log(1.3)})) == [7]
    assert table.slower({7: math.log(1.04)}) == {}


def test_shares_of_both_classes() -> None:
    noise = cells(0.01, 6) + cells(0.01, 6, seconds=1e-6)
    known = {(row.cells, row.ratio): row.refused for row in power.shares(noise, 1)}
    for kind in power.CLASSES:
        assert known[kind, 1.0] == 0 and known[kind, 1.2] == 1


def test_the_recorded_campaign_is_there() -> None:
    found = msgspec.json.decode(gzip.decompress(power.RECORDED.read_bytes()), type=Recorded)
    assert len(found.inside) > 500 and len(found.cold) > 100
    assert {cell.size_class for cell in found.cold} == set(power.CLASSES)
    assert all(len(cell.logs) >= 9 for cell in found.inside)
    assert len({len(cell.logs) for cell in found.cold}) == 1  # pairs are drawn for all cells
