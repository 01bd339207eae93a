"""The ranges command: with little noise acceptance keeps what is planted as good, and nothing
else."""

from __future__ import annotations

import numpy as np

from tests.bench import ranges
from tests.bench.power import Cell


def test_little_noise_keeps_what_is_good() -> None:
    rng = np.random.default_rng(1)
    noise = [Cell(str(n), 1e-5, rng.normal(0, 0.01, 12).tolist()) for n in range(40)]
    rows = ranges.simulated(noise, 1, each=1)
    by_kind = dict(rows)
    assert by_kind["gain"]["good and kept"] == ranges.LENGTH and by_kind["gain"]["ranges"] == 1
    assert by_kind["nothing"]["kept"] == 0
    assert by_kind["half"]["good and kept"] == ranges.LENGTH // 2
    assert not any(row["slower and kept"] for row in by_kind.values())
