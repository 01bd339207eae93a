"""The rule that does harm where no rule is about a call is found by halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from plumbline.campaign.confirm import guilty
from plumbline_db.connection import Database
from plumbline_db.records import Winner
from tests.db import build
from tests.tuner.campaign.test_fixed_point import Done, chosen, exact, winners_of
from tests.tuner.simulated import CaseRecord, Costs, Rules, SimulatedStarter

EVERY = [build.winner(function=f"MPI_F{number}") for number in range(9)]


@pytest.mark.parametrize("number", range(9))
def test_one_of_nine_is_found_in_five_steps(number: int) -> None:
    asked: list[int] = []

    def shows(some: Sequence[Winner]) -> bool:
        asked.append(len(some))
        return EVERY[number] in some

    assert guilty(EVERY, shows) is EVERY[number]
    assert len(asked) <= 5


def test_what_takes_two_together_is_no_single_one() -> None:
    assert guilty(EVERY, lambda some: EVERY[0] in some and EVERY[8] in some) is None
    assert guilty([], lambda _: True) is None


class Spoilt(SimulatedStarter):
    """Every Gather is slower, or gives no right result, where a rule for Allreduce is in force:
    nothing says that a library builds one on the other."""

    kind = "slower"

    def _answer(
        self, case: CaseRecord, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        cost, outcome = super()._answer(case, knobs, rules)
        ruled = any(
            rules.knobs("MPI_Allreduce", 4, size) for size in (256, 1024, 4096, 16384, 65536)
        )
        if not ruled or (case.function, case.variant) != ("MPI_Gather", "default"):
            return cost, outcome
        return (cost * 1.3, outcome) if self.kind == "slower" else (cost, "wrong")


class Wrong(Spoilt):
    kind = "wrong"


class Once(SimulatedStarter):
    """Gather is slower in the pairs of the first confirmation, and in no other launch."""

    def seen(self, suite: str, extra: dict[str, str]) -> dict[str, str]:
        odd = suite in ("confirm-1", "confirm-1-again", "confirm-1-once-more")
        self._costs.default["MPI_Gather"] = (lambda _: 1.3) if odd else (lambda _: 1.0)
        return extra


def costs() -> Costs:
    return Costs(
        default={function: lambda _: 2.0 for function in ("MPI_Allreduce", "MPI_Scan")},
        algorithm={("MPI_Allreduce", "rabenseifner"): lambda *_: 0.5},
    )


@pytest.mark.parametrize("kind", [Spoilt, Wrong])
def test_only_the_rule_that_does_it_loses_its_place(
    tmp_path: Path, db: Database, kind: type[Spoilt]
) -> None:
    done = Done(db, tmp_path / "out", costs(), chosen("GL3", "GL12", "GL16"), exact(), kind=kind)
    # The second choice of Allreduce is a variant of ours.
    assert {one.function for one in winners_of(db, done)} == {"MPI_Scan", "MPI_Allreduce"}
    assert all(one.variant != "default" for one in winners_of(db, done))
    said = [one for one in done.events("winner dropped") if "MPI_Gather" in one]
    assert said and all(one.startswith("MPI_Allreduce") for one in said)
    assert all("by this one in force alone" in one for one in said)
    assert done.slower() == {}


def test_what_is_not_seen_again_is_erratic_and_drops_nothing(tmp_path: Path, db: Database) -> None:
    done = Done(db, tmp_path / "out", costs(), chosen("GL3", "GL12", "GL16"), exact(), kind=Once)
    assert {one.function for one in winners_of(db, done)} == {"MPI_Scan", "MPI_Allreduce"}
    (said,) = done.events("erratic call")
    assert said.startswith("MPI_Gather at")
    assert not any("MPI_Gather" in one for one in done.events("winner dropped"))
