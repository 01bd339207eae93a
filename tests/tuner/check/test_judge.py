"""Which cells are measured, and what times mean: planted ratios in planted noise."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.campaign.circumstances import REDUCED
from plumbline.check import judge
from plumbline.check.cells import ProgramCell, cells, place_of, whole
from plumbline.check.judge import Times
from plumbline.check.programs import Reading, Wanted
from plumbline.check.sizes import powers, volume
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner
from tests.db import build

WINNERS = [build.winner(bytes_from=1000, bytes_to=4000), build.winner(bytes_from=8000)]
READINGS = [
    Reading(loop, ProgramCell("MPI_Allreduce", size, "MPI_BYTE", "MPI_BOR"))
    for loop in ("osu", "stream")
    for size in (1000, 2000, 4000, 16384)
]
ODD = READINGS[1]  # of the first winner, in osu


def times(ratios: dict[Reading, float], pairs: int = 9, seed: int = 1) -> Times:
    """Tuned takes so many times as long as plain; launches differ by more than that."""
    chance = random.Random(seed)
    found = Times(tuned=[], plain=[])
    for _ in range(pairs):
        for side, factor in ((found.tuned, 1), (found.plain, 0)):
            side.append(
                {
                    reading: 1e-5 * ratio**factor * chance.uniform(0.98, 1.02)
                    for reading, ratio in ratios.items()
                }
            )
    return found


def test_half_the_time_is_a_speed_up_of_two() -> None:
    logs = judge.log_ratios(times(dict.fromkeys(READINGS, 0.5)), WINNERS)
    assert judge.suspects(logs, WINNERS) == []
    found = judge.judge(logs, {}, WINNERS)
    assert {(one.winner, one.loop) for one in found.winners} == {
        (0, "osu"),
        (0, "stream"),
        (1, "osu"),
        (1, "stream"),
    }
    for one in found.winners:
        assert one.word == "faster" and one.slower == []
        assert one.seen.low is not None and one.seen.high is not None
        assert 1.9 < one.seen.low <= one.seen.speedup <= one.seen.high < 2.1
        assert one.seen.adjusted_p < 0.05
        assert one.cells == (3 if one.winner == 0 else 1)
    assert len(found.cells) == len(READINGS)


def test_one_slow_cell_makes_its_winner_slower_in_its_loop() -> None:
    ratios = dict.fromkeys(READINGS, 0.5) | {ODD: 1.2}
    logs = judge.log_ratios(times(ratios), WINNERS)
    assert judge.suspects(logs, WINNERS) == [ODD]
    again = judge.log_ratios(times({ODD: 1.2}, pairs=12, seed=2), WINNERS)
    found = judge.judge(logs, again, WINNERS)
    words = {(one.winner, one.loop): one.word for one in found.winners}
    assert words == {
        (0, "osu"): "slower",
        (0, "stream"): "faster",
        (1, "osu"): "faster",
        (1, "stream"): "faster",
    }
    slow = next(one for one in found.winners if one.word == "slower")
    assert slow.slower == [ODD.cell]
    assert slow.worst == ODD.cell and slow.worst_speedup == pytest.approx(1 / 1.2, rel=0.05)
    assert slow.seen.speedup > 1  # of the mean of its cells
    (cell,) = [one for one in found.cells if one.word == "slower"]
    assert cell.cell == ODD.cell and cell.again is not None and cell.again.pairs == 12


@pytest.mark.parametrize(("ratio", "word"), [(1.2, "slower"), (1.0, "unclear"), (0.5, "unclear")])
def test_what_is_slower_again_is_asked_a_third_time(ratio: float, word: str) -> None:
    logs = judge.log_ratios(times(dict.fromkeys(READINGS, 0.5) | {ODD: 1.2}), WINNERS)
    again = judge.log_ratios(times({ODD: 1.2}, pairs=12, seed=2), WINNERS)
    assert judge.slower_again(logs, again, WINNERS) == [ODD]
    third = judge.log_ratios(times({ODD: ratio}, pairs=24, seed=3), WINNERS)
    found = judge.judge(logs, again, WINNERS, third)
    (cell,) = [one for one in found.cells if Reading(one.loop, one.cell) == ODD]
    assert cell.word == word and cell.again is not None and cell.again.pairs == 24
    assert [one.loop for one in found.winners if one.word == "slower"] == (
        ["osu"] if word == "slower" else []
    )


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_what_is_not_slower_again_is_not_slower(ratio: float) -> None:
    logs = judge.log_ratios(times(dict.fromkeys(READINGS, 0.5) | {ODD: 1.2}), WINNERS)
    again = judge.log_ratios(times({ODD: ratio}, pairs=12, seed=2), WINNERS)
    found = judge.judge(logs, again, WINNERS)
    assert not [one for one in found.cells if one.word == "slower"]
    assert {one.word for one in found.winners} == {"faster"}
    (cell,) = [one for one in found.cells if one.cell == ODD.cell and one.loop == "osu"]
    assert cell.word == "unclear" and cell.again is not None


def test_a_winner_that_is_slower_as_a_whole() -> None:
    """No cell of it may be sure, its mean is."""
    ratios = {reading: 0.5 if reading.cell.bytes > 4000 else 1.012 for reading in READINGS}
    logs = judge.log_ratios(times(ratios, pairs=12), WINNERS)
    slow = judge.suspects(logs, WINNERS)
    assert {one for one in READINGS if one.cell.bytes <= 4000 and one.loop == "osu"} <= set(slow)
    again = judge.log_ratios(times({one: 1.012 for one in slow}, pairs=30, seed=5), WINNERS)
    found = judge.judge(logs, again, WINNERS)
    first = next(one for one in found.winners if (one.winner, one.loop) == (0, "osu"))
    assert first.word == "slower" and first.again is not None
    third = judge.slower_again(logs, again, WINNERS)
    assert {one for one in slow if one.loop == "osu"} <= set(third)


def test_equal_sides_are_never_slower() -> None:
    """Two stages keep chance out: of 40 tables of nothing, none says slower."""
    for seed in range(40):
        logs = judge.log_ratios(times(dict.fromkeys(READINGS, 1.0), seed=seed), WINNERS)
        slow = dict.fromkeys(judge.suspects(logs, WINNERS), 1.0)
        again = judge.log_ratios(times(slow, 12, seed + 1000), WINNERS) if slow else {}
        found = judge.judge(logs, again, WINNERS)
        assert {one.word for one in found.winners} <= {"unclear", "faster"}


def test_what_a_launch_has_not_seen_and_what_is_nobody_s_is_left_out() -> None:
    found = times(dict.fromkeys(READINGS, 0.5))
    lost, nobody_s = READINGS[0], Reading("osu", ProgramCell("MPI_Scan", 1000))
    found.tuned[3] = {one: us for one, us in found.tuned[3].items() if one != lost}
    for side in (*found.tuned, *found.plain):
        side[nobody_s] = 1e-5  # type: ignore[index]
    logs = judge.log_ratios(found, WINNERS)
    assert lost not in logs and nobody_s not in logs
    assert ODD in logs and (0, "osu") in logs


# --- which cells are measured ---------------------------------------------------------------------


BYTES = ("MPI_BYTE", "MPI_BOR")
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
    assert {(cell.type, cell.op) for cell in found} == {BYTES, *REDUCED}


def test_a_rule_for_one_class_of_types_is_seen_with_these() -> None:
    doubles = ("MPI_DOUBLE", "MPI_SUM")
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


def test_a_size_that_rounds_up_out_of_the_range_is_none() -> None:
    winner = build.winner(bytes_from=5, bytes_to=9)
    found = cells([winner], {"MPI_Allreduce": [6]}, 4, ("MPI_DOUBLE", "MPI_SUM"))
    assert {(cell.type, cell.bytes) for cell in found} == {("MPI_DOUBLE", 8), ("MPI_FLOAT", 8)}


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
