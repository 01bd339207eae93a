"""Harm costs a winner its place when it is seen twice, in fresh pairs of launches."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite
from tests.tuner.campaign.test_confirm_looks import CHOSEN, confirmed
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, SimulatedStarter

SHORT = load(None, {"nprocs": 4, "sizes": [4096, 16384], "launches": 12, "blocks": 1, "reps": 2})


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


def test_no_harm_no_second_pass(lab: Lab, tmp_path: Path) -> None:
    done, plans = confirmed(lab, tmp_path, Haunted(0.8), SHORT)
    assert not any("again" in suite for suite in plans)
    (kept,) = done.winners
    assert kept.speedup == pytest.approx(1 / 0.8, rel=0.05)


def test_harm_seen_once_was_chance(lab: Lab, tmp_path: Path) -> None:
    done, _ = confirmed(lab, tmp_path, Haunted(0.9, "confirm-1"), SHORT)
    again = [one for one in lab.runs() if "again" in one.suite]
    suites = ["confirm-1-again", "confirm-1-again-default"]
    assert [one.suite for one in again] == suites * SHORT.sampling.launches
    assert [bool(one.environment) for one in again] == [True, False] * SHORT.sampling.launches
    assert not any(why.startswith("slower at") for _, why in done.dropped)


def test_harm_seen_twice_counts(lab: Lab, tmp_path: Path) -> None:
    starter = Haunted(0.9, "confirm-1", "confirm-1-again")
    done, plans = confirmed(lab, tmp_path, starter, SHORT)
    assert "confirm-1-again" in plans
    assert done.winners == []
    ((who, why),) = done.dropped
    assert who == CHOSEN
    assert why.startswith("slower at")


def test_both_sides_repeat_calls_as_often(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of 64 calls of a third of a microsecond is a tenth faster than one of 4."""

    def filled(_: LaunchStore, suite: Suite, plan: Plan) -> Plan:
        return msgspec.structs.replace(plan, reps=1000 // len(plan.cases))

    monkeypatch.setattr(LaunchStore, "filled", filled)
    confirmed(lab, tmp_path, Haunted(0.8), SHORT)
    rows: dict[str, dict[str, str]] = {}
    for one in lab.runs(["confirm-1", "confirm-1-default"]):
        for line in one.plan.splitlines():
            if line.startswith("case "):
                case, reps = line.partition(" function=")[2].split(" reps=")
                rows.setdefault(one.suite, {})[case] = reps
    assert len(rows["confirm-1"]) > len(rows["confirm-1-default"])
    assert rows["confirm-1-default"].items() <= rows["confirm-1"].items()
