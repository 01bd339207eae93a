"""Harm costs a winner its place when it is seen twice, in fresh pairs of launches."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite
from tests.exporters.bundles import tuned
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


@pytest.mark.parametrize(("rest", "left"), [(0.8, [(4096, 4096)]), (1.0, [])])
def test_what_is_slower_at_a_size_loses_that_size(
    lab: Lab, tmp_path: Path, rest: float, left: list[tuple[int, int]]
) -> None:
    """The rest stays, if it is faster by itself."""

    def times(size: int, *_: object) -> float:
        return rest if size < 16384 else 1.3

    starter = SimulatedStarter(
        Costs(algorithm={("MPI_Bcast", "binomial"): times}), launch_noise=0.02
    )
    chosen = msgspec.structs.replace(tuned("MPI_Bcast", "binomial", 4096, 20000), removes=[])
    done, _ = confirmed(lab, tmp_path, starter, SHORT, chosen=chosen)
    assert [(one.bytes_from, one.bytes_to) for one in done.winners] == left
    assert all(one.speedup == pytest.approx(1 / 0.8, rel=0.05) for one in done.winners)
    first, *_ = done.dropped
    assert (first[0].bytes_from, first[0].bytes_to) == (16384, 20000)
    assert first[1].startswith("slower at 16384 B: 1.")


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
