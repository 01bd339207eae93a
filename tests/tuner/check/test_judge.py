"""Which cells are measured, and what times mean: planted ratios in planted noise."""

from __future__ import annotations

import random

import pytest

from plumbline.check import judge
from plumbline.check.judge import Times
from plumbline.check.programs import ProgramCell, Reading
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
    assert judge.suspects([logs], WINNERS) == []
    found = judge.judge([logs], WINNERS)
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
    assert judge.suspects([logs], WINNERS) == [ODD]
    again = judge.log_ratios(times({ODD: 1.2}, pairs=12, seed=2), WINNERS)
    found = judge.judge([logs, again], WINNERS)
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
    assert judge.suspects([logs, again], WINNERS) == [ODD]
    third = judge.log_ratios(times({ODD: ratio}, pairs=24, seed=3), WINNERS)
    found = judge.judge([logs, again, third], WINNERS)
    (cell,) = [one for one in found.cells if Reading(one.loop, one.cell) == ODD]
    assert cell.word == word and cell.again is not None and cell.again.pairs == 24
    assert [one.loop for one in found.winners if one.word == "slower"] == (
        ["osu"] if word == "slower" else []
    )


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_what_is_not_slower_again_is_not_slower(ratio: float) -> None:
    logs = judge.log_ratios(times(dict.fromkeys(READINGS, 0.5) | {ODD: 1.2}), WINNERS)
    again = judge.log_ratios(times({ODD: ratio}, pairs=12, seed=2), WINNERS)
    found = judge.judge([logs, again], WINNERS)
    assert not [one for one in found.cells if one.word == "slower"]
    assert {one.word for one in found.winners} == {"faster"}
    (cell,) = [one for one in found.cells if one.cell == ODD.cell and one.loop == "osu"]
    assert cell.word == "unclear" and cell.again is not None


def test_what_was_slower_beyond_doubt_and_is_not_again_is_slower_at_times() -> None:
    """A machine was in another state in the first launches."""
    first = judge.log_ratios(times(dict.fromkeys(READINGS, 0.5) | {ODD: 1.5}, pairs=12), WINNERS)
    assert judge.suspects([first], WINNERS) == [ODD]
    again = judge.log_ratios(times({ODD: 0.6}, pairs=12, seed=2), WINNERS)
    found = judge.judge([first, again], WINNERS)
    assert [cell.cell for cell in found.cells if cell.word == "slower at times"] == [ODD.cell]
    words = [one.word for one in found.winners]
    assert words.count("slower at times") == 1 and "slower" not in words


def test_a_winner_that_is_slower_as_a_whole() -> None:
    """No cell of it may be sure, its mean is."""
    ratios = {reading: 0.5 if reading.cell.bytes > 4000 else 1.012 for reading in READINGS}
    logs = judge.log_ratios(times(ratios, pairs=12), WINNERS)
    slow = judge.suspects([logs], WINNERS)
    assert {one for one in READINGS if one.cell.bytes <= 4000 and one.loop == "osu"} <= set(slow)
    again = judge.log_ratios(times({one: 1.012 for one in slow}, pairs=30, seed=5), WINNERS)
    found = judge.judge([logs, again], WINNERS)
    first = next(one for one in found.winners if (one.winner, one.loop) == (0, "osu"))
    assert first.word == "slower" and first.again is not None
    third = judge.suspects([logs, again], WINNERS)
    assert {one for one in slow if one.loop == "osu"} <= set(third)


def test_equal_sides_are_never_slower() -> None:
    """Two stages keep chance out: of 40 tables of nothing, none says slower."""
    for seed in range(40):
        logs = judge.log_ratios(times(dict.fromkeys(READINGS, 1.0), seed=seed), WINNERS)
        slow = dict.fromkeys(judge.suspects([logs], WINNERS), 1.0)
        again = judge.log_ratios(times(slow, 12, seed + 1000), WINNERS) if slow else {}
        found = judge.judge([logs, again], WINNERS)
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
