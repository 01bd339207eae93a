"""The bench of the search: what it records comes back, and what it computes is right on a machine
that is written down by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.search.store import Recorded, Store, Timed


def launch(name: str, ns: int) -> Recorded:
    case = Timed("MPI_Bcast", 64, "default", {}, "ok", "", [[ns, ns + 1]])
    return Recorded(name, {"smpi/bcast": "NTSL"}, [], None, 1.5, 3000, 2000, [case])


def test_a_store_gives_back_what_it_got(tmp_path: Path) -> None:
    store = Store("one", tmp_path)
    store.add(launch("a", 1))
    store.add(launch("b", 2))
    again = Store("one", tmp_path)
    assert again.launches == [launch("a", 1), launch("b", 2)]
    assert again.has("b") and not again.has("c")


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_store_forgets_a_launch_that_is_half_written(tmp_path: Path, cut: int) -> None:
    store = Store("one", tmp_path)
    store.add(launch("a", 1))
    whole = store.path.stat().st_size
    store.add(launch("b", 2))
    data = store.path.read_bytes()
    store.path.write_bytes(data[:-cut])
    again = Store("one", tmp_path)
    assert [one.name for one in again.launches] == ["a"]
    assert store.path.stat().st_size == whole
    again.add(launch("c", 3))
    assert [one.name for one in Store("one", tmp_path).launches] == ["a", "c"]
