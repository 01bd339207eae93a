"""Arms that take turns, look by look, and what is made of their times."""

from __future__ import annotations

import math

import pytest

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import experiment
from plumbline.measure.experiment import REFERENCE_CELLS, Arm
from plumbline.verify import design
from plumbline_db.records import Suite
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, SimulatedStarter

PLAN = Plan("", 7, (PlanCase("MPI_Bcast", 64),), blocks=2)
FILES = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


def test_looks_add_up_to_the_design_and_seeds_go_on() -> None:
    found = list(experiment.looks(design.over(9, 30)))
    assert [look.launches for look in found] == [9, 3, 4, 6, 8]
    assert [look.before for look in found] == [0, 9, 12, 16, 22]
    assert [look.plan(PLAN).seed for look in found] == [7, 16, 19, 23, 29]
    names = [look.suite(Suite("before")).name for look in found]
    assert names[0] == "before" and len(set(names)) == 5


def test_arms_take_turns(lab: Lab) -> None:
    starter = SimulatedStarter(Costs())
    arm = Arm(Suite("confirm"), PLAN, FILES)
    experiment.take_turns(lab.store(starter), [arm, arm.beside()], 2)
    ours, theirs = arm.suite.name, arm.beside().suite.name
    assert starter.launches == [(ours, 0), (theirs, 0), (ours, 1), (theirs, 1)]
    inside = [run.environment == FILES for run in lab.runs()]
    assert inside == [True, False, True, False]


def test_log_ratios_are_of_what_all_launches_have() -> None:
    ours = {"both": [2.0, 6.0], "lost": [1.0]}
    theirs = {"both": [1.0, 2.0], "lost": [1.0, 1.0], "short": [1.0]}
    found, lost = experiment.log_ratios(ours, theirs, ["both", "lost", "short", "none"], 2)
    assert found == {"both": [math.log(2), math.log(3)]}
    assert lost == ["lost"]


@pytest.mark.parametrize("few", [False, True])
def test_what_a_turn_shares_is_taken_off(few: bool) -> None:
    """With too few references nothing is."""
    references = [[0.1, -0.2]] * (REFERENCE_CELLS - few)
    found = experiment.without_shared_factor({"cell": [0.4, 0.1]}, references)
    assert found["cell"] == pytest.approx([0.4, 0.1] if few else [0.3, 0.3])
