"""One function in several variants: medians and paired ratios from the same launches."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import side_by_side
from plumbline.measure.side_by_side import MeasuredCase
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import ClockError, Footer, ProbeRecord, Refused, Samples
from plumbline_db.records import Run
from tests.packaging import places
from tests.tuner import simulated
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import Costs, SimulatedStarter, failed

RING = Configuration.of({"coll_tuned_allreduce_algorithm": "ring"})
CASES = (
    PlanCase("MPI_Allreduce", 1024),
    PlanCase("MPI_Allreduce", 1024, configuration=RING),
    PlanCase("MPI_Allreduce", 1024, "allreduce_as_reduce_plus_bcast"),
    PlanCase("MPI_Allreduce", 65536, configuration=RING),
    PlanCase("MPI_Allreduce", 65536),
)
COSTS = Costs(algorithm={("MPI_Allreduce", "ring"): lambda *_: 0.5})


def run(
    starter: SimulatedStarter, plan: Plan, launches: int
) -> tuple[list[MeasuredCase], list[list[ProbeRecord]]]:
    with side_by_side.unkept_store(simulated.toolchain(), starter, "test") as store:
        return side_by_side.run(store, plan, launches, {}), side_by_side.unkept_records(store)


def test_ratios_are_to_the_default_of_the_same_size() -> None:
    plan = Plan("", 1, CASES, blocks=2, reps=3)
    lines, raw = run(SimulatedStarter(COSTS, launch_noise=1.0), plan, 9)
    assert [(one.bytes, one.variant, one.knobs) for one in lines] == [
        (case.bytes, case.variant, case.configuration.as_dict()) for case in CASES
    ]
    assert len(raw) == 9
    assert [one.outcome for one in lines] == ["ok"] * 5
    assert lines[0].ratio is None and lines[4].ratio is None
    for line in (lines[1], lines[3]):
        assert line.ratio is not None and line.ratio.n == 9
        assert line.ratio.ratio == pytest.approx(0.5, rel=0.03)
    assert lines[2].ratio is not None and lines[2].ratio.ratio > 1
    # Launches differ by a factor of three and more; the ratios do not feel it.
    assert max(lines[0].seconds) > 3 * min(lines[0].seconds)
    assert all(1e-7 < seconds < 1e-2 for line in lines for seconds in line.seconds)


def test_seconds_are_the_medians_of_all_samples_of_a_launch() -> None:
    plan = Plan("", 1, CASES[:1], blocks=1, reps=1)
    (line,), raw = run(SimulatedStarter(COSTS), plan, 3)
    samples = [record.ns for one in raw for record in one if hasattr(record, "ns")]
    assert line.seconds == [ns / 1e9 for (ns,) in samples]


def test_what_fails_its_check_has_no_times() -> None:
    starter = SimulatedStarter(COSTS, corrupt=lambda case: "wrong" if case.case == 2 else "ok")
    lines, _ = run(starter, Plan("", 1, CASES), 2)
    assert lines[2].outcome == "wrong: simulated"
    assert (lines[2].seconds, lines[2].ratio) == ([], None)
    assert lines[1].outcome == "ok"


class RefusingStarter(SimulatedStarter):
    """The probe refuses case 1 in every launch, case 2 in the first one; one repetition in three
    of case 0 was late, and the clock is off by 70 to 90 ns."""

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        changed: list[ProbeRecord] = []
        for record in records:
            if isinstance(record, Samples) and record.case == 0:
                record = msgspec.structs.replace(record, late=[3, 3], overrun=[1, 1])
            if isinstance(record, Footer):
                changed.append(ClockError("end", 10**9, [0, 70 + 10 * run.sequence], [0, 5000]))
                changed += [Refused(1, "too short"), *([Refused(2, "late")] * (run.sequence == 0))]
            changed.append(record)
        return run, changed


def test_what_the_probe_refuses_is_no_result() -> None:
    plan = Plan("", 1, CASES, blocks=2, reps=6)
    lines, _ = run(RefusingStarter(COSTS), plan, 3)
    assert [one.outcome for one in lines] == ["ok", "refused: too short", "ok", "ok", "ok"]
    assert [len(one.seconds) for one in lines] == [3, 0, 2, 3, 3]
    assert lines[1].ratio is None
    assert lines[2].ratio is not None and lines[2].ratio.n == 2  # the launches that have both
    assert [one.dropped for one in lines] == [3 * 2 * 3, 0, 0, 0, 0]
    assert {one.clock_error_seconds for one in lines} == {90e-9}


def test_local_times_have_no_clock_error() -> None:
    lines, _ = run(SimulatedStarter(COSTS), Plan("", 1, CASES[:1]), 2)
    assert (lines[0].dropped, lines[0].clock_error_seconds) == (0, None)


def test_without_a_default_there_is_no_ratio() -> None:
    lines, _ = run(SimulatedStarter(COSTS), Plan("", 1, CASES[1:3]), 2)
    assert [one.ratio for one in lines] == [None, None]
    assert all(len(one.seconds) == 2 for one in lines)


def test_a_case_that_ends_launches_is_said_and_leaves_the_others() -> None:
    starter = SimulatedStarter(COSTS, crashes=lambda case, *_: case.config != "default")
    lines, raw = run(starter, Plan("", 1, CASES), 2)
    assert [line.outcome.split(" (")[0] for line in lines] == [
        *("ok", "failed: it ends launches", "ok", "failed: it ends launches", "ok")
    ]
    assert "SIGSEGV" in lines[1].outcome
    assert [len(line.seconds) for line in lines] == [2, 0, 2, 0, 2]
    assert len(raw) == 2


def test_where_no_case_is_to_blame_it_is_an_error() -> None:
    class Broken(SimulatedStarter):
        def answered(self, run: Run, records: object) -> tuple[Run, list[ProbeRecord]]:
            return failed(run)

    with pytest.raises(PlumblineError, match=r"no case is to blame.*exit status 1"):
        run(Broken(COSTS), Plan("", 1, CASES), 2)


@pytest.mark.mpi
def test_where_a_rules_file_is_in_force_a_knob_is_measured_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes first, so that the knob, switched inside a launch, would not be in force."""
    folder = tmp_path / ".openmpi"
    folder.mkdir()
    site = places.bad_rules(folder, str(folder))
    site.rename(folder / "mca-params.conf")
    monkeypatch.setenv("HOME", str(tmp_path))
    said = plumbline(
        *("measure", "MPI_Allreduce", "-n", "2", "--sizes", "16384", "--launches", "2", "--json"),
        *("--knob", "coll_tuned_allreduce_algorithm=recursive_doubling"),
    )
    assert said.status == 0, said.err
    _, asked = said.json
    assert asked["outcome"] == "ok" and asked["ratio"]["ratio"] < 0.5
