"""Values of knobs, compared by what they set, and names of variants with parameters."""

from __future__ import annotations

import pytest

from plumbline.core.configuration import AS_IT_IS, Configuration


def test_order_does_not_matter() -> None:
    assert Configuration.of({"b": "2", "a": "1"}) == Configuration.of({"a": "1", "b": "2"})
    assert hash(Configuration.of({"b": "2", "a": "1"})) == hash(
        Configuration.of({"a": "1", "b": "2"})
    )
    assert str(Configuration.of({"b": "2", "a": "1"})) == "a=1 b=2"


def test_the_empty_one_is_the_library_as_it_is() -> None:
    assert not AS_IT_IS and Configuration.of({}) == AS_IT_IS and str(AS_IT_IS) == ""
    assert Configuration.of({"a": ""})  # an empty value is one


def test_values_by_knob() -> None:
    found = Configuration.of({"a": "1", "b": "2"})
    assert found["a"] == found.get("a") == "1" and found.get("c") == ""
    assert "b" in found and "c" not in found
    assert found.as_dict() == {"a": "1", "b": "2"}
    assert found.with_({"b": "3", "c": "4"}).as_dict() == {"a": "1", "b": "3", "c": "4"}
    with pytest.raises(KeyError):
        found["c"]
