"""Harm costs a winner its place when it is seen twice, in fresh pairs of launches."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.campaign.confirm import Confirmation, confirm
from plumbline.campaign.proof import environment_of
from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore
from plumbline.measure.tables import ViolationTable
from plumbline.settings.campaign_file import load
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Run, Suite
from plumbline_exporters import plumbline_sh
from plumbline_exporters.registry import write
from tests.exporters.bundles import bundle, tuned
from tests.tuner.simulated import GUIDELINES, Costs, SimulatedStarter

SETTINGS = load(None, {"nprocs": 4, "sizes": [4096, 16384], "launches": 12, "blocks": 1, "reps": 2})
FEW = msgspec.structs.replace(
    GUIDELINES, patterns=[one for one in GUIDELINES.patterns if one.id in ("GL7", "GL12")]
)
CHOSEN = tuned("MPI_Scatter", "binomial")


class Haunted(SimulatedStarter):
    """The chosen rule takes `rule` times the default's time; launches of some suites with the
    exported files in force take 30 % longer in it."""

    def __init__(self, rule: float, *suites: str) -> None:
        super().__init__(Costs(), launch_noise=0.02)
        self._rule, self._haunted = rule, suites

    def seen(self, suite: str, extra: dict[str, str]) -> dict[str, str]:
        slow = 1.3 if suite in self._haunted else 1.0
        rule = {("MPI_Scatter", "binomial"): lambda *_: slow * self._rule}
        self._costs = Costs(algorithm=rule)
        return extra


def confirmed(
    db: Database, campaign: Campaign, folder: Path, starter: SimulatedStarter
) -> tuple[Confirmation, list[Run]]:
    write(bundle(CHOSEN, directory=str(folder)), ["env"])
    environment = environment_of(folder / plumbline_sh.FILE_NAME, starter.clean_environment())
    store = LaunchStore(db, campaign.id, starter)
    suite = Suite("confirm", 1)
    table = ViolationTable(store, "round-1", FEW, SETTINGS, suite, environment)
    done = confirm(store, suite, table, FEW, SETTINGS, environment, [CHOSEN])
    return done, [
        one for one in runs.listing(db, campaign.id) if one.suite.startswith("confirm-1-again")
    ]


def test_no_harm_no_second_pass(db: Database, campaign: Campaign, tmp_path: Path) -> None:
    done, again = confirmed(db, campaign, tmp_path, Haunted(0.8))
    assert again == []
    (kept,) = done.winners
    assert kept.speedup == pytest.approx(1 / 0.8, rel=0.05)


def test_harm_seen_once_was_chance(db: Database, campaign: Campaign, tmp_path: Path) -> None:
    done, again = confirmed(db, campaign, tmp_path, Haunted(0.9, "confirm-1"))
    suites = ["confirm-1-again", "confirm-1-again-default"]
    assert [one.suite for one in again] == suites * SETTINGS.sampling.launches
    assert [bool(one.environment) for one in again] == [True, False] * SETTINGS.sampling.launches
    assert not any(why.startswith("slower at") for _, why in done.dropped)


def test_harm_seen_twice_counts(db: Database, campaign: Campaign, tmp_path: Path) -> None:
    starter = Haunted(0.9, "confirm-1", "confirm-1-again")
    done, again = confirmed(db, campaign, tmp_path, starter)
    assert again
    assert done.winners == []
    ((who, why),) = done.dropped
    assert who == CHOSEN
    assert why.startswith("slower at")


def test_both_sides_repeat_calls_as_often(
    db: Database, campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of 64 calls of a third of a microsecond is a tenth faster than one of 4."""

    def filled(_: LaunchStore, suite: Suite, plan: Plan) -> Plan:
        return msgspec.structs.replace(plan, reps=1000 // len(plan.cases))

    monkeypatch.setattr(LaunchStore, "filled", filled)
    confirmed(db, campaign, tmp_path, Haunted(0.8))
    rows = {
        one.suite: [word for word in one.plan.split() if word.startswith("reps=")]
        for one in runs.listing(db, campaign.id, ["confirm-1", "confirm-1-default"])
    }
    assert len(rows["confirm-1"]) > len(rows["confirm-1-default"])
    assert len({*rows["confirm-1"], *rows["confirm-1-default"]}) == 1
