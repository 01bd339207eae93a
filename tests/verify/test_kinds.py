"""Which cells there are, and what each of them compares."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.cell import Side
from plumbline.core.guidelines import Pattern, load
from plumbline.core.plan import MESSAGE_FUNCTIONS_IN_BLOCKS, Data, part_bytes
from plumbline.verify import kinds
from plumbline.verify.index import Index, Obstacle
from plumbline_db.errors import UsageError
from plumbline_db.records import Medians
from tests.verify.simulated import MOCKUP, PAPER, medians

SIZES = [1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 1500, 2048, 4096, 5000, 8192, 10000]


def measured(
    function: str, sizes: list[int], variant: str = "default", ranks: int = 0
) -> list[Medians]:
    return [medians(function, n, [1e-6, 1e-6], variant=variant, ranks=ranks) for n in sizes]


def test_monotony_compares_adjacent_sizes() -> None:
    index = Index(measured("MPI_Bcast", [64, 1, 8]))
    found = kinds.monotony_cells(index, PAPER)
    assert [(c.bytes, c.candidates[0].right.bytes) for c in found] == [(1, 8), (8, 64)]
    assert {(c.guideline, c.function, c.tolerance) for c in found} == {("GL1", "MPI_Bcast", 0.0)}


def test_every_measured_function_is_checked_with_or_without_a_pattern() -> None:
    assert "MPI_Alltoall" not in PAPER.lhs_functions()
    index = Index(measured("MPI_Alltoall", [1, 2]) + measured("MPI_Barrier", [0]))
    assert [c.function for c in kinds.monotony_cells(index, PAPER)] == ["MPI_Alltoall"]
    assert [c.function for c in kinds.split_cells(index, PAPER)] == ["MPI_Alltoall"]
    assert kinds.pattern_cells(index, PAPER) == []


def test_split_tries_all_smaller_sizes_the_largest_first() -> None:
    index = Index(measured("MPI_Bcast", [0, 512, 1024, 1500, 2000]))
    found = {c.bytes: c for c in kinds.split_cells(index, PAPER)}
    assert sorted(found) == [1024, 1500, 2000]
    factors = [(c.right.bytes, c.factor) for c in found[2000].candidates]
    assert factors == [(1500, 2), (1024, 2), (512, 4)]
    assert found[2000].tolerance == PAPER.split.tolerance


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_multiple_is_the_smallest_that_covers(part: int, size: int) -> None:
    k = kinds.multiple(part, size)
    assert k * part >= size > (k - 1) * part


@given(st.sets(st.integers(1, 10**5), min_size=2, max_size=21))
def test_weights_of_a_cell_spend_the_error_once(sizes: set[int]) -> None:
    for cell in kinds.split_cells(Index(measured("MPI_Scan", list(sizes))), load()):
        assert sum(1 / c.weight for c in cell.candidates) == pytest.approx(1)
        ordered = sorted(cell.candidates, key=lambda c: c.factor)
        assert [c.weight for c in ordered] == sorted(c.weight for c in ordered)


def test_two_large_messages_cost_less_correction_than_plain_bonferroni() -> None:
    cell = kinds.split_cells(Index(measured("MPI_Scan", SIZES)), load())[-1]
    best = cell.candidates[0]
    assert (best.right.bytes, best.factor) == (8192, 2)
    assert best.weight < len(cell.candidates) / 3


def test_pattern_compares_with_the_mockup_at_the_same_size() -> None:
    index = Index(measured("MPI_Allreduce", [8, 16]) + measured("MPI_Allreduce", [16, 32], MOCKUP))
    gl12 = [c for c in kinds.pattern_cells(index, PAPER) if c.guideline == "GL12"]
    assert [c.bytes for c in gl12] == [8, 16, 32]
    for cell in gl12:
        (candidate,) = cell.candidates
        assert (candidate.left.variant, candidate.right.variant) == ("default", MOCKUP)
        assert candidate.left.bytes == candidate.right.bytes == cell.bytes
        assert cell.rhs == MOCKUP


def test_pieces_that_were_sent_are_the_right_side() -> None:
    """The family spends its error once: 1/w of both candidates add up to one, most for two pieces.
    Sizes without pieces have no test; a product does not stand in for a measurement."""
    cut = msgspec.structs.replace(PAPER.split, pieces=[2, 4])
    guidelines = msgspec.structs.replace(PAPER, split=cut)
    two, four = (cut.variant("MPI_Scan", k) for k in (2, 4))
    data = measured("MPI_Scan", [1, 1024, 4096])
    data += measured("MPI_Scan", [1024, 4096], two) + measured("MPI_Scan", [4096], four)
    found = {cell.bytes: cell for cell in kinds.split_cells(Index(data), guidelines)}
    assert sorted(found) == [1024, 4096]
    sides = [(c.left.bytes, c.right.variant, c.right.bytes) for c in found[4096].candidates]
    assert sides == [(4096, two, 4096), (4096, four, 4096)]
    assert [c.factor for c in found[4096].candidates] == [1, 1]
    assert [c.weight for c in found[4096].candidates] == [1.5, 3.0]
    assert [c.weight for c in found[1024].candidates] == [1.0]


def test_a_variant_may_be_the_left_side() -> None:
    wait = "bcast_as_ibcast_plus_wait"
    index = Index(measured("MPI_Bcast", [8]) + measured("MPI_Bcast", [8], wait))
    forward = next(each for each in load().patterns if each.variant == wait)
    backward = Pattern("X", "⪯ MPI_Bcast", "MPI_Bcast", "default", ["MPI_Bcast"], wait)
    both = msgspec.structs.replace(load(), patterns=[forward, backward])
    cells = kinds.pattern_cells(index, both)
    assert [(_lhs(cell), cell.rhs) for cell in cells] == [("default", wait), (wait, "MPI_Bcast")]
    assert [cell.candidates[0].right.variant for cell in cells] == [wait, "default"]


def _lhs(cell: kinds.Cell) -> str:
    return cell.candidates[0].left.variant


def test_fewer_ranks_against_all_of_them() -> None:
    """Four blocks of 3 bytes on all ranks, two on half of them; a vector is as long on both."""
    data = measured("MPI_Gather", [12]) + measured("MPI_Bcast", [12])
    data += measured("MPI_Gather", [6], ranks=2) + measured("MPI_Bcast", [12], ranks=2)
    found = kinds.rank_cells(Index(data, nprocs=4), load())
    sides = [(c.function, c.bytes, c.candidates[0].left, c.candidates[0].right) for c in found]
    assert sides == [
        (function, 12, Side(function, "default", part, 2), Side(function, "default", 12))
        for function, part in (("MPI_Bcast", 12), ("MPI_Gather", 6))
    ]
    assert {c.function for c in kinds.monotony_cells(Index(data, nprocs=4), load())} == set()


@given(
    st.integers(1, 10**6),
    st.integers(1, 50),
    st.integers(1, 50),
    st.sampled_from(["MPI_Alltoall", "MPI_Allgatherv", "MPI_Bcast"]),
)
def test_each_rank_keeps_its_counts(size: int, nprocs: int, ranks: int, function: str) -> None:
    """As the probe splits a volume (probes/measure/shape.c): equal blocks, padded; else as evenly
    as can be, the first ranks take one more."""
    ranks = min(ranks, nprocs)
    part = part_bytes(function, size, nprocs, ranks, Data("MPI_INT"))

    def counts(volume: int, over: int) -> list[int]:
        elements = -(-volume // 4)
        if function == "MPI_Bcast":
            return [elements] * over
        if function in MESSAGE_FUNCTIONS_IN_BLOCKS:
            return [-(-elements // over)] * over
        return [elements // over + (rank < elements % over) for rank in range(over)]

    assert counts(part, ranks) == counts(size, nprocs)[:ranks]


def test_candidates_of_a_search_are_no_subject_of_guidelines() -> None:
    knobs = {"coll_tuned_bcast_algorithm": "1"}
    assert Index([medians("MPI_Bcast", 8, [1e-6], knobs=knobs, config="c1")]).functions() == []


def test_an_obstacle_plans_a_size() -> None:
    index = Index(
        measured("MPI_Bcast", [1]), [Obstacle(Side("MPI_Bcast", "default", 2), "error: no memory")]
    )
    assert index.sizes("MPI_Bcast") == [1, 2]


def test_two_datatypes_in_one_table_are_refused() -> None:
    doubles = medians("MPI_Bcast", 8, [1e-6], type="MPI_DOUBLE", op="MPI_SUM")
    with pytest.raises(UsageError, match=r"MPI_Bcast .*MPI_BYTE.*MPI_DOUBLE"):
        Index([*measured("MPI_Bcast", [8]), doubles])


def test_one_launch_counts_once() -> None:
    twice = measured("MPI_Bcast", [8]) * 2
    with pytest.raises(ValueError, match="launch 0 is there twice"):
        Index(twice)
    with pytest.raises(ValueError, match="2 launches, 1 medians"):
        Index([Medians(twice[0].case, [0, 1], [1e-6])])


def test_later_launches_join_earlier_ones() -> None:
    later = medians("MPI_Bcast", 8, [2e-6, 2e-6], runs=[2, 3])
    index = Index([*measured("MPI_Bcast", [8]), later])
    assert [sorted(launches) for launches in index.seconds.values()] == [[0, 1, 2, 3]]


def test_a_kind_registers_once() -> None:
    assert [(k.name, k.letter) for k in kinds.all_kinds()] == [
        ("monotony", "m"),
        ("split", "s"),
        ("pattern", "p"),
        ("rank", "r"),
        ("overlap", "o"),
        ("nonblocking", "n"),
    ]
    with pytest.raises(ValueError, match=r"'monotony' .* is registered twice"):
        kinds.kind("monotony", letter="x", row="function")(kinds.monotony_cells)
