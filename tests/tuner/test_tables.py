"""The cases of a violation table, its two looks, and why a cell has no time."""

from __future__ import annotations

import msgspec
import pytest

from plumbline import tables
from plumbline.measure import Laboratory, Series
from plumbline.plan import PlanCase
from plumbline.settings import Settings, load
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign
from tests.tuner.simulated import GUIDELINES, Costs, SimulatedStarter

FEW = msgspec.structs.replace(
    GUIDELINES, patterns=[one for one in GUIDELINES.patterns if one.id in ("GL3", "GL12")]
)


def settings(**changes: object) -> Settings:
    chosen = {"nprocs": 4, "sizes": [1, 64, 16384], "launches": 12, "blocks": 1, "reps": 2}
    return load(None, chosen | changes)


def test_every_left_side_and_the_right_sides_of_patterns() -> None:
    found = tables.cases(FEW, settings())
    assert found == [
        PlanCase("MPI_Gather", 64),
        PlanCase("MPI_Gather", 16384),
        PlanCase("MPI_Allreduce", 1),
        PlanCase("MPI_Allreduce", 64),
        PlanCase("MPI_Allreduce", 16384),
        PlanCase("MPI_Gather", 64, "gather_as_allgather"),
        PlanCase("MPI_Gather", 16384, "gather_as_allgather"),
        PlanCase("MPI_Allreduce", 1, "allreduce_as_reduce_plus_bcast"),
        PlanCase("MPI_Allreduce", 64, "allreduce_as_reduce_plus_bcast"),
        PlanCase("MPI_Allreduce", 16384, "allreduce_as_reduce_plus_bcast"),
    ]


def test_the_plan_carries_the_settings() -> None:
    wanted = settings(type="MPI_DOUBLE", op="MPI_SUM", root=3, seed=9, blocks=4, reps=7)
    plan = tables.plan(wanted, [])
    assert (plan.data.type, plan.data.op, plan.data.root) == ("MPI_DOUBLE", "MPI_SUM", 3)
    assert (plan.seed, plan.blocks, plan.reps) == (9, 4, 7)


def looked_at(db: Database, campaign: Campaign, starter: SimulatedStarter, wanted: Settings):  # type: ignore[no-untyped-def]
    lab = Laboratory(db, campaign.id, starter)
    Series(lab, "before", tables.plan(wanted, tables.cases(FEW, wanted)), {}).advance(
        wanted.launches
    )
    return lab, tables.judge(lab, "before", FEW, wanted, ["before"])


def test_second_look_measures_the_undecided_alone(db: Database, campaign: Campaign) -> None:
    """Allreduce at 16 KiB is 2 % slower than its mock-up, in much noise."""
    costs = Costs(default={"MPI_Allreduce": lambda size: 1.14 if size == 16384 else 1.0})
    starter = SimulatedStarter(costs, case_noise=0.08)
    wanted = settings()
    lab, first = looked_at(db, campaign, starter, wanted)
    undecided = [one for one in first if one.verdict == "undecided"]
    assert ("GL12", 16384) in {(one.guideline, one.bytes) for one in undecided}
    found = tables.second_look(lab, "before", FEW, wanted, "before", {}, first)
    plans = [one.plan for one in runs.listing(db, campaign.id, ["before-more"])]
    assert len(plans) == wanted.launches
    measured = {line for line in plans[0].splitlines() if line.startswith("case")}
    sides = {case for one in undecided for case in tables.sides(one)}
    assert len(measured) == len(sides) < len(tables.cases(FEW, wanted))
    by_cell = {(one.guideline, one.function, one.bytes): one for one in found}
    for one in undecided:
        again = by_cell[one.guideline, one.function, one.bytes]
        assert again.launches == 2 * wanted.launches
        assert again.suites == ["before", "before-more"]
    decided = [one for one in first if one.verdict != "undecided"]
    for one in decided:
        assert by_cell[one.guideline, one.function, one.bytes].launches == wanted.launches


def test_nothing_undecided_nothing_more(db: Database, campaign: Campaign) -> None:
    wanted = settings()
    lab, first = looked_at(db, campaign, SimulatedStarter(Costs(), case_noise=0.001), wanted)
    assert {one.verdict for one in first} == {"holds"}
    assert tables.second_look(lab, "before", FEW, wanted, "before", {}, first) == first
    assert runs.listing(db, campaign.id, ["before-more"]) == []


def test_looks_are_paid_for(db: Database, campaign: Campaign) -> None:
    """p is multiplied by the number of looks: 2^-6 at six launches becomes 2^-5."""
    costs = Costs(default={"MPI_Allreduce": lambda _: 3.0})
    wanted = settings(launches=6, sizes=[64, 16384])
    _, found = looked_at(db, campaign, SimulatedStarter(costs), wanted)
    cell = next(one for one in found if (one.guideline, one.bytes) == ("GL12", 64))
    assert cell.p == pytest.approx(2**-6)
    assert cell.p_adjusted is not None and cell.p_adjusted >= 2**-5


@pytest.mark.parametrize("kind", ["monotony", "split", "pattern"])
def test_sides(db: Database, campaign: Campaign, kind: str) -> None:
    wanted = settings()
    _, found = looked_at(db, campaign, SimulatedStarter(Costs()), wanted)
    planned = set(tables.cases(FEW, wanted))
    of_kind = [one for one in found if one.kind == kind]
    assert of_kind
    for one in of_kind:
        left, right = tables.sides(one)
        assert {left, right} <= planned
        assert left == PlanCase(one.function, one.bytes)
        assert (right.variant == "default") == (kind != "pattern")
        if kind == "monotony":
            assert right.bytes > left.bytes


def test_a_mock_up_that_is_wrong_leaves_its_cells_undecided(
    db: Database, campaign: Campaign
) -> None:
    starter = SimulatedStarter(
        Costs(), spoil=lambda case: "wrong" if case.variant == "gather_as_allgather" else "ok"
    )
    _, found = looked_at(db, campaign, starter, settings())
    cells = [one for one in found if one.guideline == "GL3"]
    assert len(cells) == 2
    for one in cells:
        assert one.verdict == "undecided"
        assert one.reason == "right side gather_as_allgather: wrong: simulated"
        assert one.ratio is None
