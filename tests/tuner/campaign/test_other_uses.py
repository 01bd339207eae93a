"""What a table's cells are in other ways of use."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.campaign import other_uses
from plumbline.measure import tables
from plumbline.measure.launches import Series
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite, Verdict
from tests.tuner.lab import Lab
from tests.tuner.simulated import GUIDELINES, Costs, SimulatedStarter

FEW = msgspec.structs.replace(
    GUIDELINES, patterns=[one for one in GUIDELINES.patterns if one.id in ("GL7", "GL12")]
)
MOCKUP = next(one.variant for one in FEW.patterns if one.id == "GL12")


@pytest.fixture
def settings() -> Settings:
    return load(
        None, {"nprocs": 4, "sizes": [64, 4096], "launches": 9, "launches_max": 9, "blocks": 2}
    )


def looked(
    lab: Lab, settings: Settings, costs: Costs, *, whole: bool = True
) -> tuple[other_uses.Elsewhere, SimulatedStarter]:
    starter = SimulatedStarter(costs, launch_noise=0.02)
    store = lab.store(starter)
    plan = tables.plan(settings, tables.cases(FEW, settings))
    Series(store, Suite("before"), plan, {}).advance(settings.sampling.launches)
    table = tables.ViolationTable(store, "before", FEW, settings, Suite("before")).decide()
    uses = other_uses.OtherUses(FEW, settings, crowded=True, whole=whole)
    return uses.look(store, "before", {}, table), starter


def of(table: list[Verdict], guideline: str, size: int) -> Verdict:
    return next(one for one in table if (one.guideline, one.bytes) == (guideline, size))


def test_violated_everywhere_does_not_depend(lab: Lab, settings: Settings) -> None:
    costs = Costs(default={"MPI_Allreduce": lambda _: 2.0})
    found, _ = looked(lab, settings, costs)
    cell = of(found.table, "GL12", 64)
    assert cell.verdict == "violated"
    assert [(one.use, one.verdict) for one in cell.uses] == [
        ("loop", "violated"),
        ("stream", "violated"),
    ]
    assert not cell.depends
    assert found.only == []


def test_what_holds_in_a_stream_depends(lab: Lab, settings: Settings) -> None:
    costs = Costs(default={"MPI_Allreduce": lambda _: 2.0}, where={(MOCKUP, "stream"): 4.0})
    found, _ = looked(lab, settings, costs)
    cell = of(found.table, "GL12", 4096)
    assert cell.depends
    assert {one.use: one.verdict for one in cell.uses} == {"loop": "violated", "stream": "holds"}


def test_what_is_violated_in_loops_alone_is_found(lab: Lab, settings: Settings) -> None:
    found, _ = looked(lab, settings, Costs(where={(MOCKUP, "loop"): 0.4}))
    assert of(found.table, "GL12", 64).verdict == "holds"
    assert of(found.table, "GL12", 64).depends
    assert {(one.guideline, one.bytes) for one in found.only} == {
        ("GL12 (loop)", 64),
        ("GL12 (loop)", 4096),
    }


def test_only_what_is_violated_is_measured_again(lab: Lab, settings: Settings) -> None:
    found, starter = looked(lab, settings, Costs(), whole=False)
    assert found.only == []
    assert {suite for suite, _ in starter.launches} == {"before"}
    assert all(not one.uses for one in found.table)


def test_they_ride_in_the_last_look(lab: Lab, settings: Settings) -> None:
    """What is violated there is what own launches say, and there are none."""
    settings = msgspec.structs.replace(
        settings, sampling=msgspec.structs.replace(settings.sampling, launches_max=22)
    )
    noisy = SimulatedStarter(
        Costs(default={"MPI_Allreduce": lambda size: 2.0 if size < 4096 else 1.2}), case_noise=0.03
    )
    store = lab.store(noisy)
    plan = tables.plan(settings, tables.cases(FEW, settings))
    Series(store, Suite("before"), plan, {}).advance(settings.sampling.launches)
    uses = other_uses.OtherUses(FEW, settings, crowded=True, whole=False)
    table = tables.ViolationTable(
        store, "before", FEW, settings, Suite("before"), riders=uses.riders
    )
    verdicts = table.decide()
    assert table.ridden == "before-look-04"
    found = uses.look(store, "before", {}, verdicts, table.ridden)
    assert {suite for suite, _ in noisy.launches} == {
        "before",
        *(f"before-look-{look:02d}" for look in (2, 3, 4)),
    }
    assert found.only == []
    for one in found.table:
        assert bool(one.uses) == (one.verdict == "violated")
