"""Rules that are wrong somewhere in their ranges are found before they are exported."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from plumbline.campaign.vetting import CALLS, Trials, trials
from plumbline.core.plan import Data
from plumbline.settings.campaign_file import load
from plumbline_db.probe_records import CaseRecord
from plumbline_db.records import UNBOUNDED_BYTES, Winner
from tests.exporters.bundles import tuned, variant
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, SimulatedStarter

SETTINGS = load(None, {"nprocs": 4, "sizes": [64, 512]})
SIZES = {"MPI_Allreduce": [8, 64, 512, 4096], "MPI_Gather": [64, 512, 4096]}
RING = tuned("MPI_Allreduce", "ring", 64, 512)
BINOMIAL = variant("MPI_Gather", "gather_binomial", 64, 4096)


def judged(
    lab: Lab,
    *winners: Winner,
    corrupt: Callable[[CaseRecord], str] = lambda _: "ok",
    crashes: Callable[[CaseRecord], bool] = lambda _: False,
) -> tuple[list[tuple[Winner, str]], list[tuple[str, str]], SimulatedStarter]:
    starter = SimulatedStarter(Costs(), corrupt=corrupt, crashes=lambda case, _: crashes(case))
    tried = Trials(lab.store(starter), SETTINGS, SIZES)
    found = tried.wrong(1, winners, {})
    if not found:
        assert tried.wrong(2, winners, {}) == []  # nothing is tried twice
    said = [(one.kind, one.text) for one in lab.events()]
    return found, said, starter


def test_a_rule_is_tried_over_its_range_with_the_types_of_applications() -> None:
    found = trials(RING, SETTINGS, SIZES)
    assert {(one.function, one.least, one.bytes) for one in found} == {("MPI_Allreduce", 64, 512)}
    assert [one.data for one in found] == [
        Data("MPI_FLOAT", "MPI_SUM"),
        Data("MPI_DOUBLE", "MPI_SUM"),
        Data("MPI_BYTE", "MPI_BOR"),
    ]
    assert found[0].calls == CALLS > found[1].calls > 100
    (every, *_) = trials(tuned("MPI_Allreduce", "ring", 0, 3000), SETTINGS, SIZES)
    assert every.calls - every.calls // 8 >= 751  # the others are of any count


def test_rules_without_an_end_and_large_ones_have_bounds() -> None:
    found = trials(tuned("MPI_Gather", "binomial", 0, UNBOUNDED_BYTES), SETTINGS, SIZES)
    assert {one.bytes for one in found} == {4 << 20}
    assert found[0].calls == CALLS
    (wide, *_) = trials(tuned("MPI_Gather", "binomial", 64, 1 << 30), SETTINGS, SIZES)
    assert wide.calls == CALLS and 64 < wide.mean < 1 << 20
    (large, *_) = trials(tuned("MPI_Gather", "binomial", 1 << 28, 1 << 30), SETTINGS, SIZES)
    assert large.calls == 100 and large.mean == large.least


def test_what_is_right_is_said_and_not_tried_again(lab: Lab) -> None:
    found, said, starter = judged(lab, RING, BINOMIAL)
    assert found == []
    assert [kind for kind, _ in said] == ["results checked"]
    assert "2 winners" in said[0][1]
    assert starter.launches == [("trial-1", 0)]


@pytest.mark.parametrize("outcome", ["wrong", "error"])
def test_a_wrong_result_costs_the_place(lab: Lab, outcome: str) -> None:
    found, said, _ = judged(
        lab,
        RING,
        BINOMIAL,
        corrupt=lambda case: outcome if case.type == "MPI_FLOAT" and case.calls else "ok",
    )
    ((winner, why),) = found
    assert winner == RING
    assert why == f"{outcome} result (MPI_FLOAT/MPI_SUM): simulated"
    assert said == []


def test_what_crashes_costs_the_place(lab: Lab) -> None:
    found, _, starter = judged(
        lab, RING, BINOMIAL, crashes=lambda case: case.function == "MPI_Gather"
    )
    assert [winner for winner, _ in found] == [BINOMIAL]
    assert "launches fail" in found[0][1]
    assert len(starter.launches) > 2


def test_of_rules_around_each_other_the_narrower_is_to_blame(lab: Lab) -> None:
    around = tuned("MPI_Gather", "linear_sync", 0, UNBOUNDED_BYTES)
    found, _, _ = judged(
        lab, around, BINOMIAL, corrupt=lambda case: "wrong" if case.calls else "ok"
    )
    assert [winner for winner, _ in found] == [BINOMIAL]
