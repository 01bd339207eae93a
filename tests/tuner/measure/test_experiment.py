"""Arms that take turns, look by look."""

from __future__ import annotations

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import comparison
from plumbline.measure.comparison import Arm
from plumbline.verify import decision
from plumbline_db.records import Suite
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, SimulatedStarter

PLAN = Plan("", 7, (PlanCase("MPI_Bcast", 64),), blocks=2)
FILES = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}


def test_looks_add_up_to_the_design_and_seeds_go_on() -> None:
    found = list(comparison.looks(decision.design_over(9, 30)))
    assert [look.launches for look in found] == [9, 3, 4, 6, 8]
    assert [look.before for look in found] == [0, 9, 12, 16, 22]
    assert [look.plan(PLAN).seed for look in found] == [7, 16, 19, 23, 29]
    names = [look.suite(Suite("before")).name for look in found]
    assert names[0] == "before" and len(set(names)) == 5


def test_arms_take_turns(lab: Lab) -> None:
    starter = SimulatedStarter(Costs())
    arm = Arm(Suite("confirm"), PLAN, FILES)
    comparison.take_turns(lab.store(starter), [arm, arm.beside()], 2)
    ours, theirs = arm.suite.name, arm.beside().suite.name
    assert starter.launches == [(ours, 0), (theirs, 0), (ours, 1), (theirs, 1)]
    inside = [run.environment == FILES for run in lab.runs()]
    assert inside == [True, False, True, False]
