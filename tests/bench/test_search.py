"""The bench of the search: what it records comes back, and what it computes is right on a machine
that is written down by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline.core.configuration import Configuration
from plumbline.core.plan import PlanCase
from plumbline.measure import tables
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.settings import identity
from plumbline.settings.campaign_file import load
from plumbline_db.probe_records import Samples
from plumbline_exporters.family import mpich as mpich_env
from plumbline_exporters.family.mpich import selection
from tests.bench.search import record
from tests.bench.search.around import Around, choices_of, in_force
from tests.bench.search.baselines import Trials, exhaustive
from tests.bench.search.mpich_tables import Tables
from tests.bench.search.noisy import Noisy
from tests.bench.search.record import items
from tests.bench.search.replay import Replay
from tests.bench.search.store import Recorded, Store, Timed
from tests.bench.search.sweeps import Here, Sweep
from tests.bench.search.truth import Truth, violated
from tests.exporters import bundles
from tests.exporters.bundles import of_mpich
from tests.tuner import planted, simulated
from tests.tuner.families.installations import write
from tests.tuner.families.recorded.mpich import FILES


def launch(name: str, ns: int) -> Recorded:
    case = Timed("MPI_Bcast", 64, "default", {}, "ok", "", [[ns, ns + 1]])
    return Recorded(name, {"smpi/bcast": "NTSL"}, [], None, 1.5, 3000, 2000, [case])


def test_a_store_gives_back_what_it_got(tmp_path: Path) -> None:
    store = Store("one", tmp_path)
    store.add(launch("a", 1))
    store.add(launch("b", 2))
    again = Store("one", tmp_path)
    assert again.launches == [launch("a", 1), launch("b", 2)]
    assert again.has("b") and not again.has("c")


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_store_forgets_a_launch_that_is_half_written(tmp_path: Path, cut: int) -> None:
    store = Store("one", tmp_path)
    store.add(launch("a", 1))
    whole = store.path.stat().st_size
    store.add(launch("b", 2))
    data = store.path.read_bytes()
    store.path.write_bytes(data[:-cut])
    again = Store("one", tmp_path)
    assert [one.name for one in again.launches] == ["a"]
    assert store.path.stat().st_size == whole
    again.add(launch("c", 3))
    assert [one.name for one in Store("one", tmp_path).launches] == ["a", "c"]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Here, Noisy]:
    """The planted library (tests/tuner/planted.py), recorded as a real machine is."""
    keys = {"nprocs": 4, "sizes": [1024, 16384, 65536], "guidelines": ["GL3", "GL10", "GL12"]}
    sweep = Sweep("planted", keys | {"blocks": 2, "reps": 2}, launches=12)
    settings = load(None, sweep.keys)
    library = simulated.toolchain()
    candidate_space = CandidateSpace(library, 4)
    at = Here(sweep, settings, library, identity.chosen(library, settings), candidate_space)
    store = Store("planted", tmp_path_factory.mktemp("sweep"))
    starter = simulated.SimulatedStarter(planted.costs(), sample_noise=0.0)
    for item in items(at):
        store.add(record.launch(at, starter, item))
    return at, Noisy(at, store)


def plain(at: Here) -> dict[tuple[str, int], Candidate]:
    return dict.fromkeys(at.cells(), DEFAULT)


RABENSEIFNER = Candidate(
    configuration=Configuration.of({"coll_tuned_allreduce_algorithm": "rabenseifner"})
)


def test_regret_is_the_distance_to_the_best(machine: tuple[Here, Noisy]) -> None:
    at, answers = machine
    truth = Truth(at, answers)
    (found,) = truth.regrets([("MPI_Allreduce", 65536)], plain(at))
    assert found.best == RABENSEIFNER
    assert found.regret == pytest.approx(1.9 / 0.8 - 1, rel=0.05)
    cured = plain(at) | {("MPI_Allreduce", 65536): RABENSEIFNER}
    (found,) = truth.regrets([("MPI_Allreduce", 65536)], cured)
    assert found.regret == pytest.approx(0, abs=0.02)


def test_what_could_be_removed_is_called_so_and_what_could_not_is_not(
    machine: tuple[Here, Noisy],
) -> None:
    at, answers = machine
    truth = Truth(at, answers)
    table = truth.table(plain(at))
    assert ("GL12", "MPI_Allreduce", 65536) in violated(table)
    removable = truth.removable(plain(at), table)
    assert ("GL12", "MPI_Allreduce", 65536) in violated(removable)
    cured = plain(at) | {("MPI_Allreduce", size): RABENSEIFNER for size in (16384, 65536)}
    left = truth.table(cured)
    assert not [one for one in truth.removable(cured, left) if one.function == "MPI_Allreduce"]


def test_a_launch_of_the_replay_is_one_that_was_recorded(machine: tuple[Here, Noisy]) -> None:
    at, answers = machine
    replay = Replay(simulated.SimulatedStarter(planted.costs()), at, answers, seed=1)
    replay.start_by_choice()  # there is no probe that could ask
    cases = (PlanCase("MPI_Bcast", 1024), RABENSEIFNER.case("MPI_Allreduce", 65536))
    plan = msgspec.structs.replace(tables.plan(at.settings, cases), name="one")
    run, records = replay.start("c", "s", 0, plan.text(), {})
    again = replay.start("c", "s", 0, plan.text(), {})
    assert again == (run, records)
    found = [one for one in records if isinstance(one, Samples)]
    assert [len(one.blocks) for one in found] == 2 * [at.settings.sampling.blocks]
    recorded = [answer.ns for answer in answers.of(cases, Around())]
    numbers = [
        {number for number, ns in enumerate(recorded[one.case]) if set(one.ns) <= set(ns.ravel())}
        for one in found
    ]
    assert set.intersection(*numbers), "all cases are of one recorded launch"
    calls = 2 + plan.warmup + plan.rewarm + 4  # check, warm-up of both blocks, samples
    (number, *_) = set.intersection(*numbers)
    spent = sum(calls * one.seconds()[number] for one in answers.of(cases, Around()))
    assert run.seconds == pytest.approx(
        answers.overhead_seconds + spent * answers.call_factor, rel=1e-6
    )


def test_files_in_force_are_the_knobs_that_they_say(
    machine: tuple[Here, Noisy], tmp_path: Path
) -> None:
    at, answers = machine
    rules = tmp_path / "rules"
    rules.write_text("1\n2\n1\n4\n2\n0 0 0 0\n40000 6 0 0\n")
    extra = {"OMPI_MCA_coll_tuned_dynamic_rules_filename": str(rules)}
    around = in_force(at, extra)
    tuned, before, knob = answers.of(
        [
            PlanCase("MPI_Allreduce", 65536),
            PlanCase("MPI_Allreduce", 16384),
            RABENSEIFNER.case("MPI_Allreduce", 65536),
        ],
        around,
    )
    (untouched,) = answers.of([PlanCase("MPI_Allreduce", 16384)], Around())
    assert tuned.seconds() == knob.seconds()
    assert before.seconds() == untouched.seconds()
    assert choices_of(at, around)["MPI_Allreduce", 65536] == RABENSEIFNER


def test_the_exhaustive_sweep_costs_a_launch_a_candidate(machine: tuple[Here, Noisy]) -> None:
    at, answers = machine
    trials = Trials(at, answers, Truth(at, answers), seed=1)
    exhaustive(trials, ["MPI_Allreduce"], runs=3)
    assert trials.launches == 3 * len(trials.candidates("MPI_Allreduce"))
    assert trials.choices()["MPI_Allreduce", 65536] == RABENSEIFNER
    assert trials.choices()["MPI_Bcast", 65536] == DEFAULT


def test_tables_of_mpich_are_the_knobs_that_they_say(tmp_path: Path) -> None:
    """Of the exporter's own files, and of its canaries."""
    knobs = {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "recexch",
        "MPIR_CVAR_ALLREDUCE_RECEXCH_KVAL": "4",
    }
    found = of_mpich("MPI_Allreduce", "recexch", 8, 64, RECEXCH_KVAL="4")
    prefix = write(tmp_path / "mpich", FILES)
    library = bundles.library("5.0.2", "mpich", prefix=str(prefix))
    given = bundles.bundle(found, library=library, directory=tmp_path)
    for name, text in selection.files(given).items():
        (tmp_path / name).write_text(text)
    environment = mpich_env.control_variables(given)

    def decided(size: int, **more: str) -> dict[str, str] | None:
        space = [DEFAULT, Candidate(configuration=Configuration.of(knobs))]
        return Tables(environment | more, lambda *_: space).knobs("MPI_Allreduce", 4, size)

    assert [decided(size) for size in (4, 8, 64, 128)] == [{}, knobs, knobs, {}]
    canaries = libraries.families()["mpich"].canaries(environment, tmp_path)
    assert canaries
    for canary in canaries:
        assert decided(4, **canary.environment) == {}
        assert decided(8, **canary.environment) is None
