"""Corrections against scipy and against the rule that they state."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from plumbline.verify.decision import adjusted_within, benjamini_hochberg

probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(probabilities)
def test_benjamini_hochberg_is_scipys(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p), abs=1e-12)


@given(st.floats(0.001, 1), probabilities, st.floats(0.001, 0.5))
def test_adjusted_within_is_the_rule(p: float, family: list[float], alpha: float) -> None:
    """Below α exactly when p is at most α R/m with R members selected at α."""
    selected = int((benjamini_hochberg(family) <= alpha).sum())
    adjusted = float(adjusted_within([p], family)[0])
    if abs(adjusted - alpha) > 1e-9 and alpha < 1:
        assert (adjusted < alpha) == (p <= alpha * selected / len(family))


def test_empty_family() -> None:
    assert len(benjamini_hochberg([])) == 0


@given(probabilities, st.data())
def test_where_no_p_grows_no_adjusted_p_does(p: list[float], data: st.DataObject) -> None:
    """What was rejected at one look of a table is rejected at all later ones."""
    smaller = [data.draw(st.floats(0, each)) for each in p]
    assert (benjamini_hochberg(smaller) <= benjamini_hochberg(p) + 1e-12).all()


def test_what_is_no_probability_is_refused() -> None:
    for bad in (math.nan, -0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            benjamini_hochberg(np.array([0.1, bad]))
