"""Settings of a comparison of two sides."""

from __future__ import annotations

from typing import Literal

import msgspec

from plumbline.verify.significance.comparison import Alternative


class How(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`test`: a name of TESTS, or auto. `alternative` is about the times of A: less means that A is
    faster. `average`: of the samples of a launch, after Tukey's filter if `outliers` says so."""

    test: str = "auto"
    alternative: Alternative = "two-sided"
    average: Literal["median", "mean"] = "median"
    outliers: Literal["keep", "tukey"] = "keep"
    alpha: float = 0.05
    confidence: float = 0.95
    all_variants: bool = False
