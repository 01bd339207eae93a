"""What launches of two arms in turn say of cells."""

from __future__ import annotations

import math

import pytest

from plumbline.measure.comparison import REFERENCE_CELLS, ratios_in_turn, without_shared_factor


def test_log_ratios_are_of_what_all_launches_have() -> None:
    ours = {"both": [2.0, 6.0], "lost": [1.0]}
    theirs = {"both": [1.0, 2.0], "lost": [1.0, 1.0], "short": [1.0]}
    found, lost = ratios_in_turn(ours, theirs, ["both", "lost", "short", "none"])
    assert found == {"both": [math.log(2), math.log(3)]}
    assert lost == ["lost"]


@pytest.mark.parametrize("few", [False, True])
def test_what_a_turn_shares_is_taken_off(few: bool) -> None:
    """With too few references nothing is."""
    references = [[0.1, -0.2]] * (REFERENCE_CELLS - few)
    found = without_shared_factor({"cell": [0.4, 0.1]}, references)
    assert found["cell"] == pytest.approx([0.4, 0.1] if few else [0.3, 0.3])
