"""The acceptance test as a whole, on a finished campaign whose programs are pretended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import in_force
from plumbline.campaign.in_force import ActiveFiles
from plumbline.check import acceptance, installed
from plumbline.check.installed import Osu
from plumbline.check.programs import COLUMNS
from plumbline.launch.simulation import Simulation
from plumbline.system import paths
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES
from tests.db import build
from tests.tuner import planted
from tests.tuner.campaign.test_campaign import run
from tests.tuner.check.pretended import RULES, Pretended, cases, halved
from tests.tuner.simulated import SimulatedStarter, toolchain

Check = Callable[..., acceptance.Acceptance]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActiveFiles]:
    folder = tmp_path_factory.mktemp("check")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(in_force, "find_toolchain", lambda *_, **__: toolchain())
        settings = planted.settings(guidelines=["GL12", "GL16"], sizes=[1024, 16384])
        with Database.open(folder / "plumbline.db", write=True) as db:
            run(db, folder / "exports", SimulatedStarter(planted.costs()), settings)
        yield in_force.files(folder / "plumbline.db", None, None)


@pytest.fixture(autouse=True)
def loops_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths.Layout, "loops", lambda *_: Path("/opt/plumbline/loops"))


def under(found: ActiveFiles, launcher: Pretended) -> ActiveFiles:
    return msgspec.structs.replace(
        found, toolchain=msgspec.structs.replace(found.toolchain, launcher=launcher)
    )


def test_what_halves_every_time_is_faster_in_every_loop(campaign: ActiveFiles) -> None:
    launcher = Pretended()
    found = acceptance.run(under(campaign, launcher))
    assert {one.function for one in found.winners} == {"MPI_Allreduce", "MPI_Scan"}
    assert found.loops == list(COLUMNS)
    for loop in found.loops:
        assert found.count(loop, "faster") == len(found.winners)
        for number in range(len(found.winners)):
            one = found.of(number, loop)
            assert one is not None and one.seen.speedup == pytest.approx(2, rel=0.05)
    assert found.slower() == [] and found.notes == []
    assert len(launcher.jobs) == 24  # nothing was measured again


def test_sides_differ_by_the_files_alone_and_take_turns(campaign: ActiveFiles) -> None:
    launcher = Pretended()
    acceptance.run(under(campaign, launcher))
    tuned, plain = (
        next(job for job in launcher.jobs if (RULES in job.environment) == side)
        for side in (True, False)
    )
    assert tuned.environment == plain.environment | tuned.extra
    assert plain.extra == {} and RULES in tuned.extra
    pairs = list(zip(launcher.tuned[::2], launcher.tuned[1::2], strict=True))
    assert set(pairs) == {(True, False), (False, True)}
    for first, second in zip(launcher.jobs[::2], launcher.jobs[1::2], strict=True):
        assert cases(first) == cases(second)
        assert seed_of(first.program) == seed_of(second.program)
    seeds = [seed_of(job.program) for job in launcher.jobs[::2]]
    assert len(set(seeds)) == acceptance.PAIRS


def seed_of(words: list[str]) -> str:
    return words[words.index("--seed") + 1]


def test_variables_of_this_shell_are_on_neither_side(
    campaign: ActiveFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "0")
    monkeypatch.setenv("MY_OWN", "kept")
    launcher = Pretended()
    found = acceptance.run(under(campaign, launcher), pairs=6)
    for job in launcher.jobs:
        assert job.environment["MY_OWN"] == "kept"
        assert job.environment.get("OMPI_MCA_coll_tuned_use_dynamic_rules") != "0"
    assert any("OMPI_MCA_coll_tuned_use_dynamic_rules" in note for note in found.notes)


def test_ranks_are_where_a_plain_mpirun_puts_them(campaign: ActiveFiles) -> None:
    launcher = Pretended()
    acceptance.run(under(campaign, launcher), pairs=6)
    assert {(job.placement.bind, job.placement.oversubscribed) for job in launcher.jobs} == {
        ("plain", True)
    }
    bound = Pretended()
    acceptance.run(under(campaign, bound), pairs=6, bind="core")
    assert {job.placement.bind for job in bound.jobs} == {"core"}


def test_one_type_in_one_loop_is_found_slower_and_named(campaign: ActiveFiles) -> None:
    def cost(tuned: bool, loop: str, case: str, number: int) -> float:
        slow = tuned and loop == "stream" and case == "MPI_Allreduce:16384:MPI_DOUBLE:MPI_SUM"
        return 130.0 if slow else halved(tuned, loop, case, number)

    launcher = Pretended(cost)
    found = acceptance.run(under(campaign, launcher))
    (number,) = found.slower()
    assert found.winners[number].function == "MPI_Allreduce"
    one = found.of(number, "stream")
    assert one is not None and one.word == "slower"
    assert [cell.words() for cell in one.slower] == ["MPI_Allreduce 16384 B MPI_DOUBLE MPI_SUM"]
    assert found.count("osu", "slower") == 0
    # In fresh launches, those cells in that loop alone; and in twice as many a third time.
    again = launcher.jobs[24:]
    assert len(again) == 24 + 48
    for job in again:
        assert cases(job) == ["MPI_Allreduce:16384:MPI_DOUBLE:MPI_SUM"]
        assert [word for word in job.program if word in COLUMNS] == ["stream"]
    (said,) = [row for row in acceptance.document(found)["cells"] if row["word"] == "slower"]
    assert said["loop"] == "stream" and said["again"]["speedup"] < 1


@pytest.mark.parametrize("launches", [24, 48])
def test_what_was_slow_in_the_first_launches_alone_is_not_slower(
    campaign: ActiveFiles, launches: int
) -> None:
    def cost(tuned: bool, loop: str, case: str, number: int) -> float:
        slow = tuned and number <= launches and "MPI_DOUBLE" in case
        return 130.0 if slow else halved(tuned, loop, case, number)

    found = acceptance.run(under(campaign, Pretended(cost)))
    assert found.slower() == []
    assert any(cell.again is not None for cell in found.cells)


def test_another_program_fills_a_column_of_its_own(campaign: ActiveFiles) -> None:
    osu = Osu({"MPI_Allreduce": Path("/opt/osu/osu_allreduce")}, nprocs=4, iterations=50)
    found = acceptance.run(under(campaign, Pretended()), pairs=6, programs=[osu])
    assert found.loops[-1] == "osu_*"
    for number, winner in enumerate(found.winners):
        seen = found.of(number, "osu_*")
        if winner.function == "MPI_Scan":
            assert seen is None and number in found.unseen["osu_*"]
        elif seen is not None:
            assert seen.word == "faster" and seen.worst.type == "MPI_CHAR"
    assert found.count("osu_*", "faster") >= 1


def test_a_program_that_does_not_run_here_is_left_out(campaign: ActiveFiles) -> None:
    osu = Osu({"MPI_Allreduce": Path("/opt/osu/osu_allreduce")}, nprocs=4, iterations=50)
    fails = lambda _, program: "no such MPI" if program.startswith("osu") else ""  # noqa: E731
    first = set()
    for seed in range(1, 6):  # whichever side goes first
        launcher = Pretended(fails=fails)
        found = acceptance.run(under(campaign, launcher), pairs=6, seed=seed, programs=[osu])
        first.add(RULES in launcher.jobs[12].environment)
        assert any("left out: OSU" in note and "no such MPI" in note for note in found.notes)
        assert found.loops == list(COLUMNS)
    assert first == {True, False}


def test_a_program_that_fails_with_the_files_alone_is_an_error(campaign: ActiveFiles) -> None:
    fails = lambda tuned, _: "Segmentation fault" if tuned else ""  # noqa: E731
    with pytest.raises(
        PlumblineError, match=r"with the exported files in force loops: exit.*\n.*S"
    ):
        acceptance.run(under(campaign, Pretended(fails=fails)), pairs=6)


def test_loops_that_do_not_run_are_an_error(campaign: ActiveFiles) -> None:
    with pytest.raises(PlumblineError, match="loops: exit status 1"):
        acceptance.run(under(campaign, Pretended(fails=lambda *_: "broken")), pairs=6)


def test_nothing_to_check(campaign: ActiveFiles) -> None:
    without = msgspec.structs.replace(campaign, winners=[])
    with pytest.raises(PlumblineError, match="has no winners: nothing to check"):
        acceptance.run(without)


def test_what_cannot_be_asked_for(campaign: ActiveFiles) -> None:
    found = under(campaign, Pretended())
    with pytest.raises(UsageError, match=r"no winner of MPI_Bcast; it has of MPI_\w+, MPI_"):
        acceptance.run(found, functions=["MPI_Bcast"])
    settings = campaign.settings.but(simulate=Simulation(library="ompi"))
    with pytest.raises(UsageError, match="of a simulated machine"):
        acceptance.run(msgspec.structs.replace(found, settings=settings))


def test_a_setting_of_the_process_is_called_in_the_functions_of_the_table(
    campaign: ActiveFiles,
) -> None:
    """Not in those of every guideline that there is."""
    launcher = Pretended()
    whole = build.winner(function=EVERY_FUNCTION, bytes_from=0, bytes_to=UNBOUNDED_BYTES)
    found = msgspec.structs.replace(under(campaign, launcher), winners=[whole])
    acceptance.run(found, pairs=6)
    called = {case.partition(":")[0] for job in launcher.jobs for case in cases(job)}
    assert called == {"MPI_Allreduce", "MPI_Scan"}


def test_winners_of_one_function(campaign: ActiveFiles) -> None:
    launcher = Pretended()
    found = acceptance.run(under(campaign, launcher), pairs=6, functions=["MPI_Scan"])
    assert {one.function for one in found.winners} == {"MPI_Scan"}
    assert {case.partition(":")[0] for job in launcher.jobs for case in cases(job)} == {"MPI_Scan"}


def test_programs_that_are_installed(
    campaign: ActiveFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("osu_bcast", "IMB-MPI1"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    both = installed.programs(campaign, None, None, 10)
    assert [one.name for one in both] == ["OSU", "IMB"]
    assert installed.programs(campaign, Path("none"), Path("none"), 10) == []
