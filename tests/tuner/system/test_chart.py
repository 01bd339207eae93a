"""Charts are drawn without a browser and without a network."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from plumbline.system import chart

SPEC = {
    "data": {"values": [{"x": 1, "y": 2}, {"x": 3, "y": 5}]},
    "mark": "point",
    "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y"}},
    "title": "two points",
}


def test_a_specification_becomes_svg() -> None:
    root = ElementTree.fromstring(chart.render(SPEC))
    assert root.tag.endswith("svg")
    assert "two points" in "".join(root.itertext())


def test_a_broken_specification_is_refused() -> None:
    with pytest.raises(ValueError):
        chart.render({"mark": "no such mark", "data": {"values": []}, "encoding": {"x": 3}})
