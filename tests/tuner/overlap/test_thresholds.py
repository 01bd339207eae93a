"""The search for the rendezvous threshold, on made sends."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.overlap import metric, thresholds
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Overlap
from tests.tuner.overlap.test_metric import CELL


@pytest.mark.parametrize("limit", [64, 4040, 4096, 16328, 65535, 1 << 19])
def test_the_limit_is_found_to_the_byte(limit: int) -> None:
    plan = thresholds.first(thresholds.ThresholdSettings())
    sizes = [one.bytes for one in plan.overlaps]
    found = thresholds.split({size: size <= limit for size in sizes})
    for _ in range(4):
        closer = thresholds.between(found)
        found = thresholds.narrowed(found, {size: size <= limit for size in closer})
    assert (found.eager, found.waits, found.strays) == (limit, limit + 1, 0)
    assert thresholds.between(found) == []


def test_a_size_that_strays_is_counted_and_moves_nothing() -> None:
    early = {size: size <= 400 for size in range(100, 1000, 100)}
    found = thresholds.split(early | {200: False})
    assert found == thresholds.Thresholds(400, 500, 1, 9)
    assert thresholds.split(early | {800: True}) == thresholds.Thresholds(400, 500, 1, 9)


def test_all_or_nothing() -> None:
    assert thresholds.split({8: True, 16: True}) == thresholds.Thresholds(16, None, 0, 2)
    assert thresholds.split({8: False, 16: False}) == thresholds.Thresholds(None, 8, 0, 2)
    assert thresholds.between(thresholds.split({8: False})) == []


def send(in_time: list[int], late: list[int], **more: bool) -> Overlap:
    return msgspec.structs.replace(
        CELL, communication_ns=in_time, computation_ns=[500, 510, 90_000], both_ns=late, **more
    )


def test_once_is_enough_to_be_eager() -> None:
    assert thresholds.returns_early(send([10] * 3, [90_000, 600, 20])) is True
    assert thresholds.returns_early(send([10] * 3, [500, 501, 90_000])) is False
    assert thresholds.returns_early(send([400, 300, 9_000], [900] * 3)) is None
    with pytest.raises(PlumblineError, match="the library is wrong"):
        metric.require_data([send([], [], delivered=False)])
