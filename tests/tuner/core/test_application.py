"""Records of applications: reading them, what their cells weigh, what they save; numbers of ranks,
read off command lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.application import (
    Calls,
    alike,
    heaviest,
    nearest,
    require,
    shapes,
    way,
    weights,
    worth,
    write,
)
from plumbline.core.cell import Target
from plumbline.core.profile_file import read
from plumbline_db.errors import UsageError
from tests.tuner.applications import application, calls, written

MIXED = application(
    calls("MPI_Allreduce", 8, 1000, 5e-6, waiting=200),  # 1 s, 5 ms of it work
    calls("MPI_Alltoall", 65536, 10, 1e-3),  # 10 ms of work
    calls("MPI_Alltoall", 60000, 5, 1e-3),
    calls("MPI_Bcast", 100, 1, 1e-6),
    calls("MPI_Barrier", 0, 100, 1e-5),
    calls("MPI_Bcast", 1024, 1000, 1e-3, nprocs=2),
    calls("MPI_Bcast", None, 1000, 1e-3, nprocs=2, nodes=None),
)


def test_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write(path, MIXED)
    assert read(path) == MIXED
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]
    found = json.loads(path.read_text())
    assert (found["record"], found["schema"]) == ("application", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema"),
        ({"record": "header"}, "record"),
        ({"surprise": 1}, "surprise"),
        ({"nprocs": "4"}, "nprocs"),
        ({"calls": [{"function": "MPI_Bcast"}]}, "nprocs"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = written(tmp_path, *MIXED.calls)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UsageError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_numbers_that_no_run_has(tmp_path: Path) -> None:
    path = written(tmp_path, calls("MPI_Bcast", 8, -1, 1e-6))
    with pytest.raises(UsageError, match=r"calls\[0\]"):
        read(path)
    with pytest.raises(UsageError, match="cannot read"):
        read(tmp_path / "none")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="profile"):
        read(path)


def test_waiting_is_no_work() -> None:
    """Of a second in Allreduce only five milliseconds are there to be saved."""
    sizes = {"MPI_Allreduce": [8], "MPI_Alltoall": [16384, 65536], "MPI_Bcast": [64, 1024]}
    found = weights(MIXED, 4, 1, sizes)
    whole = 5e-3 + 15e-3 + 1e-6 + 1e-3
    assert found == {
        ("MPI_Allreduce", 8): pytest.approx(5e-3 / whole),
        ("MPI_Alltoall", 16384): 0.0,
        ("MPI_Alltoall", 65536): pytest.approx(15e-3 / whole),  # 60000 is near
        ("MPI_Bcast", 64): pytest.approx(1e-6 / whole),
        ("MPI_Bcast", 1024): 0.0,
    }
    assert sum(found.values()) < 1  # Barrier has no size to be tuned at


def test_sizes_are_those_that_matter() -> None:
    assert MIXED.sizes("MPI_Alltoall", 4, 1) == [60000, 65536]
    assert MIXED.sizes("MPI_Barrier", 4, 1) == []
    assert MIXED.sizes("MPI_Bcast", 2, 1) == [1024]
    assert MIXED.functions(4, 1) == ["MPI_Allreduce", "MPI_Alltoall", "MPI_Bcast"]
    many = application(*(calls("MPI_Bcast", 8 * n, 1, 1e-6 * n) for n in range(1, 100)))
    assert many.sizes("MPI_Bcast", 4, 1) == [8 * n for n in range(79, 100)]
    tail = application(calls("MPI_Bcast", 8, 1000, 1e-3), calls("MPI_Bcast", 16, 1, 1e-3))
    assert tail.sizes("MPI_Bcast", 4, 1) == [8]


def test_other_communicators_are_named() -> None:
    require(MIXED, 4, 1)
    with pytest.raises(UsageError, match=r"no calls .* of 8 ranks on 1 node; it has") as caught:
        require(MIXED, 8, 1)
    assert "49% on 2 ranks on 1 node," in str(caught.value)
    with pytest.raises(UsageError):
        require(MIXED, 4, 2)
    assert [name for name, _ in shapes(MIXED)] == [
        "2 ranks on 1 node",
        "2 ranks of two groups",
        "4 ranks on 1 node",
    ]


def test_what_the_probe_does_not_measure_is_left_out() -> None:
    names = ("MPI_Alltoallv", "MPI_Alltoallw", "MPI_Neighbor_alltoall")
    found = application(*(calls(name, 8, 10, 1e-3) for name in names))
    assert found.functions(4, 1) == ["MPI_Alltoallv"]


@pytest.mark.parametrize(
    ("wanted", "size"),
    [(90, 64), (91, 128), (64, 64), (181, 128), (182, 256), (31, None), (0, None)],
)
def test_nearest(wanted: int, size: int | None) -> None:
    assert nearest(wanted, [64, 128, 256]) == size
    assert nearest(wanted, []) is None


def test_what_is_worth_a_search() -> None:
    targets = [Target("MPI_Bcast", size) for size in (1, 2, 3, 4, 5)]
    assert worth(targets, None) == targets
    found = {("MPI_Bcast", 1): 0.0, ("MPI_Bcast", 2): 0.3, ("MPI_Bcast", 3): 0.695}
    found |= {("MPI_Bcast", 4): 0.004, ("MPI_Bcast", 5): 0.001}
    assert [one.bytes for one in worth(targets, found)] == [3, 2]
    assert worth(targets, dict.fromkeys(found, 0.0)) == []


shares = st.dictionaries(st.integers(0, 30), st.floats(0, 1e6, allow_subnormal=False), max_size=12)


@given(shares)
def test_the_heaviest_make_up_most(work: dict[int, float]) -> None:
    found = heaviest(work)
    whole = sum(work.values())
    assert len(set(found)) == len(found)
    assert sum(work[key] for key in found) >= 0.989 * whole
    assert [work[key] for key in found] == sorted((work[key] for key in found), reverse=True)
    if found:  # none of them could be spared
        assert sum(work[key] for key in found[:-1]) < 0.99 * whole


@given(st.integers(1, 2**40), st.sets(st.integers(1, 2**40), max_size=8))
def test_the_nearest_is_within_reach(wanted: int, sizes: set[int]) -> None:
    found = nearest(wanted, sizes)
    if found is None:
        assert all(size > 2 * wanted or 2 * size < wanted for size in sizes)
    else:
        assert all(
            max(found, wanted) / min(found, wanted)
            <= max(size, wanted) / min(size, wanted) * 1.000001
            for size in sizes
        )


def test_calls_are_measured_as_the_application_makes_them() -> None:
    """The first call that asks for a datatype, a count shape or a way of use decides."""

    def of(function: str, following: float = 0.0, spread: float | None = None, **own: str) -> Calls:
        made = calls(function, 64, 100.0, 1e-6)
        return msgspec.structs.replace(made, following=following, spread_seconds=spread, **own)

    bcast = of("MPI_Bcast", type="MPI_DOUBLE", counts="")
    doubles = of("MPI_Allreduce", following=60.0, type="MPI_DOUBLE")
    integers = of("MPI_Reduce", type="MPI_INT")
    uneven = of("MPI_Gatherv", spread=1e-3, counts="last")
    late = of("MPI_Alltoall", spread=1e-3, counts="linear")
    assert way([bcast]) == {} and way([of("MPI_Scan", type="derived", spread=1e-9)]) == {}
    assert way([uneven]) == {"counts": "last", "use": "loop"}
    assert way([late]) == {"use": "loop"}
    every = [bcast, doubles, integers, uneven, late]
    assert way(every) == {"type": "MPI_DOUBLE", "use": "stream", "counts": "last"}
    assert alike(every) == [bcast, doubles]
    assert alike(every[2:]) == [integers, uneven, late]
