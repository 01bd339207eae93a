"""Sentences of made classes and thresholds."""

from __future__ import annotations

import pytest

from plumbline.overlap import classes
from plumbline.overlap.classes import Thresholds
from tests.tuner.overlap.test_classes import EAGER, FREE, SERIAL, SLOWER, cell, side


def test_each_side_from_where_to_where_with_its_ratios() -> None:
    cells = side("sender", FREE) + side("receiver", EAGER)
    assert classes.class_words(classes.of(cells)) == [
        "Sender only: large messages go on beside the sender's work, not beside the receiver's.",
        "Sender: overlaps from 64 bytes to 4 MiB (ratio 0.05).",
        "Receiver: overlaps from 64 bytes to 4 KiB (ratio 0.10); "
        "does not from 16 KiB to 4 MiB (ratio 0.95).",
    ]


def test_eager_only_says_up_to_where() -> None:
    (first, *_) = classes.class_words(classes.of(side("sender", EAGER) + side("receiver", SERIAL)))
    assert first.startswith("Eager only: ") and first.endswith("(up to 4 KiB).")


def test_what_the_processor_spends_is_not_called_overlap() -> None:
    lines = classes.class_words(
        classes.of(side("overhead", [0.1, 0.2, 0.6, 0.6, 1.0, 1.1, 1.7, 1.8]))
    )
    assert lines == [
        "The sender's processor: is free from 64 bytes to 256 bytes (ratios 0.10 to 0.20); "
        "is busy with the message in part from 1 KiB to 4 KiB (ratio 0.60); "
        "is busy with it from 16 KiB to 64 KiB (ratios 1.00 to 1.10); "
        "is busy for longer than a blocking send takes from 256 KiB to 1 MiB "
        "(ratios 1.70 to 1.80)."
    ]


def test_data_apart_and_what_is_slower() -> None:
    (line,) = classes.class_words(classes.of(side("vector", SLOWER)))
    assert line.startswith("Data that lie apart, vector: is slower than one after the other from")


def test_sizes_that_cannot_be_told_are_named_and_nothing_more_is_said() -> None:
    noisy = [cell("sender", size, 1.0, noisy=1) for size in (64, 128, 256, 1024)]
    cells = [*noisy, cell("sender", 512, 0.0)]
    assert classes.class_words(classes.of(cells)) == [
        "Sender: overlaps at 512 bytes (ratio 0.00); "
        "cannot be told from 64 bytes to 256 bytes, at 1 KiB."
    ]
    assert classes.library_words(classes.of([]), None) == []


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
    assert classes.threshold_words(found) == expected


def test_sizes_that_did_otherwise_are_counted() -> None:
    assert classes.threshold_words(Thresholds(8, 9, 2, 29))[1].startswith(
        "2 of 29 sizes did otherwise"
    )
