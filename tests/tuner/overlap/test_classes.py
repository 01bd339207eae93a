"""Classes of made cells: each class, sizes that stray, cells that say nothing, and the words."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from plumbline.overlap import classes, metric
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import OverlapResult
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Overlap
from tests.tuner.overlap.test_metric import CELL

SIZES = [64 * 4**step for step in range(9)]  # 64 to 4 Mi


def cell(
    bench: str, size: int, ratio: float, *, share: float = 1.0, **more: float
) -> OverlapResult:
    """`share`: work over communication."""
    communication = more.get("communication", 1e-6 + size / 1e10)
    work = share * communication
    wide, noisy = more.get("wide", 0.1), bool(more.get("noisy", 0))
    longer, shorter = max(communication, work), min(communication, work)
    both = longer + ratio * shorter
    found = Ratio(communication, work, both, ratio, ratio - wide / 2, ratio + wide / 2, noisy)
    return OverlapResult(bench, size, round(1e9 * work), 1, found)


def side(bench: str, ratios: Mapping[int, float] | list[float]) -> list[OverlapResult]:
    pairs = ratios.items() if isinstance(ratios, Mapping) else zip(SIZES, ratios, strict=False)
    return [
        cell(bench, size, ratio, share=share) for size, ratio in pairs for share in (0.7, 1.4, 2.8)
    ]


FREE, SERIAL, PARTLY, SLOWER = [0.05] * 9, [1.0] * 9, [0.6] * 9, [1.6] * 9
EAGER = [0.1] * 4 + [0.95] * 5
LARGE = [0.95] * 4 + [0.1] * 5


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        (FREE, "overlaps"),
        (SERIAL, "none"),
        (PARTLY, "partly"),
        (SLOWER, "slower than serial"),
        (EAGER, "small only"),
        (LARGE, "large only"),
    ],
)
def test_a_benchmark_is_of_its_class(ratios: list[float], expected: str) -> None:
    found = classes.of_bench("sender", side("sender", ratios))
    assert found.found == expected
    assert found.until == (SIZES[3] if expected == "small only" else None)
    assert sum(one.sizes for one in found.stretches) == 9


@pytest.mark.parametrize(
    ("sender", "receiver", "expected"),
    [
        (FREE, FREE, "overlaps by itself"),
        (FREE, SERIAL, "sender only"),
        (FREE, EAGER, "sender only"),
        (LARGE, SERIAL, "sender only"),
        (SERIAL, FREE, "receiver only"),
        (EAGER, SERIAL, "eager only"),
        (EAGER, EAGER, "eager only"),
        (SERIAL, SERIAL, "none"),
        (PARTLY, SERIAL, "partly"),
        (SERIAL, SLOWER, "slower than serial"),
    ],
)
def test_a_library_is_of_its_class(
    sender: list[float], receiver: list[float], expected: str
) -> None:
    found = classes.of(side("sender", sender) + side("receiver", receiver))
    assert found.library == expected
    assert found.until == (SIZES[3] if expected == "eager only" else None)


def test_one_side_alone_tells_nothing_of_the_library() -> None:
    found = classes.of(side("sender", FREE))
    assert (found.library, found.benches[0].found) == ("not told", "overlaps")
    assert found.bench("receiver") is None


@pytest.mark.parametrize("where", range(9))
def test_a_size_that_strays_changes_no_class(where: int) -> None:
    ratios = list(FREE)
    ratios[where] = 1.6
    assert classes.of_bench("sender", side("sender", ratios)).found == "overlaps"
    ratios = list(SERIAL)
    ratios[where] = 0.0
    assert classes.of_bench("sender", side("sender", ratios)).found == "none"


def test_values_near_a_boundary_are_one_stretch() -> None:
    found = classes.of_bench("sender", side("sender", [0.38, 0.42, 0.39, 0.41, 0.38, 0.4, 0.35]))
    assert len(found.stretches) == 1
    assert (found.stretches[0].least, found.stretches[0].most) == (0.35, 0.42)


def test_two_sizes_may_be_of_two_kinds() -> None:
    found = classes.of_bench("sender", side("sender", {4096: 0.1, 1 << 20: 1.0}))
    assert [(one.kind, one.bytes_from) for one in found.stretches] == [
        ("overlaps", 4096),
        ("serial", 1 << 20),
    ]
    assert (found.found, found.until) == ("small only", 4096)


def test_cells_that_say_nothing_are_left_out() -> None:
    """Noisy, of too little or too much work, of a wide interval, of a message that others slowed,
    or without a ratio; what is left decides."""
    size = 65536
    good = cell("sender", size, 0.1)
    assert good.ratio is not None
    slowed = 5 * good.ratio.communication
    poor = [
        cell("sender", size, 1.0, noisy=1),
        cell("sender", size, 1.0, share=0.1),
        cell("sender", size, 1.0, share=9),
        cell("sender", size, 1.0, wide=0.9),
        cell("sender", size, 1.0, communication=slowed),
        OverlapResult("sender", size, 1000, 1, None),
    ]
    (told,) = classes.of_bench("sender", [*poor, good]).verdicts
    assert (told.kind, told.ratio, told.cells) == ("overlaps", 0.1, 1)
    for one in poor[:4] + poor[5:]:
        (told,) = classes.of_bench("sender", [one]).verdicts
        assert (told.kind, told.ratio, told.cells) == (None, None, 0)
    assert classes.of_bench("sender", poor[:2]).found == "not told"


def test_an_amount_of_threads_is_no_class() -> None:
    assert classes.of(side("load", FREE)).benches == []
    assert classes.of([]) == classes.Classes("not told", None, [])


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
