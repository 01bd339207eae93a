"""What `make bench` says of the database, on a small one."""

from __future__ import annotations

import math

import pytest

from tests.bench import database


@pytest.mark.alone  # `make bench` measures it
def test_figures_of_a_small_database() -> None:
    """That they are there; how large they are depends on the machine."""
    found = {figure.name: figure.value for figure in database.figures(small=True)}
    assert all(math.isfinite(value) and value > 0 for value in found.values())
    assert found["bytes a time, warm-up too"] < found["bytes a sample, all told"]
    assert {"samples stored", "a year", "the page overview, p95"} <= found.keys()
    # Of one so small most is the tables themselves.
    assert found["bytes a sample of many"] < 16
