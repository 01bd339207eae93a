"""What tests of searches have in common: short plans, rounds, and winners out of trials."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.measure import tables
from plumbline.measure.comparison import Arm
from plumbline.measure.launches import LaunchStore
from plumbline.search.budget import Budget
from plumbline.search.order import DependencyOrder
from plumbline.search.race.effort import ONE_LAUNCH, Effort
from plumbline.search.race.neighbours import Past
from plumbline.search.race.race import Race
from plumbline.search.races import Setup
from plumbline.search.rounds import Rounds
from plumbline.search.space.candidates import CandidateSpace
from plumbline.search.space.select import Selection, Trials
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite, Winner
from tests.tuner import cold_machine
from tests.tuner.search.test_candidates import candidate_space
from tests.tuner.simulated import GUIDELINES

SHORT = load(None, {"nprocs": 4, "blocks": 1, "reps": 2, "all": False})
PLAN = tables.plan(SHORT, [])
EVERY = msgspec.structs.replace(ONE_LAUNCH, alike=math.inf)  # nothing is passed over


def rounds_for(
    store: LaunchStore,
    sizes: Mapping[str, list[int]],
    settings: Settings = SHORT,
    offered: CandidateSpace | None = None,
) -> Rounds:
    space = offered or candidate_space()
    setup = Setup(store, settings, space, tables.plan(settings, []), sizes)
    return Rounds(setup, DependencyOrder(GUIDELINES), Budget(store, settings))


def race_in(store: LaunchStore, effort: Effort, number: int = 1, past: Past | None = None) -> Race:
    """Return a race of cold candidates, with the library as it is."""
    arm = Arm(Suite("search", number), PLAN)
    return Race(store, cold_machine.candidate_space(), arm, effort, past)


def winners_of(
    trials: Trials, opened_by: Mapping[Target, Sequence[str]], offered: CandidateSpace | None = None
) -> list[Winner]:
    """Of each function in a table of the sizes that were tried."""
    sizes: dict[str, list[int]] = {}
    for cell in sorted(trials):
        sizes.setdefault(cell.function, []).append(cell.bytes)
    space = offered or candidate_space()
    return Selection(space, sizes, 4, 4, tolerance=0.05).winners(trials, opened_by)
