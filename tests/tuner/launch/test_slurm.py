"""Launches under a real Slurm: what survives what. The programs are Debian's Open MPI with the
probe behind it, or a script of the test in the probe's place."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plumbline import libraries
from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.slurm import Slurm, SlurmTable
from plumbline.launch.starter import Programs, Starter
from plumbline.system import paths
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Run, Suite
from tests.slurm import Cluster
from tests.tuner.fake_probe import COMMAND
from tests.tuner.lab import Lab
from tests.tuner.started import plumbline, start
from tests.tuner.test_end_to_end import launches

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

# Everything below lies in a folder with such a name.
NAME = 'it\'s "a" $HOME of `jobs`'


@pytest.fixture(autouse=True)
def reached(slurm: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / NAME
    folder.mkdir()
    return folder


def starter(home: Path, text: str, *, timeout_seconds: float = 60.0, **keys: Any) -> Starter:
    """`text` is a script in the place of the probe: $2 is the plan, $4 where the records belong."""
    program = home / "probe"
    program.write_text(f"#!/bin/bash\n{text}\n")
    program.chmod(0o755)
    family, installation = libraries.find()
    keys = {"poll_seconds": 0.2, "grace_seconds": 3, "folder": str(home / "jobs")} | keys
    return Starter(
        Programs(family, installation, Slurm(SlurmTable(**keys), home), program),
        placement=Placement(nodes=1, ppn=4),
        timeout_seconds=timeout_seconds,
    )


@contextlib.contextmanager
def meanwhile(what: Callable[[], object]) -> Iterator[None]:
    """`what` happens beside what is in the context; its errors are those of the test."""
    errors: list[BaseException] = []

    def catching() -> None:
        try:
            what()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=catching)
    thread.start()
    yield
    thread.join()
    if errors:
        raise errors[0]


def running_with(word: str) -> list[str]:
    """Command lines of processes that have `word` in them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found += [line] if word in line else []
    return found


def jobs_of(slurm: Cluster, before: set[str]) -> list[str]:
    return [number for number, _, _ in slurm.jobs() if number not in before]


def numbers(slurm: Cluster) -> set[str]:
    return {number for number, _, _ in slurm.jobs()}


# --- one launch ---------------------------------------------------------------------------------


def test_a_launch_is_a_job(home: Path, slurm: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees what its node, its setup, the library and the launch set; not what is set here."""
    monkeypatch.setenv("OMPI_MCA_btl", "self,vader")
    monkeypatch.setenv("NOT_FOR_JOBS", "1")
    before = numbers(slurm)
    text = f'test -s "$2" && {COMMAND} "$2" "$4"; [ "$OMPI_COMM_WORLD_RANK" != 0 ] || env >&2'
    ranks = starter(home, text, setup="export MODULE='loaded  \"it\"'  # as it is\n")
    run, _ = ranks.start("c", "before", 0, "plan", {"OMPI_MCA_coll_tuned_use_dynamic_rules": "a'b"})
    assert run.failure is None
    seen = dict(line.split("=", 1) for line in run.stderr.splitlines() if "=" in line)
    assert seen["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "a'b"
    assert seen["OMPI_MCA_btl"] == "self,vader"
    assert seen["MODULE"] == 'loaded  "it"'
    assert "NOT_FOR_JOBS" not in seen
    assert run.seconds > 0
    (job,) = jobs_of(slurm, before)
    assert seen["SLURM_JOB_ID"] == job
    assert seen["SLURM_JOB_NAME"].startswith("plumbline-")
    assert (home / "jobs" / "c" / "before-000" / "done").is_file()
    ranks.stored(run.id)
    assert list((home / "jobs").iterdir()) == []


def test_a_node_that_sets_what_is_measured_is_refused(home: Path, slurm: Cluster) -> None:
    del slurm
    ranks = starter(home, "exit 0", setup="export OMPI_MCA_coll=basic")
    with pytest.raises(PlumblineError, match=r"jobs of slurm get OMPI_MCA_coll .*unset it"):
        ranks.start("c", "s", 0, "plan", {})


def test_a_time_out_leaves_nobody(home: Path, slurm: Cluster) -> None:
    """Ranks that do not listen to TERM, and what they have started."""
    text = "trap '' TERM; sleep 86397 & while :; do sleep 1; done"
    run, _ = starter(home, text, timeout_seconds=2).start("c", "s", 0, "plan", {})
    assert run.reason == "no end after 2 s"
    for _ in range(600):
        if not running_with("sleep 86397") + running_with(str(home / "probe")):
            break
        time.sleep(0.1)
    assert running_with("sleep 86397") + running_with(str(home / "probe")) == []
    assert slurm.jobs("running") == []


@pytest.mark.parametrize("keys", [{}, {"start": "srun", "mpi": "pmix"}])
def test_more_ranks_than_processors(home: Path, keys: dict[str, str]) -> None:
    """Placed by mpirun as a campaign has them, and as a user has them; srun has one way."""
    counted = home.parent / "ranks"
    ranks = starter(home, f"echo . >>{counted}", exclusive=False, **keys)
    ranks.placement = Placement(nodes=1, ppn=6, oversubscribed=True)
    assert (ranks.plain is None) == bool(keys)
    for number, placement in enumerate((None, ranks.placement.plain())):
        run, _ = ranks.start("c", "s", number, "plan", {}, placement)
        assert run.reason == "no records", run.stderr
        words = " ".join(run.argv)
        assert ("--bind-to" in words) == (not keys and placement is None)
        assert "--cpu-bind" not in words
    assert len(counted.read_text().split()) == 12


def test_what_sbatch_refuses_is_said(home: Path) -> None:
    ranks = starter(home, "exit 0", partition="nowhere")
    with pytest.raises(PlumblineError, match=r"sbatch fails: .*invalid partition"):
        ranks.start("c", "s", 0, "plan", {})


def test_an_mpi_type_that_srun_does_not_have(home: Path) -> None:
    ranks = starter(home, "exit 0", start="srun", mpi="pmi7")
    with pytest.raises(PlumblineError, match=r"srun has no --mpi=pmi7; it says: .*pmix"):
        ranks.start("c", "s", 0, "plan", {})


def test_who_the_machine_is(home: Path, slurm: Cluster) -> None:
    place = Placement(nodes=1, ppn=2)
    every, real = (Slurm(SlurmTable(constraint=one), home).machine(place) for one in ("", "real"))
    assert every.host == "plumb, partition main"
    assert (real.host, real.cpu_model) == (
        "plumb, partition main, constraint real",
        "4x1x1 cores, real",
    )
    assert every.id != real.id and real.processing_units == 4
    assert slurm.environment["SLURM_CONF"] == os.environ["SLURM_CONF"]


# --- what happens to jobs -----------------------------------------------------------------------


def slow_once(home: Path) -> str:
    """The first time it sleeps, then it brings records."""
    flag = home.parent / "flag"
    brings = f'[ "$OMPI_COMM_WORLD_RANK" != 0 ] || {COMMAND} "$2" "$4"'
    return f"if mkdir {flag}; then sleep 300; fi; {brings}"


def both_slow_once(home: Path) -> str:
    return slow_once(home).replace("mkdir", "[ $OMPI_COMM_WORLD_RANK = 0 ] && mkdir")


def stored(lab: Lab, ranks: Starter) -> Run:
    plan = Plan("s-000", 1, (PlanCase("MPI_Bcast", 64),), blocks=1, reps=1)
    return lab.store(ranks).launch(Suite("s"), 0, plan, {}).run


def test_a_cancelled_job_is_started_again_once(home: Path, slurm: Cluster, lab: Lab) -> None:
    def cancel() -> None:
        ((number, _, _),) = slurm.until("RUNNING")
        wait_for(home.parent / "flag")
        slurm.ask("scancel", number)

    with meanwhile(cancel):
        run = stored(lab, starter(home, both_slow_once(home)))
    assert run.finished
    (event,) = lab.events()
    assert event.kind == "launch cancelled" and "attempt 2 follows" in event.text
    assert not (home / "jobs" / lab.campaign.id).exists()


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < until, f"no {path}"
        time.sleep(0.1)


def test_a_job_that_the_queue_has_lost_is_started_again(
    home: Path, slurm: Cluster, lab: Lab
) -> None:
    def forget() -> None:
        slurm.until("RUNNING")
        wait_for(home.parent / "flag")
        slurm.controller_forgets()

    with meanwhile(forget):
        run = stored(lab, starter(home, both_slow_once(home)))
    assert run.finished
    (event,) = lab.events()
    assert event.kind == "launch lost"
    assert running_with("sleep 300") == []  # the nodes have ended what nobody knows


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises, also where whoever started the tests has it ignored (`nohup`, `&`)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_left_early_jobs_are_cancelled(home: Path, slurm: Cluster) -> None:
    ranks = starter(home, "sleep 300", at_once=2)
    ends = ranks.start_together("c", "s", {0: "plan 0", 1: "plan 1"}, {})

    def interrupt() -> None:
        slurm.until("RUNNING")
        os.kill(os.getpid(), signal.SIGINT)

    with meanwhile(interrupt), pytest.raises(KeyboardInterrupt):
        next(ends)
    for _ in range(600):
        if not slurm.jobs("pending,running,completing"):
            break
        time.sleep(0.1)
    assert slurm.jobs("pending,running,completing") == []


# --- several at once ----------------------------------------------------------------------------


def test_launches_that_go_together_are_one_array(home: Path, slurm: Cluster) -> None:
    before = numbers(slurm)
    text = f'[ "$OMPI_COMM_WORLD_RANK" != 0 ] || {{ {COMMAND} "$2" "$4"; cat "$2" >&2; }}'
    ranks = starter(home, text, at_once=3)
    texts = {number: f"plan {number}" for number in (2, 5, 7)}
    found = {run.sequence: run for run, _ in ranks.start_together("c", "s", texts, {})}
    assert sorted(found) == [2, 5, 7]
    for number, run in found.items():
        assert run.finished
        assert run.stderr == f"plan {number}"
    (array,) = {number.partition("_")[0] for number in jobs_of(slurm, before)}
    assert sorted(jobs_of(slurm, before)) == [f"{array}_{task}" for task in range(3)]


# --- the whole of it ----------------------------------------------------------------------------

COMMON = """
nprocs = 2
sizes = [64, 16384]
guidelines = ["GL12"]
launches = 6
launches_max = 6
blocks = 2
reps = 2
rounds = 1
variants = []
[slurm]
poll_seconds = 0.2
grace_seconds = 3
at_once = 3
"""


@pytest.fixture
def built() -> None:
    _, installation = libraries.find()
    paths.layout().preload(installation.library.id)  # an error says how to build it


def campaign_file(home: Path, more: str = "") -> Path:
    path = home / "campaign.toml"
    path.write_text(COMMON + more)
    return path


def test_in_an_allocation(tmp_path: Path, slurm: Cluster, built: None) -> None:
    """Without a campaign file ranks are started on its host, which this one is not called; srun
    asks it for its facts."""
    where = ["salloc", "--quiet", "--nodelist=second", "--ntasks=2", "--exclusive"]
    words = ["measure", "MPI_Bcast", "--launches", "1", "--sizes", "1024"]
    words += ["--output", tmp_path / "raw"]
    database = str(tmp_path / "plumbline.db")
    done = plumbline(*words, beneath=where, cwd=tmp_path, PLUMBLINE_DB=database)
    assert done.returncode == 0, done.stdout + done.stderr
    (raw,) = (tmp_path / "raw").iterdir()
    header = json.loads(raw.read_text().partition("\n")[0])
    assert header["nprocs"] == 2
    assert "second" in header["environment"]["OMPI_MCA_orte_node_regex"]


@pytest.mark.alone
def test_a_campaign_by_mpirun_to_its_end(home: Path, slurm: Cluster, built: None) -> None:
    before, database = numbers(slurm), home / "plumbline.db"
    said = plumbline("campaign", campaign_file(home), "--db", database)
    assert said.returncode in (0, 3), said.stderr
    results = json.loads(plumbline("results", "--json", "--db", database).stdout)
    assert results["machine"]["host"] == "plumb, partition main"
    assert results["before"]["cells"] > 0
    kept = launches(database)
    assert all(one.finished for one in kept)
    assert len(jobs_of(slurm, before)) == len(kept)
    assert not any((home / "jobs").iterdir())


@pytest.mark.alone
def test_by_srun_killed_between_submit_and_result(home: Path, slurm: Cluster, built: None) -> None:
    """The same command finds the jobs, submits none of them again, and repeats no launch."""
    before, database = numbers(slurm), home / "plumbline.db"
    more = 'start = "srun"\nmpi = "pmix"\nexclusive = false\nsetup = "sleep 1"\n'
    file = campaign_file(home, more)
    command = ("verify", file, "--db", database)
    first = start(*command)
    slurm.until("RUNNING")
    first.kill()
    first.communicate()
    assert launches(database) == []
    submitted = jobs_of(slurm, before)
    assert len(submitted) == 3
    said = plumbline(*command)
    assert said.returncode in (0, 3), said.stderr
    kept = launches(database)
    # Six of the table, six in other ways of use.
    assert [one.finished for one in kept] == [True] * 12
    jobs = jobs_of(slurm, before)
    assert len(jobs) == 12 and set(submitted) < set(jobs)
    assert plumbline(*command).stdout == said.stdout
    assert len(jobs_of(slurm, before)) == 12


def test_killed_before_the_number_of_the_job_was_kept(home: Path, slurm: Cluster) -> None:
    """The job is found by its name."""
    text = f'sleep 3; [ "$OMPI_COMM_WORLD_RANK" != 0 ] || {COMMAND} "$2" "$4"'
    before = numbers(slurm)
    killed = starter(home, text)
    real = Slurm.submit
    child = os.fork()
    if child == 0:  # submits, and dies before it has read the answer
        queue = killed._launcher

        def dying(*words: Any) -> list[str]:
            real(queue, *words)  # type: ignore[arg-type]
            os._exit(9)

        queue.submit = dying  # type: ignore[attr-defined]
        killed.start("c", "s", 0, "plan", {})
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    run, _ = starter(home, text).start("c", "s", 0, "plan", {})
    assert run.finished
    assert len(jobs_of(slurm, before)) == 1
