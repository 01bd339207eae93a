"""Calls that go to the library for comparison: the same on all ranks, with what comes of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plumbline.core import control_record
from plumbline.core.control_record import ControlledRule, ControlRecord
from tests.busy import patiently
from tests.collectives_alt.programs import Build, mpirun
from tests.collectives_alt.started import Started, forced, rule, turns
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

RULE = rule("MPI_Allreduce", "allreduce_as_reduce_plus_bcast", "nprocs=2-4 bytes=0-65536")
MICROSECONDS = 1000


class Compared(Started):
    """A run of the program `controlled` whose variant and whose library take so many nanoseconds
    longer."""

    def __init__(
        self,
        build: Build,
        folder: Path,
        how: str,
        calls: int,
        *,
        share: str | None = "0.2",
        nprocs: int = 2,
        variant: int = 0,
        library: int = 0,
    ) -> None:
        env = {
            "PLUMBLINE_CONTROL_OUT": str(folder / "record.json"),
            "PLUMBLINE_SAY": "replaced",
            "PLANTED_VARIANT": str(variant),
            "PLANTED_LIBRARY": str(library),
        }
        if share is not None:
            env["PLUMBLINE_CONTROL"] = share
        super().__init__(
            *(build, folder, RULE, how, str(calls)),
            program="controlled",
            nprocs=nprocs,
            env=env,
            preload=(build.program("planted.so"),),
        )
        # The program fails where a result is wrong, or ranks of a communicator decide differently.
        assert self.done.returncode == 0, self.done.stdout + self.done.stderr
        lines = re.findall(r"calls=(\d+) library=(\d+) last=(\d+)\n", self.done.stdout)
        self.parts = [tuple(map(int, line)) for line in lines]
        self.path_of_record = folder / "record.json"

    @property
    def record(self) -> ControlRecord:
        record = control_record.read(self.path_of_record)
        assert record
        return record

    @property
    def rule(self) -> ControlledRule:
        (only,) = self.record.rules
        return only


def test_a_slower_rule_is_switched_off_in_the_running_job(build: Build, tmp_path: Path) -> None:
    """The calls of a slower rule are the library's from an agreed call on."""

    def check() -> None:
        run = Compared(build, tmp_path, "world", 8000, variant=100 * MICROSECONDS)
        assert run.rule.switched_off_at is not None
        ((calls, _, last),) = run.parts
        assert last <= run.rule.switched_off_at < calls
        at = run.rule.switched_off_at
        assert at % 1000 == 0 or at in (128, 256, 512)
        assert run.rule.replaced + run.rule.controlled == run.rule.switched_off_at
        assert run.rule.library_ns < run.rule.replaced_ns
        assert run.record.saving_to_seconds < 0
        cost = -run.record.saving_seconds
        assert cost == pytest.approx(
            run.rule.replaced * (run.rule.replaced_ns - run.rule.library_ns) * 1e-9, rel=0.2
        )
        assert "plumbline: the profile cost" in run.done.stderr
        assert run.done.stderr.endswith("; rules switched off, as they were slower: 1\n")

    patiently(check)


@pytest.mark.alone
def test_a_rule_slowed_by_a_third_is_switched_off(build: Build, tmp_path: Path) -> None:
    """The harm is a small part of the whole run."""
    library, variant = 20 * MICROSECONDS, 26 * MICROSECONDS

    def check() -> None:
        run = Compared(
            *(build, tmp_path, "world", 100_000), share="0.02", variant=variant, library=library
        )
        assert run.rule.switched_off_at is not None
        harm = -run.record.saving_seconds / (100_000 * run.rule.library_ns * 1e-9)
        assert harm < 0.005

    patiently(check)


def test_a_faster_rule_stays(build: Build, tmp_path: Path) -> None:
    def check() -> None:
        run = Compared(build, tmp_path, "world", 3000, library=100 * MICROSECONDS)
        assert run.rule.switched_off_at is None
        ((calls, library, last),) = run.parts
        assert (calls, last > 2900) == (3000, True)
        assert (run.rule.controlled, run.rule.replaced) == (library, calls - library)
        assert 200 < library < 1000
        assert run.rule.replaced_ns < run.rule.library_ns
        assert 0 < run.record.saving_from_seconds < run.record.saving_to_seconds
        assert "plumbline: the profile saved" in run.done.stderr
        assert f" {library} went to the library (" in run.done.stderr

    patiently(check)


def test_halves_of_the_ranks_decide_on_their_own(build: Build, tmp_path: Path) -> None:
    """Odd ranks make fewer calls than even ones before all meet."""
    run = Compared(build, tmp_path, "halves", 2200, nprocs=4, share="0.5")
    assert run.rule.ranks == 4
    assert [calls for calls, *_ in run.parts] == [2200, 2200]
    assert all(library > 300 for _, library, _ in run.parts)
    assert (run.record.nprocs, run.record.share) == (4, 0.5)


def test_communicators_that_live_shortly_add_up(build: Build, tmp_path: Path) -> None:
    """Knowledge of a rule outlives its communicator: none of these has a thousand calls."""

    def check() -> None:
        run = Compared(build, tmp_path, "short", 4000, variant=100 * MICROSECONDS)
        assert run.rule.switched_off_at is not None
        assert run.rule.switched_off_at % 100 == 0
        assert run.parts[0][2] <= run.rule.switched_off_at < 4000

    patiently(check)


def test_threads_compare_calls_at_the_same_time(build: Build, tmp_path: Path) -> None:
    run = Compared(build, tmp_path, "threads", 200, share="0.5", library=100 * MICROSECONDS)
    assert len(run.parts) == 2
    library_calls = sum(library for _, library, _ in run.parts)
    assert run.rule.replaced == 400 - library_calls
    # Where threads wait for processors, the rule may be found slower; later calls are no control.
    if run.rule.switched_off_at is None:
        assert run.rule.controlled == library_calls


@pytest.mark.parametrize(
    "share", by_default(["0", "0.51", "nan", "1 %"], ["-0.1", "2e-2", "0,02", ".5", "0."])
)
def test_what_is_no_share_is_refused(build: Build, tmp_path: Path, share: str) -> None:
    run = Compared(build, tmp_path, "world", 100, share=share)
    assert run.done.stderr == (
        f"plumbline: PLUMBLINE_CONTROL is '{share}', and must be a share of calls above 0, at most "
        "0.5, as 0.02; no calls are compared\n"
        "plumbline: replaced on rank 0: 100 of 100 calls of MPI_Allreduce\n"
    )
    assert run.parts == [(100, 0, 100)]
    assert not run.path_of_record.exists()


def test_nothing_changes_without_the_variable(build: Build, tmp_path: Path) -> None:
    run = Compared(build, tmp_path, "world", 100, share=None)
    assert run.done.stderr == "plumbline: replaced on rank 0: 100 of 100 calls of MPI_Allreduce\n"
    assert run.parts == [(100, 0, 100)]
    assert not run.path_of_record.exists()


def test_few_calls_have_no_saving(build: Build, tmp_path: Path) -> None:
    run = Compared(build, tmp_path, "world", 12)
    assert run.done.stderr.startswith("plumbline: too few calls to measure what the profile saves;")
    assert (run.record.saving_seconds, run.rule.library_ns) == (None, None)
    assert run.rule.replaced + run.rule.controlled == 12


@pytest.mark.parametrize("how", ["abort", "unfinished"])
def test_a_job_that_is_broken_off_leaves_no_record(build: Build, tmp_path: Path, how: str) -> None:
    profile = tmp_path / "profile"
    profile.write_text(f"plumbline-profile 1\n{RULE}\n")
    env = {
        "LD_PRELOAD": str(build.preload),
        "PLUMBLINE_PROFILE": str(profile),
        "PLUMBLINE_CONTROL": "0.5",
        "PLUMBLINE_CONTROL_OUT": str(tmp_path / "record"),
    }
    done = mpirun(2, build.program("controlled"), how, "200", env=env)
    assert done.returncode != 0
    assert "calls=200" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["profile"]


def test_a_place_that_is_no_file_is_left_alone(build: Build, tmp_path: Path) -> None:
    (tmp_path / "record.json").mkdir()
    run = Compared(build, tmp_path, "world", 100)
    path = tmp_path / "record.json"
    assert (
        f"plumbline: cannot write the record of compared calls {path}: not a plain file\n"
        in run.done.stderr
    )


def test_a_tamper_check_is_never_left_out(build: Build, tmp_path: Path) -> None:
    """The program expects each call that the canaries are for to fail."""
    canaries = [
        rule("MPI_Bcast", "canary", "nprocs=2-2 bytes=8-8"),
        rule("MPI_Allgatherv", "canary", "nprocs=2-2 bytes=16-16"),
        rule("MPI_Allreduce", "canary", "nprocs=2-2 bytes=0-inf op=commutative"),
    ]
    run = Started(
        *(build, tmp_path, "\n".join(canaries)),
        program="again",
        nprocs=2,
        env={"PLUMBLINE_CONTROL": "0.5"},
    )
    assert run.done.stdout.startswith("ok bad=0 ")


def test_results_of_all_functions_stay_right(build: Build, tmp_path: Path) -> None:
    plain = mpirun(4, build.program("application"), "all")
    env = {"PLUMBLINE_CONTROL": "0.5", "PLUMBLINE_CONTROL_OUT": str(tmp_path / "record")}
    run = Started(build, tmp_path, forced(turns(build)[0]), "all", env=env)
    assert (run.done.returncode, run.done.stdout) == (0, plain.stdout)
    record = control_record.read(tmp_path / "record")
    assert record
    assert len(record.rules) > 10
    assert sum(used.controlled for used in record.rules) > 0


def test_ranks_whose_start_was_not_seen_compare_nothing(build: Build, tmp_path: Path) -> None:
    """Rank 0 could not tell the others what it reads."""
    run = Started(build, tmp_path, RULE, "unseen", env={"PLUMBLINE_CONTROL": "0.5"})
    assert run.done.stderr == (
        "plumbline: PLUMBLINE_CONTROL is not used, as the start of MPI was not seen; "
        "no calls are compared\n"
    )
    assert run.replaced() == {2: 5}
