"""How long a campaign will probably take."""

from __future__ import annotations

import pytest

from plumbline.cli.progress import Forecast

# Seconds of launches by phase, and launches of the first table, of four campaigns of all functions
# on two cores; settings of the process were tried within their searches.
RECORDED = [
    (30, (13.6, 0.0, 24.5, 26.7, 18.1)),
    (30, (14.2, 0.0, 26.1, 20.5, 45.0)),
    (30, (14.4, 0.0, 27.8, 45.8, 18.1)),
    (30, (12.5, 0.0, 19.7, 21.9, 84.4)),
]


@pytest.mark.parametrize(("first", "phases"), RECORDED)
def test_recorded_campaigns_take_what_was_likely(first: int, phases: tuple[float, ...]) -> None:
    """Within a factor of two and a half, from the first table on to the end of the search."""
    forecast = Forecast(9)
    done, share = 0.0, 0.0
    for number, seconds in enumerate(phases, 1):
        forecast.begin(number, len(phases), done)
        for _ in range(first):
            forecast.launched(seconds / first)
            done += seconds / first
            assert forecast.share >= share
            share = forecast.share
            left = forecast.left
            assert left is not None
            if number <= 3:
                assert 0.4 < left / (sum(phases) - done) < 2.5
    assert 0.85 < share < 1


def test_nothing_is_known_before_the_first_launch() -> None:
    forecast = Forecast(9)
    forecast.begin(1, 5, 0.0)
    assert (forecast.left, forecast.share) == (None, 0.0)


def test_a_continued_campaign_learns_from_what_is_stored() -> None:
    """Launches that are taken from the database are not told one by one."""
    forecast = Forecast(9)
    forecast.begin(1, 5, 0.0)
    forecast.begin(3, 5, 10.0)
    assert forecast.left == pytest.approx(56.0)
    assert forecast.share == pytest.approx(10 / 66)


def test_a_limit_shortens_what_is_to_come_and_not_what_is_under_way() -> None:
    forecast = Forecast(9)
    forecast.begin(2, 5, 10.0)
    forecast.launched(1.0)
    forecast.limit(20.0)
    assert forecast.left == pytest.approx(20.0)
    forecast.limit(0.0)
    assert forecast.left == pytest.approx(3.0)  # of this phase
    forecast.limit(1e9)
    assert forecast.left == pytest.approx(59.0)


def test_a_campaign_that_only_verifies_has_one_phase() -> None:
    forecast = Forecast(10)
    forecast.begin(1, 1, 0.0)
    for _ in range(10):
        forecast.launched(1.0)
    assert forecast.left == pytest.approx(20.0)
