"""The statistics by name: tests that say whether the left side is slower, by how much and how
surely, and what is done with their p-values. Each test is one file in significance/; its line in
TESTS makes it known to every command.

Pure: arrays in, numbers out; no clock, file or database."""

from __future__ import annotations

from plumbline.verify.corrections import adjusted_within, benjamini_hochberg
from plumbline.verify.launch_averages import LaunchAverage, averages, tukey_filter
from plumbline.verify.significance import (
    brunner_munzel,
    kolmogorov_smirnov,
    rank_sum,
    signed_rank,
)
from plumbline.verify.significance.comparison import Alternative, Comparison, Test
from plumbline.verify.significance.exact import exact_ratio
from plumbline.verify.significance.moderated import moderated
from plumbline.verify.significance.signed_rank import paired_ratio, paired_shift

__all__ = [
    "DEFAULT_TEST",
    "TESTS",
    "Alternative",
    "Comparison",
    "LaunchAverage",
    "Test",
    "adjusted_within",
    "averages",
    "benjamini_hochberg",
    "exact_ratio",
    "moderated",
    "paired_ratio",
    "paired_shift",
    "stars",
    "tukey_filter",
]

TESTS: dict[str, Test] = {
    test.name: test
    for test in (
        signed_rank.TEST,
        rank_sum.TEST,
        kolmogorov_smirnov.TEST,
        brunner_munzel.TEST,
    )
}
DEFAULT_TEST = signed_rank.TEST.name


def stars(p: float) -> str:
    """*** for p ≤ 0.001, ** for p ≤ 0.01, * for p ≤ 0.05, else nothing (seed 002, section 5.2)."""
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}, not between 0 and 1")
    return "*" * sum(p <= limit for limit in (0.05, 0.01, 0.001))
