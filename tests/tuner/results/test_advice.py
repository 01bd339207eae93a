"""Library, tuned or made by hand: decisions, what is read of a database, what the command says."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from plumbline.core import plan
from plumbline.libraries import gate
from plumbline.results import advice, advice_raced, advice_stored
from plumbline.results.advice import Answer, CallChoice, MeasuredCall
from plumbline.results.advice_stored import AdviceQuestion
from plumbline.results.best import BestOfCell, FastestOfSide
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Case, Medians, Winner
from tests.db import build
from tests.db.build import Timed
from tests.tuner import simulated
from tests.tuner.cli.command import plumbline

LINEAR, WON = "gather_linear", "gather_binomial"
WINNER = build.winner(function="MPI_Gather", bytes_from=64, bytes_to=4096, variant=WON,
                      configuration={})  # fmt: skip
DEFAULT = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8, 10.05, 10.15]


def medians(variant: str, seconds: list[float], first: int = 0) -> Medians:
    case = Case("MPI_Gather", variant, {}, "default", 256, "MPI_BYTE", "", 0)
    return Medians(case, list(range(first, first + len(seconds))), seconds)


def scaled(factor: float) -> list[float]:
    """Not one factor in all launches, so that tests have something to rank."""
    return [factor * each * (1 + 0.001 * place) for place, each in enumerate(DEFAULT)]


def decided(*others: Medians, winner: Winner | None = None, unfit: str = "") -> Answer:
    own, *variants = advice.compared([medians("default", DEFAULT), *others])
    known = MeasuredCall(256, own, variants, winner, (5.0, 5.2), frozenset([unfit]))
    return advice.decide(known, WON if winner else "")


def test_nothing_else_leaves_the_library() -> None:
    answer = decided()
    assert answer.way == "library" and [choice.way for choice in answer.choices] == ["library"]
    assert answer.choices[0].seconds == pytest.approx(10.075)


def test_what_is_not_surely_faster_by_enough_is_not_taken() -> None:
    assert decided(medians(LINEAR, scaled(0.97))).way == "library"  # sure, and too little
    few = decided(medians(LINEAR, scaled(0.5)[:3]))
    assert few.way == "library"  # much, and not sure
    assert "0.50" in few.why


def test_what_is_faster_in_the_same_launches_is_made_by_hand() -> None:
    answer = decided(medians(LINEAR, scaled(0.6)))
    assert answer.way == "hand-made"
    choice = answer.of("hand-made")
    assert choice is not None and choice.what == LINEAR
    assert choice.ratio == pytest.approx(0.602, abs=0.005)
    assert choice.ratio_low is not None and choice.ratio_high is not None
    assert choice.ratio_low <= choice.ratio <= choice.ratio_high < 1


def test_the_one_that_is_taken_is_the_first_that_is_shown() -> None:
    """Not the one of three launches, which looks faster and is not sure."""
    unsure = [medians(f"gather_{number}", scaled(0.2)[:2]) for number in range(4)]
    answer = decided(*unsure, medians(LINEAR, scaled(0.6)))
    choice = answer.of("hand-made")
    assert answer.way == "hand-made" and choice is not None and choice.what == LINEAR


def test_what_was_not_measured_together_is_never_called_faster() -> None:
    apart = decided(medians(LINEAR, scaled(0.1), first=100))
    assert apart.way == "library" and "faster" not in apart.why
    tuned = decided(medians(LINEAR, scaled(0.1)), winner=WINNER)
    assert tuned.way == "tuned"
    assert "not measured together" in tuned.why and "neither is called faster" in tuned.why


def test_the_tuned_one_gives_way_to_what_is_faster_in_the_same_launches() -> None:
    won = medians(WON, scaled(0.5))
    assert decided(won, medians(LINEAR, scaled(0.3)), winner=WINNER).way == "hand-made"
    near = decided(won, medians(LINEAR, scaled(0.49)), winner=WINNER)
    assert near.way == "tuned" and "not shown to be faster" in near.why


def test_a_winner_that_may_be_slower_is_not_taken() -> None:
    unsure = msgspec.structs.replace(WINNER, speedup=1.05, speedup_low=0.97, speedup_high=1.2)
    assert decided(winner=unsure).way == "library"


def test_what_a_search_has_found_unfit_is_left_out() -> None:
    assert decided(medians(LINEAR, scaled(0.5)), unfit=LINEAR).way == "library"


def test_many_that_are_made_by_hand_pay_for_being_many() -> None:
    """p is adjusted over all of them: one of forty that is at its edge is not enough."""
    edge = [0.9 * each if place != 3 else 1.3 * each for place, each in enumerate(DEFAULT)]
    alone = advice.compared([medians("default", DEFAULT), medians(LINEAR, edge)])[1]
    assert alone.p_adjusted is not None
    others = [medians(f"gather_{number}", scaled(1.0 + number)) for number in range(40)]
    crowd = advice.compared([medians("default", DEFAULT), medians(LINEAR, edge), *others])
    one = next(each for each in crowd if each.name == LINEAR)
    assert one.p_adjusted is not None and one.p_adjusted >= alone.p_adjusted


def test_between_two_sizes_that_agree_it_is_interpolated() -> None:
    below = Answer("tuned", "a", [CallChoice("tuned", WON, 1e-6, 9, 0.5, 0.4, 0.6, "")])
    above = Answer("tuned", "b", [CallChoice("tuned", WON, 4e-6, 7, 0.8, 0.7, 0.9, "")])
    answer = advice.interpolate(512, 256, below, 1024, above)
    (choice,) = answer.choices
    assert answer.way == "tuned" and answer.between == [256, 1024]
    assert choice.seconds == pytest.approx(2e-6)
    assert choice.ratio == pytest.approx(math.sqrt(0.4))
    assert (choice.ratio_low, choice.ratio_high) == (0.4, 0.9) and choice.launches == 7


@pytest.mark.parametrize(
    ("low", "high", "above"),
    [(0, 1024, "tuned"), (64, 1024, "tuned"), (256, 1024, "library"), (256, 1024, "another")],
)
def test_where_sizes_lie_apart_or_disagree_nothing_is_said(low: int, high: int, above: str) -> None:
    below = Answer("tuned", "", [CallChoice("tuned", WON, 1e-6, 9, 0.5, 0.4, 0.6, "")])
    choices = [CallChoice("tuned", above, 1e-6, 9, 0.5, 0.4, 0.6, "")]
    other = Answer("library" if above == "library" else "tuned", "", choices)
    if above == "tuned":
        other = below
    answer = advice.interpolate(512, low, below, high, other)
    assert answer.way is None and answer.choices == [] and answer.between == [low, high]


def test_one_launch_of_a_simulated_machine_decides() -> None:
    found = Comparison(0.6, None, None, 1.0, 1, "")
    assert advice.surely(found, exact=True) and not advice.surely(found, exact=False)


@pytest.mark.parametrize(
    ("text", "name"),
    [("gather", "MPI_Gather"), ("MPI_GATHER", "MPI_Gather"), (" Allreduce", "MPI_Allreduce"),
     ("reduce_scatter_block", "MPI_Reduce_scatter_block")],
)  # fmt: skip
def test_names_are_written_as_people_do(text: str, name: str) -> None:
    assert plan.name_of(text) == name


def test_a_race_is_judged_by_the_last_launches_alone() -> None:
    def side(name: str, ratio: float) -> FastestOfSide:
        return FastestOfSide(
            name, 1e-6, Comparison(ratio, ratio - 0.01, ratio + 0.01, 0.002, 10, "")
        )

    between = Comparison(0.8, 0.78, 0.82, 0.002, 10, "")
    cell = BestOfCell("MPI_Gather", 4, 256, 2e-6, side(WON, 0.5), side(LINEAR, 0.4), between, 12)
    assert advice_raced.answer_of(cell, 10, exact=False).way == "hand-made"
    near = msgspec.structs.replace(
        cell, ours_over_library=Comparison(0.99, 0.97, 1.01, 0.2, 10, "")
    )
    assert advice_raced.answer_of(near, 10, exact=False).way == "tuned"
    alone = msgspec.structs.replace(cell, library=None, ours=None, ours_over_library=None)
    assert advice_raced.answer_of(alone, 10, exact=False).way == "library"


SIZES = (64, 256, 1024)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Gather at three sizes on four ranks: a variant is faster at 1024 B, a winner holds up to
    256."""
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        campaign = build.later(db, "c-1", 3, settings="{}")
        for sequence in range(8):
            cases = [
                Timed("MPI_Gather", variant, bytes=size, median_ns=times[size])
                for variant, times in TIMES.items()
                for size in SIZES
            ]
            launch = build.run(sequence=sequence, campaign=campaign)
            runs.put(db, launch, build.records(launch, cases))
        table = [
            build.verdict("before", function="MPI_Gather", rhs=LINEAR, bytes=size, other_bytes=size)
            for size in SIZES
        ]
        findings.put_verdicts(db, campaign.id, "before", table)
        won = msgspec.structs.replace(WINNER, bytes_from=64, bytes_to=256)
        findings.put_winners(db, campaign.id, [won])
    return path


TIMES: Mapping[str, Mapping[int, int]] = {
    "default": {64: 9_000, 256: 10_000, 1024: 20_000},
    LINEAR: {64: 9_000, 256: 10_000, 1024: 11_000},
}


def asked(path: Path, bytes: int, nprocs: int = 4) -> advice_stored.Advised:
    with Database.open(path) as db:
        return advice_stored.read(db, AdviceQuestion("MPI_Gather", bytes, nprocs))


def test_a_database_answers(stored: Path) -> None:
    ways = {}
    for size in (64, 128, 256, 512, 1024, 2048, 32):
        best = asked(stored, size).best
        assert best is not None
        ways[size] = best.answer.way
    assert ways == {
        64: "tuned", 128: "tuned", 256: "tuned", 512: None, 1024: "hand-made", 2048: None, 32: None
    }  # fmt: skip
    between = asked(stored, 128).best
    assert between is not None and between.answer.between == [64, 256]
    assert between.sizes == list(SIZES) and between.winners_from == "c-1"
    now = datetime.datetime(2025, 3, 13, 12, tzinfo=datetime.UTC)
    assert between.age(now) == "measured 12 days ago"


def test_other_numbers_of_ranks_say_nothing(stored: Path) -> None:
    advised = asked(stored, 256, nprocs=32)
    assert advised.best is None and advised.ranks == [4]
    assert "but on 4" in advised.silence


def test_a_newer_campaign_speaks_first_and_an_older_one_where_it_is_silent(stored: Path) -> None:
    with Database.open(stored, write=True) as db:
        campaign = build.later(db, "c-2", 9, settings="{}")
        for sequence in range(8):
            launch = build.run(sequence=sequence, campaign=campaign)
            cases = [Timed("MPI_Gather", bytes=256, median_ns=10_000)]
            runs.put(db, launch, build.records(launch, cases))
        table = [build.verdict("before", function="MPI_Gather", rhs="MPI_Gather", bytes=256)]
        findings.put_verdicts(db, campaign.id, "before", table)
        assert campaigns.known(db, "c-2") is not None
    newer, older = asked(stored, 256).best, asked(stored, 1024).best
    assert newer is not None and newer.campaign.id == "c-2"
    assert newer.answer.way == "tuned" and newer.winners_from == "c-1"
    assert older is not None and older.campaign.id == "c-1"


@pytest.mark.parametrize(
    ("bytes", "status", "words"),
    [(256, 3, "take the tuned one"), (1024, 3, "make it by hand"), (2048, 1, "not known")],
)
def test_the_command_says_it_and_its_exit_code(
    stored: Path, monkeypatch: pytest.MonkeyPatch, bytes: int, status: int, words: str
) -> None:
    here = simulated.toolchain()
    monkeypatch.setattr(gate, "installed", lambda *_: (here.family, here.installation))
    given = ("--db", str(stored), "advise", "gather", "--bytes", str(bytes), "--np", "4")
    found = plumbline(*given)
    assert found.status == status
    assert words in found.out and len(found.out.splitlines()) <= 24
    if status == 3 and "tuned" in words:  # gather_binomial is a variant of ours
        assert "to put it in force: plumbline run --campaign c-1 -- mpirun" in found.out
    document = plumbline(*given, "--json").json
    assert document["function"] == "MPI_Gather" and document["bytes"] == bytes
    (known,) = document["known"]
    assert known["campaign"] == "c-1" and known["sizes"] == list(SIZES)
    assert known["op"] == ""  # Gather reduces nothing
    if status == 1:
        assert document["way"] is None and "--measure" in found.out
