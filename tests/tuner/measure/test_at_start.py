"""Knobs that are in force for a whole launch, in turn with launches of the library as it is."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import side_by_side
from plumbline.measure.side_by_side import MeasuredCase
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Failure, Run
from tests.tuner.lab import Lab
from tests.tuner.simulated import SPACE, Costs, SimulatedStarter

LIMIT = Configuration.of({"btl_vader_eager_limit": "8192", "pml": "ob1"})
ADAPT = Configuration.of({"coll_adapt_bcast_algorithm": "4", "coll_adapt_priority": "36"})
HOT = Configuration.of({"coll_tuned_bcast_algorithm": "chain"})
CASES = (
    PlanCase("MPI_Bcast", 64),
    PlanCase("MPI_Bcast", 64, configuration=HOT),
    PlanCase("MPI_Bcast", 8),
)
COSTS = Costs(algorithm={("MPI_Bcast", "chain"): lambda *_: 2.0})


class Watched(SimulatedStarter):
    """Keeps what it was started with; `fails`: launches of this suite from their second on."""

    def __init__(self, costs: Costs, fails: str = "") -> None:
        super().__init__(costs)
        self.started: list[tuple[str, int, dict[str, str], str]] = []
        self._fails = fails

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        self.started.append((run.suite, run.sequence, self.extra, run.plan))
        if run.suite == self._fails and run.sequence:
            run = msgspec.structs.replace(run, failure=FAILED)
        return run, records


FAILED = Failure("not in force", "the library did not take a setting: x")


def run(lab: Lab, starter: SimulatedStarter) -> list[MeasuredCase]:
    plan = Plan("", 1, CASES, blocks=2, reps=3)
    store = lab.store(starter)
    return side_by_side.run(store, plan, 3, {"HOT": "1"}, [LIMIT, ADAPT])


def test_launches_take_turns_and_are_started_with_the_setting(lab: Lab) -> None:
    starter = Watched(COSTS)
    lines = run(lab, starter)
    order = [(suite, number) for suite, number, _, _ in starter.started]
    assert order == [(s, n) for n in range(3) for s in ("measure", "measure-1", "measure-2")]
    plain, limit, adapt = (extra for _, _, extra, _ in starter.started[:3])
    assert plain == {"HOT": "1"}
    assert limit == plain | {f"OMPI_MCA_{name}": value for name, value in LIMIT.values}
    assert adapt == plain | {f"OMPI_MCA_{name}": value for name, value in ADAPT.values}
    assert " knobs=start" in starter.started[1][3] and " knobs=start" not in starter.started[0][3]
    assert [(one.bytes, one.knobs) for one in lines] == [
        *((8, knobs) for knobs in ({}, LIMIT.as_dict(), ADAPT.as_dict())),
        *((64, knobs) for knobs in ({}, HOT.as_dict(), LIMIT.as_dict(), ADAPT.as_dict())),
    ]
    assert lines[0].ratio is None and lines[3].ratio is None
    for line in (*lines[1:3], *lines[5:]):
        assert line.ratio is not None and line.ratio.n == 3
    hot = lines[4].ratio
    assert hot is not None and hot.ratio == pytest.approx(2.0, rel=0.05)


def test_a_setting_that_fails_leaves_the_others(lab: Lab) -> None:
    starter = Watched(COSTS, fails="measure-1")
    lines = run(lab, starter)
    assert [number for suite, number, _, _ in starter.started if suite == "measure-1"] == [0, 1, 2]
    for line in lines:
        if line.knobs == LIMIT.as_dict():
            assert line.outcome == (
                "failed: launches end with it in force: the library did not take a setting: x"
            )
            assert (line.seconds, line.ratio) == ([], None)
        else:
            assert line.outcome == "ok" and len(line.seconds) == 3


def test_what_is_hot() -> None:
    hot = ("coll_tuned_bcast_algorithm", "coll_tuned_bcast_algorithm_segmentsize")
    cold = ("coll_tuned_bcast_algorithm_knomial_radix", "coll_sm_priority", "pml", "unheard_of")
    assert all(SPACE.is_hot(name) for name in (*hot, "coll_han_priority"))
    assert not any(SPACE.is_hot(name) for name in cold)
    assert SPACE.with_needs("coll_adapt_bcast_algorithm", "4") == ADAPT.as_dict()
