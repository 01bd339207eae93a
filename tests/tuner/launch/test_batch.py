"""What all launchers that hand jobs to a scheduler promise, under stand-ins for the commands of
Slurm, PBS, Flux and LSF. The real Slurm is in test_slurm.py."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.core.plan import Plan, PlanCase
from plumbline.launch import launcher_for
from plumbline.launch.batch import Queue, SchedulerTable
from plumbline.launch.flux import FluxTable
from plumbline.launch.lsf import LsfTable
from plumbline.launch.pbs import PbsTable
from plumbline.launch.slurm import SlurmTable, remembered
from plumbline.launch.starter import Programs, Starter
from plumbline.launch.under_way import UnderWay
from plumbline.libraries import Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.measure.launches import Series
from plumbline.system import ending
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign, Suite
from tests.db import build
from tests.tuner import fake_probe
from tests.tuner.lab import Lab

COMMANDS = ("sbatch", "squeue", "sacct", "scancel", "qsub", "qstat", "qselect", "qdel", "pbsnodes")
OF_LSF = ("bsub", "bjobs", "bkill", "bhosts", "lsid")
GOOD = f'{fake_probe.COMMAND} "$2" "$4"'  # a probe that answers
STAND_IN = Path(__file__).with_name("fake_scheduler.py")
TABLES = {
    "slurm": SlurmTable,
    "pbs": PbsTable,
    "torque": PbsTable,
    "flux": FluxTable,
    "lsf": LsfTable,
}


class Scheduler:
    """Starts launches under the stand-ins."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.kind = kind
        self.folder = folder / "scheduler"
        (self.folder / "jobs").mkdir(parents=True)
        if kind == "torque":
            (self.folder / "torque").touch()
        self._mpirun = folder / "mpirun"
        self._mpirun.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
        self._mpirun.chmod(0o755)
        self._home = folder

    def fates(self, *words: str) -> None:
        (self.folder / "fates").write_text("\n".join(words) + "\n")

    def mute(self, times: int) -> None:
        (self.folder / "mute").write_text("x\n" * times)

    def submitted(self) -> list[list[str]]:
        found = sorted((self.folder / "jobs").glob("*"), key=lambda one: int(one.name))
        return [(one / "argv").read_text().split("\0") for one in found]

    def starter(self, text: str = GOOD, *, timeout_seconds: float = 20.0, **keys: Any) -> Starter:
        """`text` is a script in the place of the probe: $2 is the plan, $4 the records."""
        probe = self._home / "probe"
        part = probe.with_name("part")  # a job that is under way may start it just now
        part.write_text(f"#!/bin/bash\n{text}\n")
        part.chmod(0o755)
        part.rename(probe)
        keys = {"poll_seconds": 0.05, "grace_seconds": 0.3} | keys
        if self.kind == "flux":
            keys = {"start": "mpirun"} | keys
        return Starter(
            Programs(
                OpenMpi(),
                Installation(build.LIBRARY, self._mpirun, None),
                launcher_for(TABLES[self.kind](**keys), self._home),
                probe,
            ),
            placement=Placement(nodes=1, ppn=4),
            timeout_seconds=timeout_seconds,
        )


def queue_of(ranks: Starter) -> Queue[SchedulerTable]:
    assert isinstance(ranks._launcher, Queue)
    return ranks._launcher


@pytest.fixture(params=["slurm", "pbs", "flux", "lsf"])
def scheduler(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Scheduler:
    monkeypatch.setattr("plumbline.launch.batch.FIRST_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr("plumbline.launch.batch.LAST_PAUSE_SECONDS", 0.1)
    commands = tmp_path / "commands"
    commands.mkdir()
    for name in (*COMMANDS, *OF_LSF, "flux"):
        text = f"#!{sys.executable} -S\n" + STAND_IN.read_text()
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_SCHEDULER", str(tmp_path / "scheduler"))
    return Scheduler(tmp_path, request.param)


LAUNCH = ("c", "s", 0, "plan", dict[str, str]())
# Of what is decided without the scheduler's own word.
ONCE = pytest.mark.parametrize("scheduler", ["slurm"], indirect=True)
CASES = (PlanCase("MPI_Bcast", 64), PlanCase("MPI_Bcast", 1024))
PLAN = Plan("", 1, CASES, blocks=1, reps=1)
NAMED = Plan("s-000", 1, CASES, blocks=1, reps=1)


@pytest.mark.parametrize("scheduler", list(TABLES), indirect=True)
def test_a_launch_is_a_job(scheduler: Scheduler, tmp_path: Path) -> None:
    ranks = scheduler.starter(GOOD + "; echo seen >&2")
    run, _ = ranks.start("c", "s", 0, "plan", {"A": "it's"})
    assert (run.failure, run.stderr) == (None, "seen\n")
    (words,) = scheduler.submitted()
    text = " ".join(words)
    expected = {
        "slurm": "--export=NONE --no-requeue",
        "pbs": "-l select=1:ncpus=4:mpiprocs=4 -l place=scatter:excl",
        "torque": "-l nodes=1:ppn=4 -n",
        "flux": "--nodes=1 --nslots=4",
        "lsf": "-env none -W 2 -n 4 -R span[ptile=4] -x /bin/bash",
    }
    assert expected[scheduler.kind] in text
    assert "export A='it'\"'\"'s'" in (tmp_path / "jobs" / "c" / "s-000" / "job.sh").read_text()
    ranks.stored(run.id)
    assert not any((tmp_path / "jobs").iterdir())


def test_a_finished_launch_is_taken_until_it_is_stored(scheduler: Scheduler) -> None:
    """As after a kill between its end and the database."""
    first, _ = scheduler.starter().start(*LAUNCH)
    again, _ = scheduler.starter().start(*LAUNCH)
    assert again.seconds == first.seconds and len(scheduler.submitted()) == 1
    other, _ = scheduler.starter().start("c", "s", 0, "another plan", {})
    assert other.finished and len(scheduler.submitted()) == 2


@ONCE
def test_a_last_word_that_is_cut_is_an_outcome_and_no_second_job(
    scheduler: Scheduler, tmp_path: Path
) -> None:
    """As after a disk that was full, or a file system that lost it."""
    scheduler.starter().start(*LAUNCH)
    (tmp_path / "jobs" / "c" / "s-000" / "done").write_text("")
    run, _ = scheduler.starter().start(*LAUNCH)
    assert not run.finished and "is there room in" in run.stderr
    assert len(scheduler.submitted()) == 1


@ONCE
def test_an_environment_that_is_cut_is_told_and_the_launch_started_again(
    scheduler: Scheduler, tmp_path: Path
) -> None:
    scheduler.starter().start(*LAUNCH)
    (tmp_path / "jobs" / "c" / "s-000" / "environment").write_text("")
    ranks = scheduler.starter()
    with pytest.raises(PlumblineError, match="environment is not whole"):
        ranks.start(*LAUNCH)
    assert ranks.start(*LAUNCH)[0].finished
    assert len(scheduler.submitted()) == 2


@ONCE
def test_nobody_else_looks_into_the_folder_of_a_job_or_has_made_it(
    scheduler: Scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_btl", "secret")
    ranks = scheduler.starter(keep=True)
    run, _ = ranks.start(*LAUNCH)
    ranks.stored(run.id)
    folder = tmp_path / "jobs" / "c" / "s-000"
    assert "secret" in (folder / "job.sh").read_text()
    assert not (folder / "environment").exists()
    for one in (folder, folder.parent):
        assert one.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(PlumblineError, match="s-000 can be written to by others"):
        ranks.start(*LAUNCH)


@ONCE
@pytest.mark.parametrize("how", ["mode", "owner"])
def test_nobody_puts_another_job_in_the_place_of_one_that_waits(
    scheduler: Scheduler, tmp_path: Path, how: str
) -> None:
    home = tmp_path / "jobs"
    home.mkdir()
    if how == "mode":
        home.chmod(0o2775)
    elif os.geteuid() == 0:
        os.chown(home, 4321, -1)
    else:
        pytest.skip("only root gives folders away")
    with pytest.raises(PlumblineError, match=r"jobs (can be written to by others|belongs to)"):
        scheduler.starter().start(*LAUNCH)
    assert not scheduler.submitted()
    os.chown(home, os.geteuid(), -1)
    home.chmod(0o1777)
    run, _ = scheduler.starter().start(*LAUNCH)
    assert run.finished


@ONCE
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_jobs_go_on_when_a_system_ends_plumbline(scheduler: Scheduler, number: int) -> None:
    """And are cancelled when somebody at the keyboard does."""
    ranks = scheduler.starter(f"sleep 1; {GOOD}")
    queue = queue_of(ranks)
    queue.states = lambda jobs: signal.raise_signal(number)  # type: ignore[assignment, method-assign, return-value]
    with ending.by_signals(), pytest.raises(ending.Ended):
        ranks.start(*LAUNCH)
    cancelled = (scheduler.folder / "jobs" / "1" / "fate").read_text() == "cancel"
    assert cancelled == (number == signal.SIGINT)
    run, _ = scheduler.starter(f"sleep 1; {GOOD}").start(*LAUNCH)
    assert run.finished
    assert len(scheduler.submitted()) == 1 + cancelled


@ONCE
def test_another_campaign_of_the_same_name_takes_no_result(
    scheduler: Scheduler, tmp_path: Path
) -> None:
    """Of a database that is gone, or that lies beside this one."""
    campaign = Campaign("c", "", "", "", 2, 1, 2, False, "{}", "running", "", "")
    for began in ("20260101", "20260102"):
        ranks = scheduler.starter(keep=True)
        ranks.keep_apart(msgspec.structs.replace(campaign, started=f"{began}T120000"))
        run, _ = ranks.start(*LAUNCH)
        ranks.stored(run.id)
        assert (tmp_path / "jobs" / f"c-{began}120000" / "s-000" / "done").is_file()
    assert len(scheduler.submitted()) == 2


@ONCE
def test_a_launch_that_is_not_taken_is_started_again(scheduler: Scheduler, lab: Lab) -> None:
    """Here two nodes were asked for, and the records are of one."""
    ranks = scheduler.starter()
    elsewhere = scheduler.starter()
    elsewhere.placement = Placement(nodes=2, ppn=2)
    for number in (1, 2):
        with pytest.raises(PlumblineError, match="2 nodes with 2 ranks each were asked for"):
            lab.store(elsewhere).launch(Suite("s"), 0, NAMED, {})
        assert len(scheduler.submitted()) == number
    assert lab.store(ranks).launch(Suite("s"), 0, NAMED, {}).run.finished


def test_nodes_of_a_cluster_have_cores_of_their_own(
    scheduler: Scheduler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The login node says nothing of them."""
    other = [frozenset({unit}) for unit in range(64)]
    monkeypatch.setattr("plumbline.system.machine.domains", lambda: {"core": other})
    ranks = scheduler.starter()
    ranks.placement = Placement(nodes=1, ppn=4, bind="core")
    (tmp_path / "mpirun").write_text('#!/bin/sh\nshift 4\nexec "$@"\n')
    assert ranks.start(*LAUNCH)[0].finished


@ONCE
def test_events_are_stored_once(scheduler: Scheduler, lab: Lab) -> None:
    """Also where the files of a launch stay, or a kill came before they went."""
    scheduler.fates("node")
    for _ in range(2):
        store = lab.store(scheduler.starter(keep=True))
        assert store.launch(Suite("s"), 0, NAMED, {}).run.finished
    assert [one.kind for one in lab.events()] == ["launch interrupted"]


@pytest.mark.parametrize("scheduler", list(TABLES), indirect=True)
@pytest.mark.parametrize(
    ("fate", "kind"),
    [("node", "launch interrupted"), ("cancel", "launch cancelled"), ("lose", "launch lost")],
)
def test_what_the_cluster_ends_is_started_again(
    scheduler: Scheduler, lab: Lab, fate: str, kind: str
) -> None:
    """Also where another job has got the lost one's id."""
    if (scheduler.kind, fate) == ("flux", "lose"):
        pytest.skip("ids of Flux are never given again")
    scheduler.fates(fate)
    store = lab.store(scheduler.starter())
    assert store.launch(Suite("s"), 0, NAMED, {}).run.finished
    assert [one.kind for one in lab.events()] == [kind]
    assert len(scheduler.submitted()) == 2


def test_how_long_slurm_remembers() -> None:
    text = "ClusterName             = c\nMinJobAge               = {} sec\n"
    assert [remembered(text.format(age)) for age in (300, 5)] == [60.0, 5.0]
    assert remembered("ClusterName = c\n") == 60.0


@ONCE
def test_not_for_ever(scheduler: Scheduler) -> None:
    scheduler.fates("node", "node", "node")
    with pytest.raises(PlumblineError, match=r"and so were 2 jobs of this launch before"):
        scheduler.starter(resubmissions=2).start(*LAUNCH)
    assert len(scheduler.submitted()) == 3
    assert scheduler.starter().start(*LAUNCH)[0].finished


@ONCE
def test_cancelled_twice(scheduler: Scheduler) -> None:
    scheduler.fates("cancel", "cancel")
    with pytest.raises(PlumblineError, match=r"was cancelled, as the one before"):
        scheduler.starter().start(*LAUNCH)
    assert len(scheduler.submitted()) == 2


@pytest.mark.parametrize("scheduler", list(TABLES), indirect=True)
def test_ended_at_the_schedulers_limit(scheduler: Scheduler) -> None:
    scheduler.fates("late")
    run, _ = scheduler.starter().start(*LAUNCH)
    assert run.reason == "no end after 20 s"


def test_a_script_that_does_not_come_to_its_end(scheduler: Scheduler) -> None:
    scheduler.fates("fail")
    run, _ = scheduler.starter().start(*LAUNCH)
    assert run.reason == "exit status 1"
    assert "on a file system that all nodes share" in run.stderr


def test_a_scheduler_that_does_not_answer_has_lost_nothing(scheduler: Scheduler) -> None:
    scheduler.mute(8)
    ranks = scheduler.starter(f"sleep 1; {GOOD}", grace_seconds=0.2)
    assert ranks.start(*LAUNCH)[0].finished
    assert len(scheduler.submitted()) == 1


@ONCE
def test_a_job_that_runs_though_nobody_knows_it(scheduler: Scheduler, tmp_path: Path) -> None:
    """What the scheduler has forgotten gets no second job while its script still beats."""
    wanted = GOOD
    ranks = scheduler.starter(f"touch {tmp_path}/runs; sleep 1; {wanted}", grace_seconds=5)
    queue = queue_of(ranks)
    queue.states = lambda jobs: {}  # type: ignore[attr-defined]
    assert ranks.start(*LAUNCH)[0].finished
    assert len(scheduler.submitted()) == 1


def test_a_job_that_was_given_up_and_still_runs_corrupts_nothing(
    scheduler: Scheduler, tmp_path: Path
) -> None:
    """It comes to its end while the second one runs: neither its records nor its end count."""
    other = tmp_path / "other"
    other.write_text("not records\n")
    folder = tmp_path / "jobs" / "c" / "s-000"
    text = f"""
if mkdir {tmp_path}/first 2>/dev/null
then rm -f {folder}/alive; until [ -e {tmp_path}/second ]; do sleep 0.05; done
     cp {other} "$4"; exit 7
fi
touch {tmp_path}/second
until [ -e {folder}/records-1.ndjson ]; do sleep 0.05; done
sleep 0.5; {GOOD}"""
    ranks = scheduler.starter(text, grace_seconds=0.5)
    queue = queue_of(ranks)
    states = queue.states
    known = tmp_path / "second"
    queue.states = lambda jobs: states(jobs) if known.exists() else {}  # type: ignore[method-assign]
    run, records = ranks.start(*LAUNCH)
    assert run.finished and records
    assert len(scheduler.submitted()) == 2
    assert (folder / "records-1.ndjson").read_text() == "not records\n"


def test_a_submission_whose_answer_was_not_heard_is_found_by_name(scheduler: Scheduler) -> None:
    scheduler.fates("unheard")
    text = f"sleep 1; {GOOD}"
    with pytest.raises(PlumblineError, match="Socket timed out"):
        scheduler.starter(text).start(*LAUNCH)
    assert scheduler.starter(text).start(*LAUNCH)[0].finished
    assert len(scheduler.submitted()) == 1


def test_ctrl_c_before_the_id_of_a_job_is_known(scheduler: Scheduler) -> None:
    """The scheduler has it: it is found by its name and cancelled."""
    ranks = scheduler.starter(f"sleep 20; {GOOD}")
    queue = queue_of(ranks)
    submit = queue.submit

    def interrupted(*arguments: Any) -> list[str]:
        submit(*arguments)
        raise KeyboardInterrupt

    queue.submit = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        ranks.start(*LAUNCH)
    assert (scheduler.folder / "jobs" / "1" / "fate").read_text() == "cancel"
    assert scheduler.starter().start(*LAUNCH)[0].finished
    assert len(scheduler.submitted()) == 2


def test_submissions_that_did_not_arrive(scheduler: Scheduler, tmp_path: Path) -> None:
    """Several, each handed over under a name of its own before a kill."""
    ranks = scheduler.starter(at_once=2, grace_seconds=1.0)
    for number in (0, 1):
        folder = tmp_path / "jobs" / "c" / f"s-00{number}"
        folder.mkdir(parents=True)
        queue = queue_of(ranks)
        job = ranks._job(f"c/s-00{number}", folder, "plan", {})
        launch = UnderWay(queue, ranks.family, ranks._installation, job)
        launch.prepare()
        launch.keep_submission(f"plumbline-{number}", 0)
    ends = ranks.start_together("c", "s", {0: "plan", 1: "plan"}, {})
    assert [run.finished for run, _ in ends] == [True, True]


def test_a_submission_that_is_refused_leaves_nothing(scheduler: Scheduler) -> None:
    scheduler.fates("refuse")
    with pytest.raises(PlumblineError, match="Invalid account"):
        scheduler.starter().start(*LAUNCH)
    assert scheduler.submitted() == []
    run, _ = scheduler.starter().start(*LAUNCH)
    assert run.finished


def test_a_time_out(scheduler: Scheduler) -> None:
    run, _ = scheduler.starter("sleep 30", timeout_seconds=0.5).start(*LAUNCH)
    assert run.reason == "no end after 0.5 s"


@pytest.mark.parametrize("scheduler", ["flux"], indirect=True)  # the stand-in has no arrays
def test_rounds_of_launches(scheduler: Scheduler, lab: Lab) -> None:
    """Several at once, each with its seed; a case under which all fail is dropped after its
    round. Run again it takes the same decisions from the database."""
    begun = f'{fake_probe.COMMAND} "$2" "$4" 6'  # case 1 has begun
    text = f'if grep -q bytes=1024 "$2"; then {begun}; exit 1; fi; {GOOD}'
    for _ in range(2):
        store = lab.store(scheduler.starter(text, at_once=3))
        series = Series(store, Suite("s"), PLAN, {})
        series.advance(4)
        assert series.dropped == {CASES[1]}
        kept = lab.runs()
        assert [one.finished for one in kept] == [False] * 3 + [True] * 4
        assert [f"seed={1 + one.sequence} " in one.plan for one in kept] == [True] * 7
        assert len(scheduler.submitted()) == 7


@pytest.mark.parametrize(
    ("table", "keys", "complaint"),
    [
        (SlurmTable, {"sbatch": ("-A x",)}, "no option"),
        (SlurmTable, {"sbatch": ("--wrap=x",)}, "set from the other keys"),
        (SlurmTable, {"partition": "a b"}, "one word"),
        (SlurmTable, {"start": "srun"}, "mpi goes with"),
        (SlurmTable, {"at_once": 0}, "at_once"),
        (PbsTable, {"qsub": ("-v A=B",)}, "set from the other keys"),
        (PbsTable, {"qsub": ("-l walltime=1",)}, "set from the other keys"),
        (PbsTable, {"qsub": ("-l a b",)}, "no option"),
        (PbsTable, {"queue": "-q"}, "one word"),
        (FluxTable, {"flux": ("--env=A",)}, "set from the other keys"),
        (FluxTable, {"bank": "a\nb"}, "one word"),
        (LsfTable, {"bsub": ("-J x",)}, "set from the other keys"),
        (LsfTable, {"bsub": ("-R span[hosts=1]",)}, "set from the other keys"),
        (LsfTable, {"bsub": ("reservation",)}, "no option"),
        (LsfTable, {"select": "span[ptile=2]"}, "set from nprocs"),
        (LsfTable, {"queue": "-q"}, "one word"),
    ],
)
def test_tables_are_strict(table: type, keys: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        table(**keys)
