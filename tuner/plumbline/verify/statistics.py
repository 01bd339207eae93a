"""The tests by name, which say whether the left side is slower, by how much and how surely. Each
test is one file in significance/; its line in TESTS makes it known to every command."""

from __future__ import annotations

from plumbline.verify.significance import (
    brunner_munzel,
    kolmogorov_smirnov,
    rank_sum,
    signed_rank,
)
from plumbline.verify.significance.comparison import Test

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
    """*** for p ≤ 0.001, ** for p ≤ 0.01, * for p ≤ 0.05, else nothing (TPDS 2016, section 5.2)."""
    if not 0 <= p <= 1:
        raise ValueError(f"p is {p}, not between 0 and 1")
    return "*" * sum(p <= limit for limit in (0.05, 0.01, 0.001))
