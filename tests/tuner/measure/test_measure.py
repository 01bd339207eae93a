"""Launches: what counts as a failure and whose it is; each launch once."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.starter import under_way
from plumbline.libraries.openmpi import OpenMpi
from plumbline.measure.launches import Series
from plumbline.system.placement import Placement
from plumbline_db import runs
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import (
    Begin,
    Cache,
    CaseRecord,
    Check,
    Footer,
    Order,
    ProbeRecord,
    Samples,
    UnderWay,
)
from plumbline_db.records import Failure, Run, Suite
from tests.db import build
from tests.tuner import fake_mpi, fake_probe, simulated
from tests.tuner.lab import Lab
from tests.tuner.simulated import EXIT, Costs, Interrupted, SimulatedStarter, failed

CASES = (
    PlanCase("MPI_Bcast", 64),
    PlanCase("MPI_Bcast", 1024),
    PlanCase(
        "MPI_Bcast", 64, configuration=Configuration.of({"coll_tuned_bcast_algorithm": "chain"})
    ),
)
PLAN = Plan("", 7, CASES, blocks=2, reps=3)


# --- which case was under way -------------------------------------------------------------------


def test_under_way_in_every_prefix() -> None:
    """Whatever the last record is, the culprit is the case the probe was busy with."""
    order = [Order(0, [1, 0]), UnderWay(0, 1)]
    records = [Begin(0), Check(0, "ok", ""), Begin(1), Check(1, "ok", ""), *order, Begin(0)]
    found = [under_way(records[:length]) for length in range(len(records) + 1)]
    assert found == [None, 0, None, 1, None, None, 1, 0]


def test_under_way_of_nothing() -> None:
    assert under_way([]) is None
    assert under_way([Footer(0, 0, 0)]) is None


# --- one launch ---------------------------------------------------------------------------------


RECORDS = build.records(build.run(), [build.Timed(), build.Timed(bytes=64)], blocks=1)
TEXT = build.plan(RECORDS)


def records_file(folder: Path, *, until: int | None = None) -> Path:
    """The records of a launch with two cases; only the first `until`."""
    path = folder / "wanted.ndjson"
    path.write_bytes(fake_mpi.lines(RECORDS[:until]))
    return path


def test_a_launch_that_finishes(tmp_path: Path) -> None:
    wanted = records_file(tmp_path)
    starter = fake_mpi.starter(tmp_path, f'test -s "$1" && cp {wanted} "$2"; echo seen >&2')
    run, records = starter.start("c", "before", 3, TEXT, {"A": "b"})
    assert run.failure is None
    assert run.id == "c/before-003"
    assert run.plan == TEXT
    assert run.environment == {"A": "b"}
    assert run.stderr == "seen\n"
    assert run.seconds > 0
    footer = records[-1]
    assert isinstance(footer, Footer)
    assert run.timed_seconds == footer.timed_ns / 1e9


def test_the_launcher_gets_the_whole_job(tmp_path: Path) -> None:
    starter = fake_mpi.starter(tmp_path, "exit 1")
    starter.start("c", "s", 0, "plan", {})
    (job,) = starter._launcher.jobs  # type: ignore[attr-defined]
    assert job.placement == Placement(nodes=1, ppn=4, oversubscribed=True)
    assert job.id == "c/s-000"
    assert job.program[:2] == ["/opt/plumbline/probe", "--plan"]


def test_a_launch_sees_a_clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_MCA_coll_tuned_bcast_algorithm", "LD_PRELOAD", "PLUMBLINE_PROFILE"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("OMPI_MCA_btl", "self,vader")
    starter = fake_mpi.starter(tmp_path, "env >&2")
    run, _ = starter.start("c", "s", 0, "plan", {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"})
    seen = dict(line.split("=", 1) for line in run.stderr.splitlines() if "=" in line)
    assert seen["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
    assert seen["OMPI_MCA_btl"] == "self,vader"
    assert "OMPI_MCA_coll_tuned_bcast_algorithm" not in seen
    assert "LD_PRELOAD" not in seen and "PLUMBLINE_PROFILE" not in seen


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "exit status 1"),
        ("kill -SEGV $$", "SIGSEGV, exit status -11"),
        ("exit 0", "no records"),
        (
            'cp {part} "$2.part"; exit 139',
            "SIGSEGV, exit status 139, with MPI_Allreduce at 64 B under way (case 1)",
        ),
        (
            'cp {part} "$2.part"; exit 0',
            "no records, with MPI_Allreduce at 64 B under way (case 1)",
        ),
        (
            'printf "{{" >> {part}; cp {part} "$2.part"; exit 9',
            "exit status 9, with MPI_Allreduce at 64 B under way (case 1)",
        ),
        (
            'cp {whole} "$2"; echo "  foo is an unrecognized parameter" >&2',
            "the library did not take a setting: foo is an unrecognized parameter",
        ),
    ],
)
def test_how_launches_fail(tmp_path: Path, script: str, reason: str) -> None:
    whole = records_file(tmp_path)
    part = tmp_path / "part"
    # Header, two cases, begin and check of the first, begin of the second.
    part.write_bytes(fake_mpi.lines(RECORDS[:6]))
    starter = fake_mpi.starter(tmp_path, script.format(part=part, whole=whole))
    run, _ = starter.start("c", "s", 0, TEXT, {})
    assert not run.finished
    assert run.reason == reason


def test_a_launch_that_hangs_is_ended(tmp_path: Path) -> None:
    part = records_file(tmp_path, until=4)
    starter = fake_mpi.starter(tmp_path, f'cp {part} "$2.part"; sleep 60', timeout_seconds=3)
    run, _ = starter.start("c", "s", 0, TEXT, {})
    assert not run.finished
    assert run.reason == "no end after 3 s, with MPI_Allreduce at 16384 B under way (case 0)"
    assert run.seconds < 50


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        (b'"blocks":[0', b'"blocks"?[0', 9, "under way (case 0)"),
        (b'"ns":[', b'"ns":[-1,', 9, "Expected `int` >= 0 - at `$.ns[0]`, with "),
        (b'"ns":[', b'"ns":[9223372036854775808,', 9, "<= 9223372036854775807"),
        (
            b'"ns":[',
            b'"ns":[' + b"7," * 200_000,
            9,
            "case 0 has not as many times as its blocks say",
        ),
        (b'"run":"', b'"run":"other-', 1, "run is other-"),
        (b'"seed":0', b'"seed":1', 1, "seed is 1, 0 in the plan"),
        (b'"bytes":64', b'"bytes":65', 3, "bytes of case 1 is 65, 64 in the plan"),
    ],
)
def test_bad_records_are_an_outcome(
    tmp_path: Path, lab: Lab, old: bytes, new: bytes, line: int, reason: str
) -> None:
    """What stands before them is kept; who was under way is to blame."""
    # Case 0 is timed first.
    ordered = [one for one in RECORDS if not isinstance(one, Samples)]
    order = next(index for index, one in enumerate(ordered) if isinstance(one, Order))
    ordered[order] = Order(0, [0, 1])
    samples = sorted((one for one in RECORDS if isinstance(one, Samples)), key=lambda s: s.case)
    text = fake_mpi.lines([*ordered[: order + 1], *samples, *ordered[order + 1 :]])
    wanted = tmp_path / "wanted"
    wanted.write_bytes(text.replace(old, new, 1))
    starter = fake_mpi.starter(tmp_path, f'cp {wanted} "$2"')
    run, records = starter.start(lab.campaign.id, "s", 0, TEXT, {})
    assert not run.finished and len(records) == line - 1
    assert run.reason.startswith(f"bad records, line {line}: ") and reason in run.reason
    runs.put(lab.db, run, records)
    assert lab.runs() == [run]


GARBLED = """
{probe} "$1" "$2.good"
grep -q chain "$1" || exec mv "$2.good" "$2"
sed 's/"ns": .1002/"ns": [-5/' "$2.good" > "$2"
"""


def test_a_candidate_that_corrupts_its_record_is_left_out(tmp_path: Path, lab: Lab) -> None:
    starter = fake_mpi.starter(tmp_path, GARBLED.format(probe=fake_probe.COMMAND))
    series = Series(lab.store(starter), Suite("before"), PLAN, {})
    series.advance(2)
    assert series.dropped == {CASES[2]}
    reasons = [one.reason for one in lab.runs()]
    bad = "bad records, line 16: Expected `int` >= 0 - at `$.ns[0]`, with MPI_Bcast "
    bad += "coll_tuned_bcast_algorithm=chain at 64 B under way (case 2)"
    assert reasons == [bad] * 2 + [""] * 2


# --- each launch once ---------------------------------------------------------------------------


def test_a_stored_launch_is_not_started_again(lab: Lab) -> None:
    starter = SimulatedStarter(Costs())
    store = lab.store(starter)
    first = store.launch(Suite("before"), 0, PLAN_NAMED, {})
    replay = lab.store(SimulatedStarter(Costs(), stop_after=0))
    again = replay.launch(Suite("before"), 0, PLAN_NAMED, {})
    assert (again.run, again.stored) == (first.run, True)
    assert replay.spent_seconds == store.spent_seconds == first.run.seconds
    with pytest.raises(Interrupted):
        replay.launch(Suite("before"), 1, PLAN_NAMED, {})


def test_another_plan_under_the_same_name_is_refused(lab: Lab) -> None:
    store = lab.store(SimulatedStarter(Costs()))
    store.launch(Suite("before"), 0, PLAN_NAMED, {})
    other = msgspec.structs.replace(PLAN_NAMED, seed=8)
    with pytest.raises(PlumblineError, match=r"launch before 0 .*another\s+plan.*--new"):
        store.launch(Suite("before"), 0, other, {})


def test_progress_is_told_of_new_launches_alone(lab: Lab) -> None:
    class Told:
        def __init__(self) -> None:
            self.seen: list[tuple[str, str]] = []

        def launched(self, suite: str, run: Run) -> None:
            self.seen.append((suite, run.id))

        def step(self, text: str) -> None:
            raise AssertionError(text)

        def expect(self, seconds: float) -> None:
            raise AssertionError(seconds)

        def phase(self, number: int, of: int, name: str, spent_seconds: float) -> None:
            raise AssertionError(name)

    for expected in ([("before", f"{lab.campaign.id}/before-000")], []):
        told = Told()
        store = lab.store(SimulatedStarter(Costs()), told)
        store.launch(Suite("before"), 0, PLAN_NAMED, {})
        assert told.seen == expected


def test_a_failed_launch_is_kept_and_remembered(lab: Lab) -> None:
    starter = SimulatedStarter(Costs(), crashes=lambda case, _: case.bytes == 1024)
    outcome = lab.store(starter).launch(Suite("before"), 0, PLAN_NAMED, {})
    assert outcome.run.failure is not None and outcome.run.failure.case == 1
    assert lab.runs() == [outcome.run]
    (event,) = lab.events()
    assert event.kind == "launch failed"
    assert (event.run, event.text) == (outcome.run.id, outcome.run.reason)
    replay = lab.store(SimulatedStarter(Costs(), stop_after=0))
    assert replay.launch(Suite("before"), 0, PLAN_NAMED, {}).run == outcome.run
    assert len(lab.events()) == 1


class GrowingMemory(SimulatedStarter):
    """A node whose memory grows after boot, so that an area by its size grows from launch to
    launch."""

    def start(
        self, campaign: str, suite: str, sequence: int, text: str, *rest: Any
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        run, records = super().start(campaign, suite, sequence, text, *rest)
        mode, _, asked = simulated.parse(text)[0]["cache"].partition(":")
        cache = Cache(mode, int(asked or 4096 * len(self.launches)))  # type: ignore[arg-type]
        header = msgspec.structs.replace(records[0], cache=cache)
        return run, [header, *records[1:]]


def test_cold_caches_have_the_area_of_the_first_launch(lab: Lab) -> None:
    cold = msgspec.structs.replace(PLAN, cache="cycle")
    for stop_after in (None, 0):  # measured, and replayed
        store = lab.store(GrowingMemory(Costs(), stop_after=stop_after))
        for name in ("before", "after"):
            Series(store, Suite(name), cold, {}).advance(2)
    caches = [simulated.parse(run.plan)[0]["cache"] for run in lab.runs()]
    assert caches == ["cycle", "cycle:4096", "cycle:4096", "cycle:4096"]


PLAN_NAMED = msgspec.structs.replace(PLAN, name="before-000")


# --- series -------------------------------------------------------------------------------------


def test_a_series_changes_seed_and_name(lab: Lab) -> None:
    store = lab.store(SimulatedStarter(Costs()))
    series = Series(store, Suite("before"), PLAN, {})
    series.advance(2)
    series.advance()
    heads = [one.plan.splitlines()[1] for one in lab.runs()]
    assert [head.split()[1:3] for head in heads] == [
        [f"run=before-00{number}", f"seed={7 + number}"] for number in range(3)
    ]


def test_a_case_under_which_launches_fail_is_left_out(lab: Lab) -> None:
    bad = {"coll_tuned_bcast_algorithm": "chain"}
    starter = SimulatedStarter(Costs(), crashes=lambda _, knobs: knobs == bad)
    series = Series(lab.store(starter), Suite("before"), PLAN, {})
    series.advance(3)
    assert series.dropped == {CASES[2]}
    assert [one.finished for one in lab.runs()] == [False] * 2 + [True] * 3
    assert starter.launches == [("before", number) for number in range(5)]
    replay = SimulatedStarter(Costs(), stop_after=0)
    again = Series(lab.store(replay), Suite("before"), PLAN, {})
    again.advance(3)
    assert again.dropped == {CASES[2]}


class Flaky(SimulatedStarter):
    """Launches with these numbers fail: before any case has begun, or for this `failure`."""

    def __init__(self, failing: set[int], failure: Failure = EXIT) -> None:
        super().__init__(Costs())
        self._failing = failing
        self._failure = failure

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        if run.sequence not in self._failing:
            return run, records
        return failed(msgspec.structs.replace(run, stderr="no"), self._failure)


CRASH = Failure("ended", "SIGSEGV, exit status 139", 1, "MPI_Bcast at 1024 B")


def test_a_chance_crash_condemns_no_case(lab: Lab) -> None:
    """Nor do several, with finished launches between them; killed anywhere, it goes on the same
    way."""
    for stop in (0, 1, 2, 4, None):
        starter = Flaky({0, 2, 4}, CRASH)
        starter._stop_after = stop
        series = Series(lab.store(starter), Suite("before"), PLAN, {})
        with contextlib.suppress(Interrupted):
            series.advance(3)
        assert series.dropped == set()
    finished = [one.finished for one in lab.runs()]
    assert finished == [False, True] * 3


def test_two_crashes_in_a_row_condemn_the_case(lab: Lab) -> None:
    starter = Flaky({1, 2}, CRASH)
    series = Series(lab.store(starter), Suite("before"), PLAN, {})
    series.advance(2)
    assert series.dropped == {CASES[1]}
    plans = [one.plan for one in lab.runs()]
    assert ["bytes=1024" in text for text in plans] == [True, True, True, False]


class Repeating(OpenMpi):
    simulates = True


def test_one_is_enough_where_it_hangs_or_the_machine_repeats_itself(lab: Lab) -> None:
    hanging = Flaky({0}, Failure("hung", "no end after 60 s", 1, "MPI_Bcast at 1024 B"))
    simulated = Flaky({0}, CRASH)
    simulated.family = Repeating()
    for name, starter in (("hanging", hanging), ("simulated", simulated)):
        series = Series(lab.store(starter), Suite(name), PLAN, {})
        series.advance()
        assert series.dropped == {CASES[1]}


@pytest.mark.parametrize("failing", list(itertools.combinations(range(4), 2)))
def test_two_failures_without_a_culprit_are_bad_luck(lab: Lab, failing: tuple[int, ...]) -> None:
    series = Series(lab.store(Flaky(set(failing))), Suite("before"), PLAN, {})
    series.advance(3)
    assert series.dropped == set()
    finished = [one.finished for one in lab.runs()]
    assert finished.count(True) == 3


def test_three_are_an_error_with_what_to_try(lab: Lab) -> None:
    series = Series(lab.store(Flaky({0, 2, 3})), Suite("before"), PLAN, {})
    with pytest.raises(PlumblineError) as error:
        series.advance(5)
    text = str(error.value)
    assert "three launches of before failed and no case is to blame" in text
    assert "exit status 1" in text and "\nno\n" in text
    assert "`plumbline doctor` tries the steps one by one" in text
    healthy = lab.store(Flaky(set()))
    Series(healthy, Suite("before"), PLAN, {}).advance(5)
    finished = [run.finished for run in lab.runs()]
    assert finished.count(False) == 3 and finished.count(True) == 5


# --- put aside ----------------------------------------------------------------------------------

ELSEWHERE = (
    PlanCase("MPI_Bcast", 64),
    PlanCase("MPI_Bcast", 1024),
    PlanCase("MPI_Bcast", 1024, "bcast_linear"),
    PlanCase("MPI_Allreduce", 1024, "allreduce_as_reduce_plus_bcast"),
    PlanCase("MPI_Allreduce", 64, "allreduce_as_reduce_plus_bcast"),
)


@pytest.mark.parametrize(("family", "failures"), [(Repeating(), 1), (OpenMpi(), 2)])
def test_what_ends_launches_is_put_aside_for_the_whole_campaign(
    lab: Lab, family: OpenMpi, failures: int
) -> None:
    """Nothing that is compared with it or made of it costs a launch either, not in other suites."""
    starter = SimulatedStarter(Costs(), crashes=lambda case, _: case.bytes == 1024)
    starter.family = family
    for begun in range(2):
        store = lab.store(starter)
        store.aside.made_of = {"allreduce_as_reduce_plus_bcast": ["MPI_Reduce", "MPI_Bcast"]}
        Series(store, Suite("before"), PLAN, {}).advance()
        Series(store, Suite("search"), msgspec.structs.replace(PLAN, cases=ELSEWHERE), {}).advance()
        found = lab.runs()
        assert [one.finished for one in found] == [False] * failures + [True] * 2
        (said,) = [one.text for one in lab.events() if one.kind == "put aside"]
        assert said.startswith("MPI_Bcast at 1024 B ends launches (SIGSEGV, exit status 139)")
        starter._stop_after = len(starter.launches) if begun == 0 else None
    assert found[-1].plan.count("case id") == 2  # both at 64 B


class Poisoned:
    """Whatever of ours comes after a default Bcast, in one launch, ends it."""

    def __init__(self) -> None:
        self.is_poisoned = False

    def __call__(self, case: CaseRecord, _: Mapping[str, str]) -> bool:
        self.is_poisoned &= case.case > 0
        if self.is_poisoned and case.variant != "default":
            return True
        self.is_poisoned |= (case.function, case.variant) == ("MPI_Bcast", "default")
        return False


def test_who_leaves_something_behind_is_to_blame_and_not_whom_it_ends(lab: Lab) -> None:
    ours = [PlanCase("MPI_Reduce", 64 * n, "reduce_ring") for n in range(1, 41)]
    defaults = [PlanCase("MPI_Scan", 64), PlanCase("MPI_Bcast", 64), PlanCase("MPI_Bcast", 1024)]
    starter = SimulatedStarter(Costs(), crashes=Poisoned())
    starter.family = Repeating()
    store = lab.store(starter)
    series = Series(
        store, Suite("look"), msgspec.structs.replace(PLAN, cases=(*defaults, *ours)), {}
    )
    series.advance()
    assert series.dropped == set(defaults[1:])
    found = lab.runs()
    last = [one for one in found if one.finished and one.suite == "look"]
    assert [one.plan.count("case id") for one in last] == [1 + len(ours)]
    assert len(found) < 12
    said = [one.text for one in lab.events() if one.kind == "put aside"]
    assert [one.partition(" ends")[0] for one in said] == [
        "MPI_Bcast at 64 B",
        "MPI_Bcast at 1024 B",
    ]
    assert "launches (in later calls, SIGSEGV" in said[0]


def test_several_that_end_launches_by_themselves_are_all_put_aside(lab: Lab) -> None:
    starter = SimulatedStarter(Costs(), crashes=lambda case, _: case.bytes >= 1024)
    starter.family = Repeating()
    cases = [PlanCase("MPI_Reduce", 64 * n, "reduce_ring") for n in range(12, 24)]
    series = Series(
        lab.store(starter), Suite("look"), msgspec.structs.replace(PLAN, cases=tuple(cases)), {}
    )
    series.advance()
    assert series.dropped == {one for one in cases if one.bytes >= 1024}
    asked = [one for one in lab.runs() if one.suite == "look-blame"]
    assert len(asked) == 2  # once for three of them


def test_winners_that_answer_the_call_lift_that(lab: Lab) -> None:
    store = lab.store(SimulatedStarter(Costs()))
    store.aside.put(CASES[1], "SIGABRT")
    files = {"FILE": "rules"}
    store.aside.in_force(files, lambda function, size: (function, size) == ("MPI_Bcast", 1024))
    assert store.aside.why(CASES[1]) == "it ends launches (SIGABRT)"
    assert not store.aside.why(CASES[1], files)
    store.aside.in_force(files, lambda *_: False)
    assert store.aside.why(CASES[1], files)


def test_where_nothing_is_left_nothing_is_launched(lab: Lab) -> None:
    starter = SimulatedStarter(Costs(), crashes=lambda *_: True)
    store = lab.store(starter)
    Series(store, Suite("before"), msgspec.structs.replace(PLAN, cases=CASES[:2]), {}).advance(3)
    assert len(starter.launches) == 4  # two for each case
    Series(store, Suite("again"), msgspec.structs.replace(PLAN, cases=CASES[:2]), {}).advance(3)
    assert len(starter.launches) == 4
