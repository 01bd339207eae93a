"""What launches of two arms in turn say of cells: A/A, planted slow-downs, missing results."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial

import pytest

from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.measure import tables
from plumbline.measure.comparison import (
    REFERENCE_CELLS,
    Arm,
    ArmComparison,
    NextLook,
    claim_of,
    ratios_in_turn,
    without_shared_factor,
)
from plumbline.search.space.candidates import DEFAULT, index
from plumbline.settings.campaign_file import load
from plumbline_db import runs
from plumbline_db.records import Suite
from tests.tuner.lab import Lab
from tests.tuner.simulated import LATENCY, CaseRecord, Costs, SimulatedStarter

SIZES = [64, 4096]
SETTINGS = load(None, {"nprocs": 4, "sizes": SIZES, "blocks": 1, "reps": 2})
CLAIM = claim_of(SETTINGS)
CELLS = [Target(name, size) for name in LATENCY if name != "MPI_Reduce_local" for size in SIZES]
OURS = Suite("ours")


class Planted(SimulatedStarter):
    """Launches of the first arm take `times` as long in some cells; in others their results are
    wrong."""

    def __init__(
        self, times: Mapping[tuple[str, int], float], wrong: Collection[Target] = (), **noise: float
    ) -> None:
        super().__init__(Costs(), **noise)
        self.times, self.wrong = dict(times), frozenset(wrong)

    def seen(self, suite: str, extra: dict[str, str]) -> dict[str, str]:
        own = not suite.endswith("-default")
        self._costs = Costs(everything=self.times if own else {})
        self._corrupt = partial(self._outcome, self.wrong if own else frozenset())
        return extra

    @staticmethod
    def _outcome(wrong: frozenset[Target], case: CaseRecord) -> str:
        return "wrong" if Target(case.function, case.bytes) in wrong else "ok"


def compared(lab: Lab, starter: SimulatedStarter, *touched: Target) -> ArmComparison[Target]:
    """All cells, until nothing that may be slower is undecided; what is not `touched` tells
    launches apart."""
    store = lab.store(starter)

    def seconds(suite: str) -> dict[Target, list[float]]:
        medians = index(runs.medians(store.db, store.campaign, [suite])).items()
        return {
            cell: list(times.values())
            for (cell, candidate), times in medians
            if candidate == DEFAULT
        }

    others = [cell for cell in CELLS if cell not in touched]
    found = ArmComparison(store, CLAIM, seconds, others)

    def arms(look: NextLook, cells: Sequence[Target]) -> tuple[Arm, Arm]:
        cases = [PlanCase(cell.function, cell.bytes) for cell in cells]
        arm = Arm(look.suite(OURS), look.plan(tables.plan(SETTINGS, cases)))
        return arm, arm.beside()

    def wanted() -> list[Target]:
        suspects = [cell.key for cell in found.family.suspects()]
        return [*suspects, *others] if suspects else []

    found.until_decided(CELLS, arms, wanted)
    return found


def slower(found: ArmComparison[Target]) -> set[Target]:
    return {cell.key for cell in found.family.decisions if cell.word == "slower"}


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_an_arm_is_not_slower_than_itself(lab: Lab, noise: float) -> None:
    """However far launches lie apart as a whole."""
    found = compared(lab, SimulatedStarter(Costs(), launch_noise=0.4, case_noise=noise))
    assert slower(found) == set() and found.lost == []
    assert len(found.family.cells) == len(CELLS)


def test_what_is_planted_is_found_and_nothing_else(lab: Lab) -> None:
    """In noise of launches of 40 %, which all cells of a launch share. What is decided at the first
    look is not measured again; what is little slower takes more looks."""
    clear, little = CELLS[0], CELLS[1]
    planted = {(clear.function, clear.bytes): 1.5, (little.function, little.bytes): 1.12}
    starter = Planted(planted, launch_noise=0.4, case_noise=0.05)
    found = compared(lab, starter, clear, little)
    assert slower(found) == {clear, little}
    decided = {cell.key: cell for cell in found.family.decisions}
    assert decided[clear].told.ratio == pytest.approx(1.5, rel=0.1)
    assert decided[clear].look < decided[little].look
    assert len(found.ratios[clear]) < len(found.ratios[little])
    looks = list(dict.fromkeys(suite for suite, _ in starter.launches))
    assert looks[:4] == ["ours", "ours-default", "ours-look-02", "ours-look-02-default"]


def test_what_only_ours_has_not_is_lost_and_no_cell(lab: Lab) -> None:
    found = compared(lab, Planted({}, CELLS[:2]))
    assert found.lost == CELLS[:2]
    assert {cell.key for cell in found.family.decisions} == set(CELLS[2:])
    assert slower(found) == set()


def test_the_same_launches_are_decided_alike(lab: Lab) -> None:
    words = [
        [
            cell.word
            for cell in compared(
                lab, SimulatedStarter(Costs(), case_noise=0.1, stop_after=stop)
            ).family.decisions
        ]
        for stop in (None, 0)
    ]
    assert words[0] == words[1]


def test_log_ratios_are_of_what_all_launches_have() -> None:
    ours = {"both": [2.0, 6.0], "lost": [1.0]}
    theirs = {"both": [1.0, 2.0], "lost": [1.0, 1.0], "short": [1.0]}
    found, lost = ratios_in_turn(ours, theirs, ["both", "lost", "short", "none"])
    assert found == {"both": [math.log(2), math.log(3)]}
    assert lost == ["lost"]


@pytest.mark.parametrize("few", [False, True])
def test_what_a_turn_shares_is_taken_off(few: bool) -> None:
    """With too few references nothing is."""
    references = [[0.1, -0.2]] * (REFERENCE_CELLS - few)
    found = without_shared_factor({"cell": [0.4, 0.1]}, references)
    assert found["cell"] == pytest.approx([0.4, 0.1] if few else [0.3, 0.3])
