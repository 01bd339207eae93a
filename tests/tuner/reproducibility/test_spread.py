"""Spread between trials: the figures of Hunold and Carpen-Amarie, TPDS 2016, from synthetic run
times."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.reproducibility import effects

TIMES = st.lists(st.floats(1e-8, 1e-1), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("least", "most", "diff"), [(2.93, 3.12, 6.09), (2.83, 3.20, 11.56), (6.88, 7.05, 2.41)]
)
def test_table_1_of_tpds_2016(least: float, most: float, diff: float) -> None:
    """The table gives the difference in per cent of the largest, figure 12 normalises to the least;
    here it is the latter."""
    found = effects.spread([1e-6 * least, 1e-6 * most, 1e-6 * (least + most) / 2])
    assert 100 * (1 - 1 / (1 + found.percent / 100)) == pytest.approx(diff, abs=0.005)
    assert found.seconds[:2] == [1e-6 * least, 1e-6 * most]


@given(TIMES)
def test_normalised_run_times_start_at_one(times: list[float]) -> None:
    found = effects.normalised(times)
    assert found.min() == 1.0
    assert np.all(found >= 1.0)
    assert found[np.argmax(times)] == found.max()


@given(TIMES, st.floats(1e-3, 1e3))
def test_a_spread_has_no_unit(times: list[float], factor: float) -> None:
    one, other = effects.spread(times), effects.spread([factor * time for time in times])
    assert other.percent == pytest.approx(one.percent, rel=1e-6, abs=1e-9)
    assert other.cv_percent == pytest.approx(one.cv_percent, rel=1e-6, abs=1e-6)
    assert one.percent == pytest.approx(100 * (max(times) / min(times) - 1), rel=1e-9, abs=1e-9)
    if min(times) < max(times):
        relative = 100 * statistics.stdev(times) / statistics.fmean(times)
        assert one.cv_percent == pytest.approx(relative, rel=1e-6)


@pytest.mark.parametrize("times", [[], [1.0, 0.0], [1.0, -1.0], [1.0, float("nan")]])
def test_what_is_no_run_time_is_refused(times: list[float]) -> None:
    with pytest.raises(ValueError):
        effects.normalised(times)


def test_one_trial_has_no_spread() -> None:
    with pytest.raises(ValueError):
        effects.spread([1e-6])


def test_a_cell_takes_medians_of_launches_and_compares_with_every_scheme() -> None:
    launches = [[1.0, 1.0, 9.0], [1.1, 1.0, 1.2]]
    found = effects.spread_of_cell(
        "MPI_Bcast", 4, 64, launches, {"each": [2.0, 2.6], "series": [1.0, 1.3]}
    )
    assert found.ours.seconds == [1.0, 1.1]
    assert found.ours_mean.seconds == pytest.approx([11 / 3, 1.1])
    assert found.plain["series"].percent == pytest.approx(30)
    assert found.smaller
    tied = effects.spread_of_cell(
        "MPI_Bcast", 4, 64, launches, {"each": [2.0, 9.0], "series": [1.0, 1.1]}
    )
    assert not tied.smaller
    assert tied.ours.percent < tied.plain["each"].percent


def test_skampi_stops_when_its_error_is_small_and_drops_a_quarter_at_both_ends() -> None:
    quiet = [9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.1]
    assert effects.skampi_result([1.0] * 8 + [50.0] * 25) == 1.0
    # The error of the first batch is half of its mean: it goes on, and takes the middle 16 of 32.
    assert effects.skampi_result(quiet + [1.0] * 24) == 1.0
    rising = [float(number) for number in range(1, 34)]
    # Of the first 8, 16, 24, 32 numbers the error is 0.19, 0.14, 0.12, 0.1005 of the mean.
    assert effects.skampi_result(rising) == 17.0
    assert effects.skampi_result([3.0, 5.0]) == 4.0
    assert effects.skampi_result([3.0]) == effects.skampi_result([]) == 0.0


def test_repetitions_of_the_plain_schemes_are_those_of_imb() -> None:
    """IMB's table: 1000 up to 32 KiB, 640 at 64 KiB, 320 at 128 KiB, 40 at 1 MiB, 10 at 4 MiB."""
    sizes = [1, 32768, 65536, 131072, 2**20, 2**22, 2**30]
    assert [effects.plain_repetitions(size) for size in sizes] == [1000, 1000, 640, 320, 40, 10, 1]
