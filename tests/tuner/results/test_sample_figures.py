"""Figures of samples against what is known of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plumbline.results import sample_figures as figures
from plumbline.system import chart

RANDOM = np.random.default_rng(7)


def test_a_density_has_the_peaks_of_its_samples() -> None:
    """Two peaks as in the paper, four to one; the area is that of all samples but the largest."""
    samples = np.concatenate([RANDOM.normal(100, 2, 4000), RANDOM.normal(130, 2, 1000)])
    places, heights = map(np.array, zip(*figures.density(samples.tolist()), strict=True))
    assert np.all(np.diff(places) > 0) and heights.min() >= 0
    left, right = places < 115, places >= 115
    assert places[left][heights[left].argmax()] == pytest.approx(100, abs=1.5)
    assert places[right][heights[right].argmax()] == pytest.approx(130, abs=1.5)
    assert heights[left].max() / heights[right].max() == pytest.approx(4, rel=0.15)
    assert heights.sum() * (places[1] - places[0]) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("samples", [[5.0], [5.0, 5.0, 5.0], [5.0, 5.0, 5.0, 9.0]])
@pytest.mark.filterwarnings("error")
def test_equal_samples_have_a_density(samples: list[float]) -> None:
    assert all(np.isfinite(height) for _, height in figures.density(samples))


def test_means_of_more_samples_are_closer_to_normal() -> None:
    """One sample in a hundred is ten times as long: means of 30 are not normal, of 500 nearly."""
    samples = np.where(RANDOM.random(10_000) < 0.01, 1000.0, RANDOM.normal(100, 5, 10_000))

    def furthest(size: int) -> float:
        return max(abs(normal - mean) for normal, mean in figures.sample_means(samples, size))

    assert furthest(30) > 1.5 * furthest(500)
    normal, means = zip(*figures.sample_means(samples, 30), strict=True)
    assert len(means) == figures.DRAWN_SAMPLES
    assert list(normal) == sorted(normal) and list(means) == sorted(means)
    assert figures.sample_means(samples, 30) == figures.sample_means(samples, 30)


def test_the_interval_of_a_launch_is_student_s() -> None:
    """The numbers are computed by hand: mean 12, standard deviation sqrt(2.5), t(4) = 2.776."""
    mean, low, high = figures.mean_of_launch(np.array([10, 11, 12, 13, 14]))
    assert (mean, high - mean) == (12, pytest.approx(2.776445 * (2.5 / 5) ** 0.5))
    assert mean - low == pytest.approx(high - mean)
    outlier = figures.mean_of_launch(np.array([10, 11, 12, 13, 14, 9000]))
    assert outlier == pytest.approx((mean, low, high))
    assert figures.mean_of_launch(np.array([3])) == (3, 3, 3)


def test_the_course_is_that_of_the_measurement() -> None:
    """Times that drift by a tenth over two launches do so in the bins."""
    times = np.linspace(1000, 1100, 1000).astype(np.int64)
    bins = figures.course([times[:500], times[500:]])
    assert len(bins) == figures.BINS and bins[-1][0] == 1000
    assert [mean for _, mean, _ in bins] == sorted(mean for _, mean, _ in bins)
    assert bins[0][1] == pytest.approx(1001, abs=1) and bins[-1][2] == pytest.approx(1099, abs=1)


def test_all_panels_are_drawn() -> None:
    launches = [RANDOM.integers(900, 1100, 40) for _ in range(3)]
    variants = {f"variant {number}": launches for number in range(figures.MOST_VARIANTS + 1)}
    svg = chart.drawn(figures.specification(variants, "a cell"), Path("a.svg")).decode()
    for words in ("Density of all run times", "means of 500", "Mean of each launch", "over time"):
        assert words in svg
    assert "variant 3" in svg and "variant 4" not in svg


def test_levels_are_drawn_for_each_size_without_launches_far_away() -> None:
    launches = [RANDOM.integers(900, 1100, 40) for _ in range(12)]
    levels = {"warm": launches, "cold": [*launches[:11], launches[11] * 1000]}
    specification = figures.of_levels({8: levels, 4096: levels}, "levels of cache")
    svg = chart.drawn(specification, Path("a.svg")).decode()
    for words in (
        "8 B",
        "4096 B",
        "Medians of launches",
        "warm",
        "cold",
        "means of 30",
        "launches",
    ):
        assert words in svg, words
    medians, means = (specification["hconcat"][0]["vconcat"][number] for number in (1, 2))
    low, high = medians["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert 0.8 < low < high < 1.2
    assert sum(row["variant"] == "cold" for row in means["data"]["values"]) == 11
