"""The search for the rendezvous threshold, on made sends."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.overlap import classes, metric
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Overlap
from tests.tuner.overlap.test_metric import CELL


@pytest.mark.parametrize("limit", [64, 4040, 4096, 16328, 65535, 1 << 19])
def test_the_limit_is_found_to_the_byte(limit: int) -> None:
    plan = classes.first(classes.ThresholdSettings())
    sizes = [one.bytes for one in plan.overlaps]
    found = classes.split({size: size <= limit for size in sizes})
    for _ in range(4):
        closer = classes.between(found)
        found = classes.narrowed(found, {size: size <= limit for size in closer})
    assert (found.eager, found.waits, found.strays) == (limit, limit + 1, 0)
    assert classes.between(found) == []


def test_a_size_that_strays_is_counted_and_moves_nothing() -> None:
    early = {size: size <= 400 for size in range(100, 1000, 100)}
    found = classes.split(early | {200: False})
    assert found == classes.Thresholds(400, 500, 1, 9)
    assert classes.split(early | {800: True}) == classes.Thresholds(400, 500, 1, 9)


def test_all_or_nothing() -> None:
    assert classes.split({8: True, 16: True}) == classes.Thresholds(16, None, 0, 2)
    assert classes.split({8: False, 16: False}) == classes.Thresholds(None, 8, 0, 2)
    assert classes.between(classes.split({8: False})) == []


def send(in_time: list[int], late: list[int], **more: bool) -> Overlap:
    return msgspec.structs.replace(
        CELL, communication_ns=in_time, computation_ns=[500, 510, 90_000], both_ns=late, **more
    )


def test_once_is_enough_to_be_eager() -> None:
    assert classes.returns_early(send([10] * 3, [90_000, 600, 20])) is True
    assert classes.returns_early(send([10] * 3, [500, 501, 90_000])) is False
    assert classes.returns_early(send([400, 300, 9_000], [900] * 3)) is None
    with pytest.raises(PlumblineError, match="the library is wrong"):
        metric.require_data([send([], [], delivered=False)])
