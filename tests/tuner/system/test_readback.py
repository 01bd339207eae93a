"""Ranks that are not where they were asked to be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.system import machine
from plumbline.system.placement import Placement, mismatch, units
from plumbline_db.probe_records import Header
from tests.db import build

# Two sockets with two cores of two hardware threads each; a NUMA node a socket.
DOMAINS = {
    "core": [frozenset({0, 4}), frozenset({1, 5}), frozenset({2, 6}), frozenset({3, 7})],
    "socket": [frozenset({0, 1, 4, 5}), frozenset({2, 3, 6, 7})],
    "numa": [frozenset({0, 1, 4, 5}), frozenset({2, 3, 6, 7})],
}


def header(*binding: str, nodes: int = 1, oversubscribed: bool = False) -> Header:
    return msgspec.structs.replace(
        build.header(build.run(), 1),
        nprocs=len(binding),
        nodes=nodes,
        ppn=len(binding) // nodes,
        hosts=[f"host{node}" for node in range(nodes)],
        processing_units=8,
        oversubscribed=oversubscribed,
        binding=list(binding),
    )


def test_lists_of_processing_units() -> None:
    assert units("0-2,5") == {0, 1, 2, 5}
    assert units("3\n") == {3}
    assert units("") == units("0-") == frozenset()


@pytest.mark.parametrize(
    ("bind", "binding", "wrong"),
    [
        ("", ("0-7", "0"), ""),
        ("plain", ("0-7", "0"), ""),
        ("core", ("0,4", "1"), ""),
        ("core", ("0,4", "0-1,4-5"), "rank 1 may run on 0-1,4-5, though bind = core"),
        ("socket", ("0-1,4-5", "2-3,6-7"), ""),
        ("socket", ("0,4", "0-7"), "rank 1 may run on 0-7, though bind = socket"),
        ("numa", ("0-7", "2"), "rank 0 may run on 0-7, though bind = numa"),
        ("none", ("0-7", "0-7"), ""),
        ("none", ("0-7", "0,4"), "rank 1 is bound to 0,4, though bind = none"),
        ("core", ("", ""), ""),  # not known
    ],
)
def test_bindings(bind: str, binding: tuple[str, ...], wrong: str) -> None:
    found = mismatch(header(*binding), Placement(nodes=1, ppn=2, bind=bind), DOMAINS)
    assert found.startswith(wrong) and bool(found) == bool(wrong)


def test_a_machine_that_does_not_say_what_its_cores_are() -> None:
    assert mismatch(header("0-7", "0-7"), Placement(nodes=1, ppn=2, bind="core"), {}) == ""


def test_nodes() -> None:
    two = Placement(nodes=2, ppn=2)
    assert mismatch(header("0", "0", "0", "0", nodes=2), two, {}) == ""
    found = mismatch(header("0", "0", "0", "0"), two, {})
    assert found.startswith("2 nodes with 2 ranks each were asked for, the ranks are on 1 node")
    crowded = header("0", "0", "0", "0", nodes=2, oversubscribed=True)
    assert "8 processing units, fewer than it" in mismatch(crowded, two, {})


def test_domains_of_a_machine(tmp_path: Path) -> None:
    for number, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        folder = tmp_path / f"cpu/cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(siblings + "\n")
        (folder / "core_siblings_list").write_text("0-3\n")
    (tmp_path / "cpu/cpufreq").mkdir()
    assert machine.domains(tmp_path) == {
        "core": [frozenset({0, 2}), frozenset({1, 3})],
        "socket": [frozenset({0, 1, 2, 3})],
        "numa": [],
    }
    here = machine.domains()
    assert all(one <= set(range(4096)) for sets in here.values() for one in sets)
