"""Runs of suites on the simulated library: a planted threshold is found, launches are stored once,
what is interrupted goes on; and on the real one. What suite files say."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from plumbline.launch.starter import Starter
from plumbline.measure.launches import LaunchStore
from plumbline.settings.toolchain import MeasurementPattern, Operation
from plumbline.suites import report
from plumbline.suites import run as running
from plumbline.suites.cases import RanksThere, cases, operations, places
from plumbline.suites.description import AskedSuite
from plumbline.system.toml import Document
from plumbline_db import campaigns, points, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Run
from tests.tuner import simulated
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import Costs, Interrupted, SimulatedStarter

THRESHOLD = 5000
COSTS = Costs(default={"MPI_Gather": lambda size: 2.0 if size >= THRESHOLD else 1.0})
ASKED = AskedSuite(
    name="gather",
    operations=("MPI_Gather", "gather_binomial"),
    first=16,
    to=65536,
    points=7,
    refine=True,
    most_points=18,
)
THERE = RanksThere(4, 1)


def measured(
    db: Database, starter: Starter, *suites: AskedSuite
) -> tuple[list[report.MeasuredSuite], str]:
    toolchain = simulated.toolchain()
    asked = running.SuiteRun(4, "test", suites)
    every = running.prepare(asked, toolchain, starter.placement)
    row = running.begin(db, toolchain, asked, starter.placement, new=False)
    if row.state != "finished":
        running.measure(LaunchStore(db, row.id, starter), row, asked, every)
    return [report.of_suite(db, row, of) for of in every], row.id


def starter(**more: int) -> SimulatedStarter:
    return SimulatedStarter(COSTS, launch_noise=0.02, **more)


def test_a_planted_threshold_is_found_and_why_is_stored(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db", write=True) as db:
        ((found,), id) = measured(db, starter(), ASKED)
        stored = points.get(db, id)
    (threshold,) = [each for each in found.thresholds if each.curve == "MPI_Gather"]
    assert threshold.low < THRESHOLD <= threshold.high <= 1.06 * threshold.low
    assert threshold.factor == pytest.approx(2, rel=0.2)
    places_ = [each.place for each in found.operations[0].measurements]
    assert len(places_) <= 18 and places_ == [point.place for point in stored]
    added = [point for point in stored if point.why != "asked"]
    assert added and all(point.look > 1 and point.detail for point in added)
    assert {point.why for point in added} >= {"jump"}
    assert found.drifts == []
    counts = {each.place: each.n for each in found.operations[0].measurements}
    looks = {point.look for point in added}
    repeated = {place for place, n in counts.items() if n > 10}
    assert all(n == 10 for place, n in counts.items() if place not in repeated)
    assert repeated <= {point.place for point in stored if point.why == "asked"}
    assert sum(counts[place] - 10 for place in repeated) == 10 * len(looks)
    text = "\n".join(report.text(found, "library"))
    assert f"MPI_Gather jumps between {threshold.low} and {threshold.high} bytes" in text


def test_a_run_that_is_interrupted_goes_on_as_it_would_have(tmp_path: Path) -> None:
    with Database.open(tmp_path / "whole.db", write=True) as db:
        whole = starter()
        expected, _ = measured(db, whole, ASKED)
    with Database.open(tmp_path / "parts.db", write=True) as db:
        seen = []
        for stop in (3, 4, 9, None):
            part = starter() if stop is None else starter(stop_after=stop)
            with contextlib.suppress(Interrupted):
                found, id = measured(db, part, ASKED)
            seen += part.launches
        assert found == expected
        assert seen == whole.launches
        again = starter()
        assert measured(db, again, ASKED) == (expected, id) and again.launches == []
        assert campaigns.known(db, id).state == "finished"


class Drifting(SimulatedStarter):
    """A machine that takes 1.3 times as long after the first look."""

    def start(self, campaign: str, suite: str, *rest: Any) -> tuple[Run, Sequence[ProbeRecord]]:
        factor = 1.3 if "look" in suite else 1.0
        default = {"MPI_Gather": lambda size: factor * (2.0 if size >= THRESHOLD else 1.0)}
        self._costs = Costs(default=default)
        return super().start(campaign, suite, *rest)


def test_a_drift_between_looks_is_seen(tmp_path: Path) -> None:
    with Database.open(tmp_path / "a.db", write=True) as db:
        ((found,), _) = measured(db, Drifting(COSTS, launch_noise=0.02), ASKED)
    drift = next(each for each in found.drifts if each.operation == "MPI_Gather")
    assert drift.look == 2 and drift.factor == pytest.approx(1.3, rel=0.05)
    (line, *_) = [line for line in report.text(found, "library") if "in the first one" in line]
    assert line.startswith(f"MPI_Gather at {drift.place} bytes took 1.")


def test_suites_take_turns(tmp_path: Path) -> None:
    other = AskedSuite(name="other", operations=("MPI_Bcast",), first=8, to=64, launches=2)
    with Database.open(tmp_path / "a.db", write=True) as db:
        machine = starter()
        found, id = measured(db, machine, ASKED, other)
        assert [name for name, _ in machine.launches[:5]] == [
            *("suite-gather", "suite-other") * 2,
            "suite-gather",
        ]
        assert {each.n for each in found[1].operations[0].measurements} == {2}
        assert len(runs.listing(db, id, ["suite-other"])) == 2


def test_crossovers_are_told(tmp_path: Path) -> None:
    """Our gather takes 1.5 times as long as the library's, which takes twice as long from the
    threshold on."""
    costs = Costs(default=COSTS.default, own={"gather_binomial": 1.5})
    with Database.open(tmp_path / "a.db", write=True) as db:
        (found,), _ = measured(db, SimulatedStarter(costs, launch_noise=0.02), ASKED)
    (crossing,) = found.crossovers
    assert not crossing.faster_below
    assert crossing.low < THRESHOLD <= crossing.high <= 1.5 * crossing.low


def test_over_ranks_each_rank_keeps_what_it_sends() -> None:
    suite = AskedSuite(
        name="a", operations=("MPI_Gather",), vary="ranks", first=2, points=5, bytes=1000
    )
    toolchain = simulated.toolchain()
    of = operations(suite, toolchain.catalogue)
    at = places(suite, of, THERE)
    assert at == [2, 3, 4]
    assert [(case.ranks, case.bytes) for case in cases(suite, of, at, THERE)] == [
        (2, 500),
        (3, 750),
        (0, 1000),
    ]


def test_operations_of_patterns() -> None:
    modes = [Operation(name, "", True) for name in ("send_recv", "ssend_recv")]
    sends = MeasurementPattern("point_to_point", "", 2, modes)
    simple = MeasurementPattern("simple", "", 1, [Operation("comm_dup", "", False)])
    catalogue = simulated.toolchain().catalogue
    catalogue.patterns.extend([sends, simple])
    try:
        suite = AskedSuite(
            name="a", pattern="point_to_point", operations=("ssend_recv",), first=1, to=8, points=2
        )
        of = operations(suite, catalogue)
        (first, last) = cases(suite, of, places(suite, of, THERE), THERE)
        assert (first.function, first.variant, first.bytes) == ("point_to_point", "ssend_recv", 1)
        assert (first.ranks, last.bytes) == (2, 8)
        (spread, _) = cases(suite, of, [1, 8], RanksThere(4, 2))
        assert spread.ranks == 0
        calls = AskedSuite(name="b", pattern="simple", operations=("comm_dup",))
        assert places(calls, operations(calls, catalogue), THERE) == [0]
        wrong = AskedSuite(name="c", pattern="simple", operations=("send_recv",))
        with pytest.raises(UsageError, match="simple has no operation send_recv; it has comm_dup"):
            operations(wrong, catalogue)
    finally:
        catalogue.patterns.clear()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pattern": "one_sided"}, "pattern must be one of collective"),
        ({"operations": ("MPI_Sand",)}, "MPI_Sand is neither an MPI function"),
        ({"vary": "ranks", "first": 2, "to": 9}, "and 4 are started"),
        ({"vary": "ranks", "first": 2, "to": 4, "root": 3}, "the root must be among the first"),
        ({"ranks": 9, "first": 1, "to": 4}, "raise --nprocs"),
    ],
)
def test_what_cannot_be_measured(changes: dict[str, object], why: str) -> None:
    suite = AskedSuite(**({"name": "a", "operations": ("MPI_Gather",)} | changes))
    with pytest.raises(UsageError, match=why):
        of = operations(suite, simulated.toolchain().catalogue)
        places(suite, of, THERE)


FILE = """
title = "All patterns"

[[suite]]
name = "gather"
operations = ["MPI_Gather", "gather_naive_send_recv"]
at = [64, 4096]
use = "at_root"
by_rank = true
launches = 2

[[suite]]
name = "sends"
pattern = "point_to_point"
operations = ["send_recv", "bsend_recv"]
at = [1, 4096]
launches = 2
standard_error = 0.2

[[suite]]
name = "over-ranks"
pattern = "master_worker"
operations = ["waitany"]
vary = "ranks"
from = 2
launches = 2

[[suite]]
name = "calls"
pattern = "simple"
operations = ["comm_dup", "wtime"]
launches = 2
"""


@pytest.mark.mpi
def test_all_patterns_on_the_real_library(tmp_path: Path, mpirun: None) -> None:
    file = tmp_path / "suites.toml"
    file.write_text(FILE)
    words = ["suite", str(file), "-n", "3", "--db", str(tmp_path / "plumbline.db")]
    said = plumbline(*words, "--json", "--picture", str(tmp_path / "suites.svg"))
    assert said.status == 0, said.err
    found = {suite["name"]: suite for suite in said.json["suites"]}
    gather = found["gather"]["operations"]
    assert [each["operation"] for each in gather] == ["MPI_Gather", "gather_naive_send_recv"]
    assert [each["place"] for each in gather[0]["measurements"]] == [64, 4096]
    assert [(each["bytes"], each["rank"]) for each in gather[0]["ranks"]] == [
        (size, rank) for size in (64, 4096) for rank in range(3)
    ]
    assert found["over-ranks"]["axis"] == "ranks"
    (worker,) = found["over-ranks"]["operations"]
    assert [each["place"] for each in worker["measurements"]] == [2, 3]
    dup, wtime = found["calls"]["operations"]
    assert dup["measurements"][0]["seconds"] > wtime["measurements"][0]["seconds"]
    picture = (tmp_path / "suites.svg").read_text()
    assert "gather: at 64 bytes, rank by rank" in picture and "over-ranks" in picture
    assert plumbline(*words, "--json").json == said.json
    assert "MPI_Gather at 64 B, rank by rank" in plumbline(*words).out


def test_those_that_ship_are_listed() -> None:
    said = plumbline("suite", "--list")
    assert "gather-over-ranks: collective, over ranks" in said.out
    assert set(plumbline("suite", "--list", "--json").json) >= {
        "gather-by-rank",
        "send-modes",
        "simple",
    }
    assert plumbline("suite").status == 2


@pytest.mark.mpi
def test_those_that_ship_can_be_measured(tmp_path: Path, mpirun: None) -> None:
    """The probe takes each; none is launched."""
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain
    from plumbline.suites.description import standard

    settings = campaign_file.of(Document("test"), {"nprocs": 4}, {})
    toolchain = find_toolchain(settings=settings)
    ranks = starting.starter(toolchain, settings)
    for name, of in standard().items():
        asked = running.SuiteRun(4, name, of.suite)
        for prepared in running.prepare(asked, toolchain, ranks.placement):
            plan = running.whole_plan(prepared, asked, THERE, prepared.first)
            assert ranks.refusal(plan.text()) is None
