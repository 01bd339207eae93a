"""Which cells are measured: in the ranges of winners alone, with whole elements and blocks."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from plumbline.check.programs import ProgramCell, Wanted, cells, place_of, powers, volume, whole
from plumbline.core.plan import COUNT_SHAPES, Data
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner
from tests.db import build

BYTES = Data("MPI_BYTE", "MPI_BOR")
REDUCED = {("MPI_BYTE", "MPI_BOR"), ("MPI_DOUBLE", "MPI_SUM"), ("MPI_FLOAT", "MPI_SUM")}
SIZES = {"MPI_Allreduce": [8, 1024, 4096, 16384], "MPI_Gather": [4, 1000, 4096]}


def sizes_of(found: list[ProgramCell], type: str) -> list[int]:
    return [cell.bytes for cell in found if cell.type == type]


def test_measured_sizes_and_odd_ones_between() -> None:
    winner = build.winner(bytes_from=1000, bytes_to=20000)
    found = cells([winner], SIZES, 4, BYTES)
    # The geometric means of 1000, 1024, 4096, 16384 and 20000, made odd.
    assert sizes_of(found, "MPI_BYTE") == [1013, 1024, 2049, 4096, 8193, 16384, 18103]
    doubles = sizes_of(found, "MPI_DOUBLE")
    assert {1024, 4096, 16384} < set(doubles)
    assert all(size % 8 == 0 for size in doubles)
    assert all(size // 8 % 2 for size in doubles if size not in (1024, 4096, 16384))
    assert {(cell.type, cell.op) for cell in found} == REDUCED


def test_a_rule_for_one_class_of_types_is_seen_with_these() -> None:
    doubles = Data("MPI_DOUBLE", "MPI_SUM")
    winner = build.winner(restrictions=["commutative", "type=floating"], variant="allreduce_ring")
    found = cells([winner], SIZES, 4, doubles)
    assert {cell.type for cell in found} == {"MPI_DOUBLE", "MPI_FLOAT"}
    asked = ProgramCell("MPI_Allreduce", winner.bytes_from)
    assert place_of([winner], asked) is None  # who does not say what is sent


def test_blocks_are_whole_and_data_are_bytes_and_doubles() -> None:
    winner = build.winner(function="MPI_Gather", bytes_from=0, bytes_to=UNBOUNDED_BYTES)
    every = cells([winner], SIZES, 4, BYTES)
    assert {(cell.type, cell.op) for cell in every} == {("MPI_BYTE", ""), ("MPI_DOUBLE", "")}
    assert all(cell.bytes % 32 == 0 for cell in every if cell.type == "MPI_DOUBLE")
    found = [cell for cell in every if cell.type == "MPI_BYTE"]
    assert [cell.bytes for cell in found] == [4, 68, 1000, 2028, 4096]
    assert all(cell.bytes // 4 % 2 for cell in found if cell.bytes in (68, 2028))


SHARED = {"MPI_Reduce_scatter": [64, 4096], "MPI_Scatterv": [64, 4096]}


def test_functions_with_counts_are_called_in_all_count_shapes() -> None:
    winners = [
        build.winner(function=function, bytes_from=0, bytes_to=UNBOUNDED_BYTES)
        for function in SHARED
    ]
    found = cells(winners, SHARED, 4, BYTES)
    for function, measured in SHARED.items():
        mine = [cell for cell in found if (cell.function, cell.type) == (function, "MPI_BYTE")]
        equal = {cell.bytes for cell in mine if cell.counts == "equal"}
        assert equal > set(measured)
        shapes = {(cell.bytes, cell.counts) for cell in mine}
        assert shapes == {(size, counts) for size in equal for counts in COUNT_SHAPES}
    assert {cell.counts for cell in found if cell.type != "MPI_BYTE"} == {"equal"}
    assert "MPI_Scatterv 64 B MPI_BYTE counts=last" in {cell.words() for cell in found}


def test_a_rule_for_equal_counts_is_seen_with_these() -> None:
    winner = build.winner(
        function="MPI_Reduce_scatter",
        restrictions=["counts=equal"],
        variant="reduce_scatter_ring",
        bytes_from=0,
        bytes_to=UNBOUNDED_BYTES,
    )
    found = cells([winner], SHARED, 4, BYTES)
    assert {cell.counts for cell in found} == {"equal"}
    asked = ProgramCell("MPI_Reduce_scatter", 64, "MPI_BYTE", "MPI_BOR")
    assert place_of([winner], asked) == 0
    assert place_of([winner], msgspec.structs.replace(asked, counts="last")) is None


def test_a_size_that_rounds_up_out_of_the_range_is_none() -> None:
    winner = build.winner(bytes_from=5, bytes_to=9)
    found = cells([winner], {"MPI_Allreduce": [6]}, 4, Data("MPI_DOUBLE", "MPI_SUM"))
    assert {(cell.type, cell.bytes) for cell in found} == {
        *(("MPI_BYTE", size) for size in (6, 7)),
        *((type, 8) for type in ("MPI_DOUBLE", "MPI_FLOAT")),
    }


def test_nothing_where_no_winner_is() -> None:
    assert cells([build.winner(function="MPI_Scan")], SIZES, 4, BYTES) == []
    assert cells([build.winner(bytes_from=21, bytes_to=21)], SIZES, 4, BYTES) == []


def test_what_holds_for_the_process_is_seen_in_every_function() -> None:
    process = build.winner(function=EVERY_FUNCTION, bytes_from=0, bytes_to=UNBOUNDED_BYTES)
    own = build.winner(bytes_from=4096, bytes_to=4096)
    found = cells([process, own], SIZES, 4, BYTES)
    assert {place_of([process, own], cell) for cell in found} == {0, 1}
    assert place_of([process, own], ProgramCell("MPI_Allreduce", 4096)) == 1
    assert sizes_of(found, "MPI_BYTE").count(1024) == 1
    assert ProgramCell("MPI_Gather", 1000, "MPI_BYTE") in found
    assert not any(cell.bytes in (2028, 2049) for cell in found)  # nothing between


def test_barrier_has_one_size() -> None:
    winner = build.winner(function="MPI_Barrier", bytes_from=0, bytes_to=UNBOUNDED_BYTES)
    assert cells([winner], {"MPI_Barrier": [0]}, 4, BYTES) == [
        ProgramCell("MPI_Barrier", 0, "MPI_BYTE")
    ]


@given(
    low=st.integers(0, 5000),
    length=st.integers(0, 200000),
    nprocs=st.integers(1, 9),
    function=st.sampled_from(["MPI_Allreduce", "MPI_Gather", "MPI_Reduce_scatter_block"]),
)
def test_every_cell_is_a_winner_s_and_whole(
    low: int, length: int, nprocs: int, function: str
) -> None:
    winner = build.winner(function=function, bytes_from=low, bytes_to=low + length)
    sizes = {function: [1, 100, 1024, 5000, 102400]}
    for cell in cells([winner], sizes, nprocs, BYTES):
        assert low <= cell.bytes <= low + length
        width = {"MPI_BYTE": 1, "MPI_FLOAT": 4, "MPI_DOUBLE": 8}[cell.type]
        assert whole(function, cell.bytes, width, nprocs) == cell.bytes > 0


def wanted(*winners: Winner) -> Wanted:
    most = {one.function: 16384 for one in winners}
    return Wanted(winners=list(winners), cells=[], nprocs=4, root=0, most=most)


def test_sizes_of_other_programs_are_vectors_or_blocks() -> None:
    none: frozenset[str] = frozenset()
    assert volume("MPI_Allreduce", 64, 4, totals=none) == 64
    for function in ("MPI_Gather", "MPI_Alltoall", "MPI_Allgatherv", "MPI_Reduce_scatter"):
        assert volume(function, 64, 4, totals=none) == 256
    assert volume("MPI_Reduce_scatter", 64, 4, totals=frozenset({"MPI_Reduce_scatter"})) == 64
    blocks = frozenset({"MPI_Reduce_scatter_block"})
    assert volume("MPI_Reduce_scatter_block", 64, 3, totals=blocks) == 63


def test_powers_of_two_in_the_range() -> None:
    reduced = build.winner(bytes_from=5, bytes_to=UNBOUNDED_BYTES)
    assert list(powers("MPI_Allreduce", wanted(reduced), totals=frozenset())) == [
        1 << power for power in range(3, 15)
    ]
    gather = build.winner(function="MPI_Gather", bytes_from=30, bytes_to=300)
    assert list(powers("MPI_Gather", wanted(gather), totals=frozenset())) == [8, 16, 32, 64]
    narrow = build.winner(bytes_from=1100, bytes_to=1500)
    assert list(powers("MPI_Allreduce", wanted(narrow), totals=frozenset())) == []
