"""Pictures of topologies: what the levels are, which classes of pairs they have, and that whatever
else a record may hold is no picture."""

from __future__ import annotations

import xml.etree.ElementTree

import pytest

from plumbline.pages.svg import TopologyLevel, drawn, parse
from plumbline_db.hockney import Hockney
from tests.tuner.pages.site import TOPOLOGY

LAPTOP = "Package:1 [NUMANode(memory=16871809024)] L3Cache:1(size=33554432) L2Cache:2 Core:1 PU:1"
NEAR = Hockney("same_core", 1, 0, 2048, 3e-7, None, None, 2e-10, None, None, 0.01, 6)


def test_levels_are_those_of_hwloc() -> None:
    assert parse(LAPTOP) == [
        TopologyLevel("machine", 1),
        TopologyLevel("package", 1, memory=16871809024),
        TopologyLevel("l3cache", 1, 33554432),
        TopologyLevel("l2cache", 2),
        TopologyLevel("core", 1),
        TopologyLevel("pu", 1),
    ]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (LAPTOP, ["same_cache"]),
        ("Package:1 Core:1 PU:1", []),
        ("Package:2 L3Cache:1(size=8) Core:4 PU:2", ["same_core", "same_cache", "other_socket"]),
        ("[NUMANode] Core:4 PU:1", ["same_socket"]),
        ("Package:1 Die:2 [NUMANode] [NUMANode] Core:2 PU:1", ["same_socket", "other_numa"]),
        (TOPOLOGY, ["same_core", "same_cache", "same_socket", "other_numa", "other_socket"]),
    ],
)
def test_classes_are_those_of_the_probe(text: str, pairs: list[str]) -> None:
    """Classes are listed from near to far, and each number is in the picture."""
    picture = drawn(text, [])
    assert picture is not None
    assert [each.pair for each in picture.classes] == pairs
    assert [each.number for each in picture.classes] == list(range(1, len(pairs) + 1))
    texts = xml.etree.ElementTree.fromstring(picture.picture).iter("text")
    words = [text.text for text in texts]
    assert all(str(each.number) in words for each in picture.classes)
    assert str(len(pairs) + 1) not in words
    assert words.count("here") == 1


def test_measured_classes_have_their_numbers() -> None:
    """Lines of small and of large messages; a class that is not of this host has no number."""
    large = Hockney("same_core", 2, 4096, 65536, 2e-6, None, None, 5e-11, None, None, 0.01, 6)
    away = Hockney("other_node", 0, 0, 65536, 3e-6, None, None, 0.0, None, None, 0.01, 6)
    picture = drawn("Package:1 Core:2 PU:2", [NEAR, large, away])
    assert picture is not None
    core, socket, node = picture.classes
    assert (core.latency_seconds, core.bytes_per_second) == (3e-7, 2e10)
    assert (socket.pair, socket.latency_seconds) == ("same_socket", None)
    assert (node.number, node.latency_seconds, node.bytes_per_second) == (None, 3e-6, None)


@pytest.mark.parametrize(
    "text",
    [
        *("", "not known", "Package:2", "Package:0 PU:2", "PU:99999999", "<b>:2 PU:1"),
        "Package:2 " * 20 + "PU:1",
    ],
)
def test_anything_else_is_no_picture(text: str) -> None:
    assert drawn(text, [NEAR]) is None
