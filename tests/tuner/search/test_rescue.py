"""What is found out where the library's own call ends launches: a candidate a launch, all sizes."""

from __future__ import annotations

from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.measure.launches import IN_A_ROW, LaunchStore
from plumbline.search.races import Setup
from plumbline.search.rescue import rescue
from plumbline_db.probe_records import CaseRecord
from tests.tuner.cold_machine import ColdStarter, candidate_space
from tests.tuner.lab import Lab
from tests.tuner.search.racing import PLAN, SHORT
from tests.tuner.simulated import Costs

SMALL, LARGE = Target("MPI_Bcast", 1024), Target("MPI_Bcast", 65536)
FAST = {("MPI_Bcast", "binomial"): lambda *_: 0.5}


def setup(store: LaunchStore) -> Setup:
    return Setup(store, SHORT, candidate_space(), PLAN, {})


def breaks(case: CaseRecord, values: set[str]) -> bool:
    """The library as it is at both sizes, and one algorithm at one of them."""
    return not values or ("chain" in values and case.bytes == LARGE.bytes)


def test_a_candidate_takes_one_launch_for_all_sizes_and_what_breaks_is_left_out(lab: Lab) -> None:
    starter = ColdStarter(
        Costs(algorithm=FAST),
        breaks=breaks,
        lies=lambda function, values: "pipeline" in values,
        launch_noise=0.0,
        case_noise=0.0,
    )
    store = lab.store(starter)
    for cell in (SMALL, LARGE):
        store.aside.put(PlanCase(cell.function, cell.bytes), "SIGSEGV")
    small, large = rescue(setup(store), [SMALL, LARGE], 1, lambda: True)
    count = len(small.trials)
    launched = lab.runs()
    assert len(launched) == count + IN_A_ROW  # only chain was started again
    states = {
        (found.bytes, value): (one.state, one.detail)
        for found in (small, large)
        for one in found.trials
        for value in one.knobs.values()
    }
    assert states[1024, "chain"][0] == "measured" and states[65536, "chain"][0] == "failed"
    assert "under way" in states[65536, "chain"][1]
    assert {states[size, "pipeline"][0] for size in (1024, 65536)} == {"wrong"}
    assert f"{count - 1} work, " in small.reason and f"{count - 2} work, " in large.reason
    assert "_algorithm=binomial coll" in small.reason and "takes the least time" in small.reason


def test_what_has_no_time_is_said(lab: Lab) -> None:
    store = lab.store(ColdStarter(Costs()))
    store.aside.put(PlanCase(SMALL.function, SMALL.bytes), "SIGSEGV")
    (found,) = rescue(setup(store), [SMALL], 1, lambda: False)
    assert found.trials == [] and found.reason.endswith("there was no time")
    assert lab.runs() == []
