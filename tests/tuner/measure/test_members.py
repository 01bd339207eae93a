"""Tests of the comparison of ranks that stay alive, with made-up times of known components."""

from __future__ import annotations

import numpy as np
import pytest

from plumbline.measure.conditions import correlation, most_visits

RANKS, VISITS, CASES = 9, 3, 200


def seconds(
    of_ranks: float, of_visits: float, of_launches: float = 0.0, of_time: float = 0.0
) -> list[dict[int, float]]:
    """Make the times of all cases by launch; the arguments are standard deviations of logarithms
    between ranks, between visits, of what a launch does to all of its cases, and of what time does
    to a case between the first visits of all ranks and the second ones."""
    rng = np.random.default_rng(1)
    logs = rng.normal(0, of_visits, (CASES, VISITS, RANKS))
    logs += rng.normal(0, of_ranks, (CASES, 1, RANKS)) + rng.normal(0, of_time, (CASES, VISITS, 1))
    logs += rng.normal(0, of_launches, (1, VISITS, RANKS)) + rng.normal(-10, 2, (CASES, 1, 1))
    return [dict(enumerate(np.exp(case.ravel()).tolist())) for case in logs]


MEMBERS = {launch: f"member {launch % RANKS}" for launch in range(RANKS * VISITS)}


@pytest.mark.parametrize(
    ("of_ranks", "of_visits", "truth"), [(0, 0.1, 0), (0.1, 0.1, 0.5), (0.1, 0.02, 0.96)]
)
def test_the_correlation_is_that_of_the_components(
    of_ranks: float, of_visits: float, truth: float
) -> None:
    for others in ((0, 0), (0.3, 0), (0.3, 0.2)):
        found = correlation(seconds(of_ranks, of_visits, *others), MEMBERS)
        assert found == pytest.approx(truth, abs=0.08)


def test_cases_that_later_looks_leave_out_are_compared_as_far_as_they_go() -> None:
    cases = seconds(0.1, 0.05)
    for number, case in enumerate(cases):
        for launch in range(RANKS + number % (2 * RANKS), RANKS * VISITS):
            del case[launch]
    found = correlation(cases, MEMBERS)
    assert found is not None and found == pytest.approx(0.8, abs=0.1)


def test_few_visits_of_the_same_ranks_say_nothing() -> None:
    launches = range(RANKS + 8)
    cases = [{launch: case[launch] for launch in launches} for case in seconds(0.1, 0.02)]
    assert correlation(cases, {launch: MEMBERS[launch] for launch in launches}) is None


def test_times_that_do_not_vary_say_nothing() -> None:
    assert correlation(seconds(0, 0), MEMBERS) is None


def test_ranks_that_differ_more_are_visited_less_often() -> None:
    few = [most_visits(shared) for shared in (None, -0.2, 0.0, 0.05, 0.1)]
    assert few == pytest.approx([5] * 5)
    visits = [most_visits(shared) for shared in (0.1, 0.15, 0.2, 0.4, 0.9)]
    assert visits == pytest.approx([5, 3.67, 3, 2, 2], abs=0.01)
