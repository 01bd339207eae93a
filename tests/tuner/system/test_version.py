"""Version numbers are compared as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.system import version

NUMBERS = st.lists(st.integers(0, 99), min_size=1, max_size=4)


def text(fields: list[int]) -> str:
    return ".".join(map(str, fields))


@pytest.mark.parametrize(
    ("newer", "older"),
    [("4.1.10", "4.1.9"), ("5.0.0", "4.1.8"), ("5.0.0rc2", "4.1.8"), ("5", "4.9")],
)
def test_order(newer: str, older: str) -> None:
    assert version.at_least(newer, older)
    assert not version.at_least(older, newer)


@given(NUMBERS, NUMBERS)
def test_it_is_a_total_order(left: list[int], right: list[int]) -> None:
    one, other = text(left), text(right)
    assert version.at_least(one, other) or version.at_least(other, one)
    width = max(len(left), len(right))
    padded = [fields + [0] * (width - len(fields)) for fields in (left, right)]
    assert version.at_least(one, other) == (padded[0] >= padded[1])


@given(NUMBERS)
def test_zeros_at_the_end_say_nothing(fields: list[int]) -> None:
    assert version.key(text(fields)) == version.key(text([*fields, 0]))


@pytest.mark.parametrize("word", ["", "v4.1", "latest"])
def test_no_version_number(word: str) -> None:
    with pytest.raises(ValueError, match="not a version number"):
        version.key(word)
