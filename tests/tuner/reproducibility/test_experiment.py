"""The whole experiment over the simulated library: what is launched, what comes out, resuming."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.reproducibility import experiment
from plumbline.reproducibility.experiment import (
    PILOTS,
    Experiment,
    ExperimentOutcome,
    RanksUnderTest,
)
from plumbline.reproducibility.report import effect_table, report, spread_table
from plumbline.reproducibility.settings import ReproducibilitySettings, checked, full, quick
from plumbline.settings import Settings as CampaignSettings
from plumbline.settings import starting
from plumbline.system.machine import processing_units
from plumbline_db import campaigns, cost, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.probe_records import CaseRecord
from tests.tuner import simulated
from tests.tuner.simulated import Costs, Interrupted, SimulatedStarter

KNOWN = list(simulated.LATENCY)
SMALL = ReproducibilitySettings(
    nprocs=[2, 4],
    functions=["MPI_Bcast"],
    sizes=[8, 4096],
    trials=4,
    launches=3,
    effect_functions=["MPI_Bcast", "MPI_Reduce"],
    effect_sizes=[8, 512, 4096, 65536],
    effect_launches=12,
    effects=[0.5, 20.0],
    blocks=2,
    reps=3,
)


class Starters:
    """In the place of starting.starter: one simulated library, a starter for each rank count."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **how: object) -> None:
        self.how = how
        self.made: dict[int, SimulatedStarter] = {}
        monkeypatch.setattr(starting, "starter", self.starter)

    def starter(self, toolchain: object, settings: CampaignSettings) -> SimulatedStarter:
        nprocs = settings.ranks.nprocs
        self.made[nprocs] = SimulatedStarter(Costs(), nprocs=nprocs, **self.how)  # type: ignore[arg-type]
        return self.made[nprocs]

    def launches(self) -> int:
        return sum(len(one.launches) for one in self.made.values())


def run(
    db: Database, settings: ReproducibilitySettings = SMALL, *, new: bool = False
) -> tuple[list[RanksUnderTest], ExperimentOutcome]:
    ranks = experiment.begin(db, simulated.toolchain(), settings, new=new)
    return ranks, Experiment(ranks, settings).run()


def test_what_is_launched(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    starters = Starters(monkeypatch)
    ranks, outcome = run(db)
    assert starters.launches() == experiment.launches_in_all(SMALL)
    assert [rank.nprocs for rank in ranks] == [2, 4]
    for rank in ranks:
        counts: dict[str, int] = {}
        for one in runs.listing(db, rank.campaign.id):
            counts[one.suite] = counts.get(one.suite, 0) + 1
        trials = {f"trial-{number:03d}": 3 for number in range(4)}
        plain = {"plain-each": 4, "plain-series": 4, "plain-skampi": 4}
        assert counts == {"pilot": PILOTS, "effects": 12} | plain | trials
        assert campaigns.every(db)[rank.nprocs // 2 - 1].state == "finished"
    assert campaigns.all_campaigns(db) == []
    assert outcome.trials == 4 and outcome.missing == []
    plans = [one.plan for one in runs.listing(db, ranks[0].campaign.id, ["plain-series"])]
    assert all("clock=wtime plain=series" in plan and "reps=1000" in plan for plan in plans)
    plans = [one.plan for one in runs.listing(db, ranks[0].campaign.id, ["plain-skampi"])]
    assert all(" plain=" not in plan and "reps=33" in plan for plan in plans)
    assert all("clock_sync=skampi" in plan and " sync=" in plan for plan in plans)


def test_spread_of_launches_that_differ(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of the simulated library differ by 25 %; nine of them less than one."""
    Starters(monkeypatch)
    settings = msgspec.structs.replace(SMALL, effect_launches=0, launches=9, trials=8)
    _, outcome = run(db, settings)
    assert [(one.function, one.nprocs, one.bytes) for one in outcome.spreads] == [
        ("MPI_Bcast", nprocs, size) for nprocs in (2, 4) for size in (8, 4096)
    ]
    table = spread_table(outcome.spreads, outcome.trials, 9)
    assert table.smaller == table.cells == 4
    for row in table.rows:
        assert len(row.ours.seconds) == len(row.plain["each"].seconds) == 8
        assert all(1e-6 < one < 1e-4 for one in row.ours.seconds)
    assert outcome.comparisons == {"medians": [], "pairs": []}


def test_planted_effects_are_found_and_twins_are_not(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 % stand out of 1 % noise between cases of a launch, half a per cent does not."""
    Starters(monkeypatch)
    _, outcome = run(db)
    for comparisons in outcome.comparisons.values():
        # Two rank counts, two functions, four sizes; itself and two effects.
        assert len(comparisons) == 2 * 8 * 3
        assert all(len(one.log_ratios) == 12 for one in comparisons)
        table = effect_table(comparisons)
        assert {one.share for one in table.power if one.effect == 20} == {1.0}
        assert table.false_alarms.comparisons == 16
        assert table.false_alarms.adjusted <= 1
        # What the delay comes out as: in the simulated library waits do not add up.
        sharing = {nprocs: -(-nprocs // processing_units()) for nprocs in (2, 4)}
        for one in table.power:
            if one.effect == 20:
                assert one.realised == pytest.approx(20 / sharing[one.nprocs], abs=4)


def test_delays_follow_the_medians_of_recent_launches(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    Starters(monkeypatch, launch_noise=0.0, case_noise=0.0)
    ranks, _ = run(db, msgspec.structs.replace(SMALL, effects=[10.0]))
    (first, *_) = runs.listing(db, ranks[0].campaign.id, ["effects"])
    _, _, listed = simulated.parse(first.plan)
    delayed = [one for one in listed if one.delay_ns]
    assert len(delayed) == 8 and len(listed) == 24
    sharing = -(-2 // processing_units())
    for one in delayed:
        own = 1000 * Costs().library(one.function, one.bytes, {})
        assert one.delay_ns * sharing == pytest.approx(0.1 * own, rel=0.03)


@pytest.mark.parametrize("stop_after", [0, 1, 7, 20])
def test_an_interrupted_experiment_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    with Database.open(tmp_path / "whole.db", write=True) as db:
        Starters(monkeypatch)
        _, whole = run(db)
    with Database.open(tmp_path / "parts.db", write=True) as db:
        first = Starters(monkeypatch, stop_after=stop_after)
        with pytest.raises(Interrupted):
            run(db)
        second = Starters(monkeypatch)
        ranks, resumed = run(db)
        assert first.launches() + second.launches() == experiment.launches_in_all(SMALL)
        third = Starters(monkeypatch)
        assert run(db)[1] == resumed and third.launches() == 0
        assert cost.cost(db, ranks[0].campaign.id).failed == 0
        again = Starters(monkeypatch)
        run(db, new=True)
        assert again.launches() == experiment.launches_in_all(SMALL)
    assert resumed == whole


def test_a_budget_ends_the_trials(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches take half a second: effects 15 s, a trial 6 s."""
    Starters(monkeypatch)
    settings = msgspec.structs.replace(SMALL, trials=9, budget_seconds=40.0)
    _, outcome = run(db, settings)
    assert outcome.trials == 4
    assert outcome.seconds.effects == pytest.approx(15)
    assert outcome.seconds.ours == pytest.approx(12)
    assert outcome.seconds.plain == pytest.approx({"each": 4, "series": 4, "skampi": 4})


def test_a_budget_leaves_trials_to_compare(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    Starters(monkeypatch)
    _, outcome = run(db, msgspec.structs.replace(SMALL, trials=9, budget_seconds=1.0))
    assert outcome.trials == experiment.LEAST_TRIALS


def test_what_fails_its_check_is_missing_with_its_name(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def corrupt(case: CaseRecord) -> str:
        return "wrong" if (case.function, case.bytes) == ("MPI_Bcast", 4096) else "ok"

    Starters(monkeypatch, corrupt=corrupt)
    ranks, outcome = run(db)
    assert [one.bytes for one in outcome.spreads] == [8, 8]
    assert {one.bytes for one in outcome.comparisons["pairs"] if one.function == "MPI_Bcast"} == {
        *(8, 512, 65536)
    }
    assert sorted(outcome.missing) == [
        f"MPI_Bcast, 4096 bytes, {nprocs} ranks: its result is wrong, or the library refuses it"
        for nprocs in (2, 4)
    ]
    text = msgspec.json.encode(report(simulated.toolchain(), ranks, SMALL, outcome)).decode()
    assert "MPI_Bcast, 4096 bytes" in text


def test_launches_that_fail_again_and_again_name_the_culprit(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    Starters(monkeypatch, crashes=lambda case, _: case.bytes == 512)
    with pytest.raises(PlumblineError, match=r"MPI_Bcast with 512 bytes was under way: leave it"):
        run(db)
    # What failed may have been put right: the same command tries again, under other numbers.
    Starters(monkeypatch)
    ranks, outcome = run(db)
    assert outcome.trials == 4
    failed = [one for one in runs.listing(db, ranks[0].campaign.id) if not one.finished]
    assert [one.sequence for one in failed] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"functions": ["MPI_Bcats"]}, "MPI_Bcats"),
        ({"functions": []}, "--functions"),
        ({"sizes": [0]}, "--sizes"),
        ({"nprocs": [1]}, "--nprocs"),
        ({"trials": 1}, "--trials"),
        ({"launches": 0}, "--launches"),
        ({"effect_launches": 5}, "effect_launches"),
        ({"effect_launches": -1}, "effect_launches"),
        ({"effects": [0.0]}, "effects"),
        ({"effects": [float("nan")]}, "effects"),
        ({"seed": -1}, "--seed"),
    ],
)
def test_settings_that_cannot_be_measured(change: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        checked(msgspec.structs.replace(SMALL, **change), KNOWN)


def test_the_full_experiment_has_500_comparisons_and_the_quick_one_both_functions() -> None:
    settings = checked(full([*KNOWN, "MPI_Barrier"]), [*KNOWN, "MPI_Barrier"])
    assert "MPI_Barrier" not in settings.effect_functions
    cells = sum(len(settings.effect_cells(nprocs)) for nprocs in settings.nprocs)
    # The probe knows four functions more than the simulated library does.
    assert cells >= 450
    assert settings.effect_launches == 15
    small = checked(quick(), KNOWN)
    assert (small.functions, small.nprocs) == (["MPI_Bcast", "MPI_Allreduce"], [2, 4])
    assert small.effects == [5, 10] and small.budget_seconds <= 160
