"""What a collective would save: the arithmetic, and what comes from which source."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from plumbline.detect import words
from plumbline.detect.analysis import analysis
from plumbline.detect.findings import (
    Call,
    HandMade,
    ReplaySaving,
    Saved,
    SavedInRun,
    SizeSaving,
    ordered,
)
from plumbline.detect.savings import saving, volume
from tests.bench.detection import broadcasts, rooted, spmd


def twice(me: spmd.Rank) -> spmd.Waits:
    for _ in range(4):
        yield from broadcasts.linear(me, me.data(1000), 0)
        yield from rooted.gather_linear(me, 10, 2)


@pytest.fixture(scope="module")
def bcast() -> HandMade:
    found = analysis(spmd.run(6, twice))
    finding = next(each for each in found if each.function == "MPI_Bcast")
    return msgspec.structs.replace(finding, work_seconds=0.4, instance_seconds=(0.1,) * 4)


def saved(*arguments: Any) -> ReplaySaving:
    """What is said where something was measured."""
    found = saving(*arguments)
    assert found is not None
    return found


def size(by_hand: Call | None, default: Call, tuned: Call | None = None) -> SizeSaving:
    return SizeSaving(8000, 4, by_hand, default, tuned, "tree" if tuned else "")


def test_of_a_campaign_it_is_the_difference_to_what_was_recorded(bcast: HandMade) -> None:
    found = saved(bcast, "campaign", "c", [size(None, Call(0.06, 0.05, 0.08))])
    assert found.default.seconds == pytest.approx(0.4 - 4 * 0.06)
    assert found.default.low_seconds == pytest.approx(0.4 - 4 * 0.08)
    assert found.default.high_seconds == pytest.approx(0.4 - 4 * 0.05)
    assert (found.share, found.tuned, found.replayed_seconds) == (1.0, None, None)


def test_instances_that_scatter_make_it_less_certain(bcast: HandMade) -> None:
    scattered = msgspec.structs.replace(bcast, instance_seconds=(0.05, 0.15, 0.05, 0.15))
    found = saved(scattered, "campaign", "c", [size(None, Call(0.06, 0.06, 0.06))])
    assert found.default.low_seconds < found.default.seconds < found.default.high_seconds


def test_of_a_replay_it_is_the_difference_of_both_sides(bcast: HandMade) -> None:
    by_hand = Call(0.05, 0.05, 0.05)
    found = saved(bcast, "replay", "", [size(by_hand, Call(0.02, 0.01, 0.03), by_hand)])
    assert found.tuned is not None
    assert found.default.seconds == pytest.approx(4 * 0.03)
    assert found.replayed_seconds == pytest.approx(0.2)
    assert found.tuned.seconds == pytest.approx(0.0)
    assert found.best is found.default


def test_no_more_is_saved_than_what_was_recorded_took(bcast: HandMade) -> None:
    """The replay takes twice as long as the recording."""
    found = saved(bcast, "replay", "", [size(Call(0.2, 0.2, 0.2), Call(0.1, 0.1, 0.1))])
    assert found.default.seconds == pytest.approx(0.2)


def replayed(*launches: float, tuned: tuple[float, ...] = ()) -> SizeSaving:
    """What each launch has saved by a call."""
    by_hand = Call(0.05, 0.05, 0.05)
    run = SavedInRun(0.0, launches, tuned)
    return SizeSaving(8000, 4, by_hand, Call(0.02, 0.02, 0.02), by_hand, "tree", run)


def test_what_a_launch_has_in_common_is_no_doubt(bcast: HandMade) -> None:
    """Both sides of a launch are slow together: what counts is what it saved. A launch that
    something else has held up says nothing of the others."""
    launches = (0.03, 0.031, 0.029, 0.03, 0.031, 0.029, 0.03, 0.9)
    found = saved(bcast, "replay", "", [replayed(*launches, tuned=tuple([0.01] * 8))])
    assert found.tuned is not None
    assert found.default.seconds == pytest.approx(4 * 0.03, rel=0.05)
    assert 4 * 0.028 < found.default.low_seconds < found.default.seconds
    assert found.default.high_seconds < 4 * 0.5
    assert found.tuned == Saved(*[pytest.approx(4 * 0.01)] * 3)


def test_sizes_have_launches_in_common(bcast: HandMade) -> None:
    """What one size saves less, in the same launch, another one saves more."""
    first = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
    found = saved(bcast, "replay", "", [replayed(*first), replayed(*reversed(first))])
    assert found.default == Saved(*[pytest.approx(4 * 0.07)] * 3)


def test_its_interval_holds_the_saving(bcast: HandMade) -> None:
    """95 of 100 do, of launches that scatter by more than they save."""
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        found = saved(bcast, "replay", "", [replayed(*random.normal(0.01, 0.02, 8).tolist())])
        covered += found.default.low_seconds <= 4 * 0.01 <= found.default.high_seconds
    assert 0.92 < covered / 400 < 0.98


def test_of_few_launches_it_is_as_wide_as_they_lie_apart(bcast: HandMade) -> None:
    found = saved(bcast, "replay", "", [replayed(0.01, 0.03)])
    assert found.default == Saved(*(pytest.approx(4 * each) for each in (0.02, 0.01, 0.03)))


def test_nothing_is_said_where_nothing_was_measured(bcast: HandMade) -> None:
    assert saving(bcast, "campaign", "c", []) is None


def test_what_saves_most_comes_first(bcast: HandMade) -> None:
    other = msgspec.structs.replace(bcast, seconds=100.0)
    assert ordered([bcast, other])[0] is other
    saving = saved(bcast, "campaign", "c", [size(None, Call(0.06, 0.05, 0.08))])
    known = msgspec.structs.replace(bcast, saving=saving)
    assert ordered([other, known])[0] is known


@pytest.mark.parametrize(
    ("function", "bytes_of_finding", "counted"),
    [
        ("MPI_Bcast", 1000, 1000),
        ("MPI_Gather", 1000, 6000),
        ("MPI_Alltoall", 10, 60),
        ("MPI_Alltoallv", 3600, 600),
        ("MPI_Gatherv", 3600, 3600),
        ("MPI_Barrier", 0, 0),
    ],
)
def test_volumes(bcast: HandMade, function: str, bytes_of_finding: int, counted: int) -> None:
    finding = msgspec.structs.replace(bcast, function=function)
    assert volume(finding, bytes_of_finding) == counted


def test_words(bcast: HandMade) -> None:
    def told(default: Call, by_hand: Call | None = None) -> str:
        found = saved(bcast, "replay" if by_hand else "campaign", "c-1", [size(by_hand, default)])
        return "\n".join(words.of(msgspec.structs.replace(bcast, saving=found), 1))

    by_campaign = told(Call(0.06, 0.06, 0.06))
    assert "without waiting it takes 400 ms a run" in by_campaign
    assert (
        "MPI's own collective saves 160 ms [160 ms, 160 ms] a run (by campaign c-1)" in by_campaign
    )
    replayed = told(Call(0.06, 0.06, 0.06), Call(0.05, 0.05, 0.05))
    assert "replayed 200 ms" in replayed
    assert "saves nothing: it takes 40 ms longer a run" in replayed
    assert "4 of 8000 bytes: replayed 50 ms, MPI's own 60 ms" in replayed
    assert "saves no time that could be told from 0" in told(
        Call(0.05, 0.04, 0.06), Call(0.05, 0.05, 0.05)
    )


def test_words_of_what_shows_in_the_run(bcast: HandMade) -> None:
    by_hand = Call(0.05, 0.05, 0.05)
    found = saved(bcast, "replay", "", [size(by_hand, Call(0.02, 0.01, 0.03))])
    for share, told in ((0.4, True), (0.999, False), (None, False)):
        lower = msgspec.structs.replace(found, shown=share)
        lines = "\n".join(words.of(msgspec.structs.replace(bcast, saving=lower), 1))
        assert ("40% of what is saved in the calls shows in the run at least" in lines) is told
