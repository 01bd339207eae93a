"""What a turn of a campaign has decided stands in the next one where no winner that has changed
reaches; the rest is measured again."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.core.cell import Side
from plumbline.measure import tables
from plumbline.measure.launches import Series
from plumbline.measure.other_work import OtherWork
from plumbline.settings.campaign_file import load
from plumbline_db import runs, table_samples
from plumbline_db.records import Suite
from tests.tuner.beside_work import BUSY, QUIET, Shared
from tests.tuner.lab import Lab
from tests.tuner.measure.test_tables import FEW
from tests.tuner.simulated import Costs, SimulatedStarter

SETTINGS = load(None, {"nprocs": 4, "sizes": [64, 4096], "launches": 12, "blocks": 1, "reps": 2})


def measured(
    lab: Lab, turn: int, costs: Costs, *, decide: bool = True, **more: object
) -> tables.ViolationTable:
    store = lab.store(SimulatedStarter(costs, launch_noise=0.01))
    suite = Suite("confirm", turn)
    table = tables.ViolationTable(store, f"round-{turn}", FEW, SETTINGS, suite, **more)  # type: ignore[arg-type]
    Series(store, suite, tables.plan(SETTINGS, table.planned), {}).advance(12)
    table.look()
    if decide:
        table.decide()
    return table


def test_only_what_has_changed_is_measured_again(lab: Lab) -> None:
    first = measured(lab, 1, Costs())
    slow = Costs(default={"MPI_Allreduce": lambda _: 3.0})
    second = measured(
        *(lab, 2, slow),
        earlier=first,
        changed=lambda side: side == Side("MPI_Allreduce", "default", 64),
    )
    planned = {(case.function, case.variant, case.bytes) for case in second.planned}
    assert planned == {
        ("MPI_Allreduce", "default", 64),
        ("MPI_Allreduce", "default", 4096),  # the other side of a monotony
        ("MPI_Allreduce", "allreduce_as_reduce_plus_bcast", 64),
    }
    before, after = first.verdicts(), second.verdicts()
    cells = [(one.guideline, one.function, one.bytes) for one in before]
    assert [(one.guideline, one.function, one.bytes) for one in after] == cells
    assert {one.stage for one in after} == {"round-2"}
    kept = {(one.guideline, one.function, one.bytes) for one in after if "confirm-1" in one.suites}
    assert ("GL12", "MPI_Allreduce", 4096) in kept
    assert not any(function == "MPI_Allreduce" and size == 64 for _, function, size in kept)
    words = {(one.guideline, one.bytes): one.verdict for one in after}
    assert words["GL12", 64] == "violated"
    assert words["GL12", 4096] == "holds"  # as the first table has it


def test_what_all_looks_left_undecided_stands(lab: Lab) -> None:
    first = measured(lab, 1, Costs(default={"MPI_Allreduce": lambda _: 1.19}))
    assert "undecided" in {one.verdict for one in first.verdicts()}
    second = measured(lab, 2, Costs(), earlier=first, changed=lambda _: False)
    assert second.planned == []
    stand = [msgspec.structs.replace(one, stage="round-2") for one in first.verdicts()]
    assert second.verdicts() == stand


@pytest.mark.parametrize(
    ("first_others", "second_others", "again"),
    [(BUSY, QUIET, True), (BUSY, BUSY, False), (QUIET, QUIET, False)],
)
def test_what_load_left_undecided_is_measured_again_when_it_has_ended(
    lab: Lab, first_others: float, second_others: float, again: bool
) -> None:
    """Once: what is undecided on a quiet machine as well stands."""
    store = lab.store(
        Shared(
            lambda _: others.pop(0) if len(others) > 1 else others[0],
            Costs(default={"MPI_Allreduce": lambda _: 1.19}),
            launch_noise=0.01,
        ),
        other_work=OtherWork(),
    )

    def table(turn: int, earlier: tables.ViolationTable | None) -> tables.ViolationTable:
        suite = Suite("confirm", turn)
        found = tables.ViolationTable(
            *(store, f"round-{turn}", FEW, SETTINGS, suite),
            earlier=earlier,
            changed=lambda _: False,
        )
        plan = tables.plan(SETTINGS, found.planned)
        Series(store, suite, plan, {}).advance(12 if found.planned else 0)
        found.decide()
        return found

    others = [first_others]
    first = table(1, None)
    undecided = {one.bytes for one in first.verdicts() if one.verdict == "undecided"}
    assert undecided
    others = [second_others]
    Series(store, Suite("search"), tables.plan(SETTINGS, first.planned), {}).advance()
    second = table(2, first)
    assert {case.bytes for case in second.planned} >= undecided if again else not second.planned
    assert table(3, second).planned == []


def test_what_is_undecided_before_the_last_look_is_measured_again(lab: Lab) -> None:
    costs = Costs(default={"MPI_Allreduce": lambda _: 1.19})
    first = measured(lab, 1, costs, decide=False)
    undecided = {one.bytes for one in first.verdicts() if one.verdict == "undecided"}
    assert undecided
    second = measured(lab, 2, costs, earlier=first, changed=lambda _: False)
    assert {case.bytes for case in second.planned} >= undecided


def test_a_table_rests_on_the_launches_that_its_verdicts_name(lab: Lab) -> None:
    first = measured(lab, 1, Costs())
    second = measured(
        *(lab, 2, Costs(default={"MPI_Allreduce": lambda _: 3.0})),
        earlier=first,
        changed=lambda side: side == Side("MPI_Allreduce", "default", 64),
    )
    found = {
        (one.case.function, one.case.variant, one.case.bytes): len(one.runs)
        for one in table_samples.samples(lab.db, lab.campaign.id, second.verdicts())
    }
    assert found["MPI_Allreduce", "default", 64] == 12
    assert found["MPI_Allreduce", "default", 4096] == 24  # the same in both turns
    assert found["MPI_Gather", "default", 64] == 12
    every = runs.launch_samples(lab.db, lab.campaign.id, ["confirm-1"])
    plain = table_samples.samples(lab.db, lab.campaign.id, first.verdicts())
    assert [one.case for one in plain] == [one.case for one in every]
    assert set(table_samples.suites(second.verdicts())) == {"confirm-1", "confirm-2"}
