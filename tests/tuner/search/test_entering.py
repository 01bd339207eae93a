"""One value that names an algorithm for each range of sizes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from plumbline.core.configuration import Configuration
from plumbline.search.race import entering
from plumbline.search.space.candidates import Candidate
from plumbline_db.records import Trial

KNOB = "MV2_INTER_REDUCE_TUNING"


def trial(value: str, ratio: float | None, state: str = "measured", **more: str) -> Trial:
    knobs = {KNOB: value, **more}
    low, high = (None, None) if ratio is None else (ratio - 0.01, ratio + 0.01)
    return Trial("default", knobs, state, ratio, low, high, 4, "")  # type: ignore[arg-type]


def value_of(by_size: Mapping[int, Mapping[str, float]]) -> str | None:
    trials = {size: [trial(*one) for one in those.items()] for size, those in by_size.items()}
    found = entering.candidate_by_ranges(KNOB, trials)
    return None if found is None else found.configuration[KNOB]


def test_each_size_gets_the_best_algorithm_there() -> None:
    small, large = {"1": 1.0, "2": 1.1, "5": 1.6}, {"1": 0.9, "2": 1.2, "5": 0.6}
    assert value_of({64: small, 4096: small, 16384: large, 65536: large}) == "1:0-8192,5:8193-+"


def test_what_is_as_good_makes_no_range() -> None:
    """2 is the best at 64 B by a hair, 5 is as good everywhere."""
    assert value_of({64: {"2": 0.90, "5": 0.91}, 4096: {"5": 0.5}}) is None
    three = {64: {"2": 0.90, "5": 0.91}, 1024: {"5": 0.9, "1": 1.0}, 16384: {"1": 0.5, "5": 0.9}}
    assert value_of(three) == "5:0-4096,1:4097-+"


@pytest.mark.parametrize(
    "by_size",
    [
        {64: {"1": 1.0}, 4096: {"8": 0.5}},  # not in ranges
        {64: {"1": 1.0}, 4096: {}},  # no answer
        {64: {"1": 1.3, "5": 1.5}, 4096: {"1": 1.2, "5": 0.9}},  # nothing to be gained
    ],
)
def test_where_there_is_no_such_value(by_size: Mapping[int, Mapping[str, float]]) -> None:
    assert value_of(by_size) is None


def test_other_settings_and_what_failed_are_no_algorithms() -> None:
    beside = trial("5", 0.5, MV2_INTER_REDUCE_TUNING_TWO_LEVEL="1")
    ours = Trial("reduce_ring", {}, "measured", 0.4, 0.4, 0.4, 4, "")
    wrong = trial("2", None, "wrong")
    here = [trial("1", 0.9), beside, ours, wrong]
    found = entering.candidate_by_ranges(KNOB, {64: here, 4096: [*here, trial("5", 0.8)]})
    assert found == Candidate(configuration=Configuration.of({KNOB: "1:0-512,5:513-+"}))
