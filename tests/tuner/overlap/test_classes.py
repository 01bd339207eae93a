"""Classes of made cells: each class, sizes that stray, cells that say nothing, and the words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from plumbline.overlap import classes, words
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import OverlapResult
from plumbline.overlap.thresholds import Thresholds

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


# --- words ----------------------------------------------------------------------------------------


def test_each_side_from_where_to_where_with_its_ratios() -> None:
    cells = side("sender", FREE) + side("receiver", EAGER)
    assert words.of_classes(classes.of(cells)) == [
        "Sender only: large messages go on beside the sender's work, not beside the receiver's.",
        "Sender: overlaps from 64 bytes to 4 MiB (ratio 0.05).",
        "Receiver: overlaps from 64 bytes to 4 KiB (ratio 0.10); "
        "does not from 16 KiB to 4 MiB (ratio 0.95).",
    ]


def test_eager_only_says_up_to_where() -> None:
    (first, *_) = words.of_classes(classes.of(side("sender", EAGER) + side("receiver", SERIAL)))
    assert first.startswith("Eager only: ") and first.endswith("(up to 4 KiB).")


def test_what_the_processor_spends_is_not_called_overlap() -> None:
    lines = words.of_classes(classes.of(side("overhead", [0.1, 0.2, 0.6, 0.6, 1.0, 1.1, 1.7, 1.8])))
    assert lines == [
        "The sender's processor: is free from 64 bytes to 256 bytes (ratios 0.10 to 0.20); "
        "is busy with the message in part from 1 KiB to 4 KiB (ratio 0.60); "
        "is busy with it from 16 KiB to 64 KiB (ratios 1.00 to 1.10); "
        "is busy for longer than a blocking send takes from 256 KiB to 1 MiB "
        "(ratios 1.70 to 1.80)."
    ]


def test_data_apart_and_what_is_slower() -> None:
    (line,) = words.of_classes(classes.of(side("vector", SLOWER)))
    assert line.startswith("Data that lie apart, vector: is slower than one after the other from")


def test_sizes_that_cannot_be_told_are_named_and_nothing_more_is_said() -> None:
    noisy = [cell("sender", size, 1.0, noisy=1) for size in (64, 128, 256, 1024)]
    cells = [*noisy, cell("sender", 512, 0.0)]
    assert words.of_classes(classes.of(cells)) == [
        "Sender: overlaps at 512 bytes (ratio 0.00); "
        "cannot be told from 64 bytes to 256 bytes, at 1 KiB."
    ]
    assert words.of_library(classes.of([]), None) == []


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Thresholds(4040, 4041, 0, 29), ["Eager up to 4040 bytes, rendezvous from 4041 bytes on."]),
        (Thresholds(1 << 20, None, 0, 29), ["Eager at all sizes looked at, to 1 MiB."]),
        (Thresholds(None, 64, 0, 29), ["Rendezvous at all sizes looked at, from 64 bytes on."]),
        (
            Thresholds(None, None, 0, 0),
            ["Rendezvous threshold: cannot be told, messages take too long."],
        ),
    ],
)
def test_where_the_threshold_lies(found: Thresholds, expected: list[str]) -> None:
    assert words.of_threshold(found) == expected


def test_sizes_that_did_otherwise_are_counted() -> None:
    assert words.of_threshold(Thresholds(8, 9, 2, 29))[1].startswith("2 of 29 sizes did otherwise")
