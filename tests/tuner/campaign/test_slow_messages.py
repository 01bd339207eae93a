"""Winners in launches in which messages between ranks take longer: which cells are slower then,
what is left of a winner, and a campaign on a machine with two such states."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from plumbline.campaign import acceptance, pairs
from plumbline.campaign.pairs import ENOUGH, LEAST, LaunchRatios
from plumbline.core.cell import Target
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.launches import Series, SlowLaunches
from plumbline.search.space.candidates import Candidate
from plumbline.settings.campaign_file import load
from plumbline.verify.decision import Claim
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.probe_records import HostLoad, Load, ProbeRecord
from plumbline_db.records import Run, Suite, Winner
from tests.db import build
from tests.tuner import whole
from tests.tuner.lab import Lab
from tests.tuner.simulated import GUIDELINES, Costs, Rules, SimulatedStarter, toolchain

SIZES = [64, 1024, 4096, 16384, 65536]
USUAL, LONG = 300, 700  # nanoseconds of a round trip


def winner(**changes: object) -> Winner:
    values = {"function": "MPI_Gather", "variant": "gather_binomial", "removes": []}
    return build.winner(**(values | {"bytes_from": 64, "bytes_to": 65536} | changes))


def measured(slow: Mapping[int, float], launches: int = 6) -> LaunchRatios:
    """A winner that takes 0.6 of the time in all launches, but for sizes that take so many times as
    long as the library in the first `launches` of twelve."""
    chance = random.Random(1)
    found = LaunchRatios()
    for size in range(64, 64 + 30):
        ratio = slow.get(size, 0.6)
        found.add(
            Candidate.of_winner(winner()),
            Target("MPI_Gather", size),
            {
                launch: math.log(ratio if launch < launches else 0.6) + chance.gauss(0, 0.05)
                for launch in range(12)
            },
        )
    return found


def test_a_cell_that_is_slower_in_these_launches_alone_is_found() -> None:
    ratios = measured({70: 1.5, 71: 0.9})
    assert set(ratios.slower([winner()], range(6), Claim(tolerance=0.05))) == {
        Target("MPI_Gather", 70)
    }
    assert not ratios.slower([winner()], range(6, 12), Claim(tolerance=0.05))
    assert not ratios.slower([winner(variant="gather_ring")], range(6), Claim(tolerance=0.05))


def test_a_single_launch_decides_nothing() -> None:
    ratios = measured({70: 1.5}, launches=LEAST - 1)
    assert not ratios.slower([winner()], range(LEAST - 1), Claim(tolerance=0.05))


def test_cells_that_few_of_these_launches_have_measured_are_unknown() -> None:
    ratios = measured({})
    assert len(ratios.unknown([winner()], range(ENOUGH - 1))) == 30
    assert not ratios.unknown([winner()], range(ENOUGH))
    assert not ratios.unknown([winner(variant="gather_ring")], [])


def test_a_winner_through_memory_holds_where_its_gain_is_more_than_messages_lose() -> None:
    ratios, shared = LaunchRatios(), winner(variant="gather_shared_memory", bytes_to=1 << 20)
    messages = winner(function="MPI_Bcast", variant="bcast_binomial", bytes_to=1 << 20)
    times = {16384: 0.6, 32768: 0.2, 65536: 0.6, 131072: 0.6}
    for one in (shared, messages):
        for size, ratio in times.items():
            logs = dict.fromkeys(range(4 if size < 131072 else 4 + LEAST), math.log(ratio))
            ratios.add(Candidate.of_winner(one), Target(one.function, size), logs)
    slow = SlowLaunches(frozenset(range(4, 9)), 2.2)
    claim = Claim(tolerance=0.05)
    assert set(ratios.doubtful([shared, messages], slow, claim)) == {Target("MPI_Gather", 65536)}
    assert not ratios.doubtful([shared], SlowLaunches(slow.numbers, 1.5), claim)


def test_the_rest_of_a_winner_stays() -> None:
    ratios = measured({70: 1.5})
    slower = ratios.slower([winner()], range(6), Claim(tolerance=0.05))
    other = winner(function="MPI_Reduce", variant="reduce_ring")
    left, ((lost, why),) = pairs.without(
        [winner(bytes_to=93), other],
        slower,
        {"MPI_Gather": range(64, 94)},
        lambda cell, comparison: f"slower at {cell.bytes} B: {comparison.ratio:.1f}",
    )
    assert [(each.bytes_from, each.bytes_to) for each in left] == [(64, 69), (71, 93), (64, 65536)]
    assert (lost.bytes_from, lost.bytes_to) == (70, 70)
    assert why == "slower at 70 B: 1.5"


class TwoStates(SimulatedStarter):
    """A machine with launches in which messages take long: the first one, and some of those that
    wait for it. `gather_binomial` is slower than the library in these from 16 KiB on."""

    def seen(self, suite: str, extra: dict[str, str]) -> dict[str, str]:
        _, sequence = self.launches[-1]
        self.is_slow = len(self.launches) == 1 or (
            suite.endswith("slow") or (suite.startswith("wait") and sequence > 2)
        )
        return extra

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        trip = LONG if self.is_slow else USUAL
        load = Load([HostLoad("node1", 1.0, 1.0, 2.0, 2.0, 0.0)], [trip, trip])
        return run, [*records[:-1], load, records[-1]]

    def _called(
        self,
        function: str,
        size: int,
        variant: str,
        knobs: Mapping[str, str],
        rules: Rules,
        around: frozenset[str],
    ) -> tuple[float, str]:
        cost, outcome = super()._called(function, size, variant, knobs, rules, around)
        suffers = self.is_slow and variant == "gather_binomial" and size >= 16384
        return cost * (5.0 if suffers else 1.0), outcome


def test_launches_in_which_messages_take_long_are_known(lab: Lab) -> None:
    store = lab.store(TwoStates(Costs()))
    plan = Plan("", 7, (PlanCase("MPI_Bcast", 64),), blocks=2)
    Series(store, Suite("before"), plan, {}).advance(20)
    assert len(store.slow_messages().numbers) == 1
    Series(store, Suite("wait"), plan, {}).advance(5)
    assert len(store.slow_messages().numbers) == 3
    assert not lab.store(SimulatedStarter(Costs())).slow_messages().numbers


def test_a_campaign_exports_no_winner_that_is_slower_in_one_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"nprocs": 4, "sizes": SIZES, "budget_seconds": 1e6, "all": False}
    costs = Costs(default={"MPI_Gather": lambda _: 3.0}, own={"gather_binomial": 1.0})
    monkeypatch.setattr(acceptance, "PAUSE_SECONDS", 0.0)
    starter, there = TwoStates(costs, launch_noise=0.02), toolchain(GUIDELINES)
    with Database.in_memory() as db:
        campaign = whole.campaign(db, starter, load(None, asked), tmp_path, there)
        (dropped, *_) = [
            each for each in campaigns.events(db, campaign.id) if each.kind == "winner dropped"
        ]
        found = findings.get_winners(db, campaign.id)
    assert dropped.text.startswith(
        "MPI_Gather 16384-65536 B gather_binomial: slower where messages"
    )
    ours = [each for each in found if each.variant == "gather_binomial"]
    assert [(each.bytes_from, each.bytes_to) for each in ours] == [(64, 4096)]
