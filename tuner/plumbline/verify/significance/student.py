"""Student's t test of launches that are paired, for few launches and many cells: a test by ranks
has no p as small as a correction for the cells needs, however much slower a side is. It takes log
ratios for normal. Source: Student, Biometrika 6 (1908)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plumbline.verify.significance import distributions
from plumbline.verify.significance.comparison import (
    TIE_DIGITS,
    Alternative,
    Comparison,
    Test,
    of_tails,
    paired_logarithms,
    ratio_of,
)
from plumbline.verify.significance.moderated import NO_POOL, moderated_mean
from plumbline.verify.significance.signed_rank import paired_ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROUNDING = 10.0**-TIE_DIGITS  # a smaller standard error is none


def student(
    left: ArrayLike,
    right: ArrayLike,
    alternative: Alternative = "greater",
    confidence: float = 0.95,
) -> Comparison:
    """Compare times: left[i] and right[i] come from the same launch. The ratio is that of the mean
    of the log ratios, trimmed from ten launches on. A single launch has no interval, and p is 1."""
    log_ratios = paired_logarithms(left, right)
    if len(log_ratios) < 2 or not log_ratios.any():
        return paired_ratio(log_ratios, confidence, alternative)
    centre, error, freedom = moderated_mean(log_ratios.tolist(), NO_POOL)
    error = max(error, _ROUNDING)
    half = error * distributions.student_quantile(freedom, (1 + confidence) / 2)
    t = centre / error
    p = of_tails(
        distributions.student_above(freedom, t),
        distributions.student_below(freedom, t),
        alternative,
    )
    low, high = ratio_of(centre - half), ratio_of(centre + half)
    return Comparison(ratio_of(centre), low, high, p, len(log_ratios), "", freedom)


TEST = Test("student", True, student)
