"""Ranks that stay alive between launches, under the real mpirun."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.launch import panel as panels
from plumbline.launch.groups import parts
from plumbline.launch.panel import Panel, PanelExperiment
from plumbline.launch.starter import PRELOAD, Starter
from plumbline.libraries import CountsMessages
from plumbline.settings import Settings, starting
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.system import machine, sessions
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import (
    CaseRecord,
    Check,
    ConfigRecord,
    Footer,
    Header,
    ProbeRecord,
    Samples,
)
from plumbline_db.records import Run
from plumbline_exporters.profile import FILE_NAME
from tests.probes.conftest import build, faulty  # noqa: F401 - fixtures
from tests.sampled import by_default
from tests.tuner.families import installations
from tests.tuner.started import environment

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

CASES = (PlanCase("MPI_Bcast", 64), PlanCase("MPI_Allreduce", 4096))
TEXT = Plan("x", 1, CASES, blocks=2, reps=3, warmup=2).text()
LONG = Plan("x", 1, CASES, blocks=200, reps=100000, warmup=2).text()


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except PlumblineError as error:
        pytest.skip(str(error))


def starter(toolchain: Toolchain, seconds: float = 60.0) -> Starter:
    settings = Settings()
    return starting.starter(
        toolchain,
        msgspec.structs.replace(
            settings,
            ranks=msgspec.structs.replace(settings.ranks, nprocs=2),
            sampling=msgspec.structs.replace(settings.sampling, launch_timeout_seconds=seconds),
        ),
    )


class Kept:
    """A starter that keeps ranks, and its launches by experiment."""

    def __init__(self, starter: Starter) -> None:
        self.starter = starter
        self.launches = 0

    def launch(
        self,
        experiment: str,
        extra: dict[str, str] | None = None,
        text: str = TEXT,
        **limits: Any,
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        self.starter.begin(PanelExperiment(experiment, **limits))
        self.launches += 1
        return self.starter.start("c", experiment, self.launches, text, extra or {})

    def good(self, experiment: str, extra: dict[str, str] | None = None) -> Run:
        run, _ = self.launch(experiment, extra)
        assert run.finished, (run.reason, run.stderr)
        return run

    @property
    def panel(self) -> Panel:
        assert self.starter._panel is not None
        return self.starter._panel

    def processes(self) -> list[int]:
        """The ranks of the only member."""
        (member,) = self.panel.members
        return probes_of(member.responder.pid)


def probes_of(leader: int) -> list[int]:
    return [
        pid
        for pid in sessions.descendants(leader)
        if b"--serve" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def ends(pids: Sequence[int], seconds: float = 15.0) -> bool:
    limit = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < limit:
        time.sleep(0.05)
    return not any(map(is_alive, pids))


@pytest.fixture
def kept(toolchain: Toolchain) -> Iterator[Kept]:
    ranks = starter(toolchain)
    with ranks.keeping_ranks():
        yield Kept(ranks)


def test_ranks_are_visited_once_by_each_experiment(kept: Kept) -> None:
    first = [kept.good("before") for _ in range(3)]
    assert len({run.member for run in first}) == 3
    assert [run.visit for run in first] == [1, 1, 1]
    second = [kept.good("search") for _ in range(4)]
    assert [run.member for run in second[:3]] == [run.member for run in first]
    assert [run.visit for run in second] == [2, 2, 2, 1]
    assert second[3].member not in {run.member for run in first}
    assert [run.visit for run in (kept.good("before"), kept.good("before"))] == [2, 1]


def test_what_only_chooses_visits_a_few_ranks_again(kept: Kept) -> None:
    first = [kept.good("before").member for _ in range(2)]
    runs = [kept.launch("search", members=3)[0] for _ in range(7)]
    members = [run.member for run in runs]
    assert members[:2] == first and members[3:6] == members[:3] and members[6] == members[0]
    assert len(set(members)) == 3


def test_ranks_are_joined_by_others_when_they_were_visited_often(kept: Kept) -> None:
    runs = [kept.launch("table", members=2, most_visits=2)[0] for _ in range(7)]
    members = [run.member for run in runs]
    assert members[2:4] == members[:2] and len({*members[4:6]} - {*members[:2]}) == 1
    assert len(set(members)) == 4 and max(map(members.count, members)) == 2


def test_a_part_of_an_experiment_has_other_ranks_than_its_other_parts(kept: Kept) -> None:
    first = kept.launch("confirm", members=1)[0].member
    again = [kept.launch("confirm-again", members=1, part_of="confirm")[0].member for _ in range(2)]
    once_more = kept.launch("confirm-once-more", members=1, part_of="confirm")[0].member
    assert again[0] == again[1] and len({first, again[0], once_more}) == 3
    assert kept.launch("accept", members=1)[0].member == first


def test_a_launch_that_decides_nothing_leaves_its_ranks_to_the_next(kept: Kept) -> None:
    first = kept.good("before")
    kept.starter.withdraw()
    again = kept.good("before")
    assert (again.member, again.visit) == (first.member, 2)
    assert kept.good("before").member != first.member


def test_a_visit_is_stored_as_a_launch_is(toolchain: Toolchain, kept: Kept) -> None:
    """The same records, but for times; its command line is the one that started its ranks."""
    fresh, own = starter(toolchain).start("c", "s", 0, TEXT, {})
    assert (fresh.member, fresh.visit) == ("", 0)
    kept.good("before")
    run, records = kept.launch("search")
    assert [type(record) for record in records] == [type(record) for record in own]
    assert run.plan == fresh.plan and run.timed_seconds > 0
    assert run.argv[-1] == "--serve" and run.argv[:-1] == fresh.argv[:-4]
    assert run.stderr == fresh.stderr == ""


def test_everything_is_ended_with_the_block(toolchain: Toolchain) -> None:
    ranks = starter(toolchain)
    with ranks.keeping_ranks():
        kept = Kept(ranks)
        kept.good("a")
        kept.good("a")
        leaders = [member.responder.pid for member in kept.panel.members]
        pids = [pid for leader in leaders for pid in (leader, *probes_of(leader))]
        assert len(leaders) == 2 and all(map(is_alive, pids))
    assert ends(pids)
    run, _ = ranks.start("c", "s", 0, TEXT, {})
    assert run.finished and run.visit == 0


# --- ranks that campaigns of fewer ranks visit ---------------------------------------------------


def with_ranks(toolchain: Toolchain, nprocs: int) -> Starter:
    settings = Settings()
    ranks = msgspec.structs.replace(settings.ranks, nprocs=nprocs, bind="none")
    return starting.starter(toolchain, msgspec.structs.replace(settings, ranks=ranks))


@pytest.fixture
def shared(toolchain: Toolchain) -> Iterator[Panel]:
    placement = msgspec.structs.replace(with_ranks(toolchain, 4).placement, oversubscribed=True)
    assert isinstance(toolchain.launcher, panels.KeepsRanks)
    family, installation = toolchain.family, toolchain.installation
    with Panel(family, installation, toolchain.launcher, placement=placement) as panel:
        yield panel


def starter_of(toolchain: Toolchain, nprocs: int) -> Starter:
    """Return a starter whose ranks count as more than there are processing units."""
    ranks = with_ranks(toolchain, nprocs)
    ranks.placement = msgspec.structs.replace(ranks.placement, oversubscribed=True)
    return ranks


def nprocs_of(records: Sequence[ProbeRecord]) -> int:
    (header,) = [record for record in records if isinstance(record, Header)]
    return header.nprocs


def test_fewer_ranks_visit_the_first_ones_of_more(toolchain: Toolchain, shared: Panel) -> None:
    """Their records are those of as many ranks; what proves an export has ranks of its own, which
    end with the campaign, as those that read a file."""
    members = []
    for nprocs in (4, 3):
        ranks = starter_of(toolchain, nprocs)
        with ranks.keeping_ranks(shared):
            kept = Kept(ranks)
            run, records = kept.launch(f"{nprocs} before")
            assert nprocs_of(records) == nprocs
            members.append(run.member)
            file = {"PLUMBLINE_TEST_FILE": str(Path(__file__))}
            own, records = kept.launch(f"{nprocs} confirm", own_ranks=True)
            assert nprocs_of(records) == nprocs and (own.member == run.member) == (nprocs == 4)
            read, records = kept.launch(f"{nprocs} in force", file)
            assert nprocs_of(records) == nprocs and read.visit == 1
            assert len(shared.members) == (2 if nprocs == 4 else 3)
        assert [member.name for member in shared.members] == members[:1]
    assert members[0] == members[1]


def test_shared_ranks_serve_what_lies_as_their_first_ones(shared: Panel) -> None:
    def placed(nodes: int, ppn: int, *, oversubscribed: bool = True) -> Placement:
        return Placement(nodes=nodes, ppn=ppn, oversubscribed=oversubscribed)

    assert shared.serves(placed(1, 3)) and shared.serves(placed(1, 4))
    assert not shared.serves(placed(1, 3, oversubscribed=False))
    assert not shared.serves(placed(1, 5)) and not shared.serves(placed(2, 2))
    shared.placement = placed(4, 4)
    assert shared.serves(placed(2, 4)) and shared.serves(placed(1, 2))
    assert not shared.serves(placed(2, 2)) and not shared.serves(placed(8, 4))
    shared.placement = msgspec.structs.replace(shared.placement, map_by="node")
    assert not shared.serves(placed(2, 4)) and shared.serves(placed(4, 4))


def of_two_groups(kept: Kept, plan: Plan, experiment: str) -> tuple[Run, Sequence[ProbeRecord]]:
    """Return a launch of two ranks in a panel of four, of which two groups may measure."""
    kept.panel.side_by_side.add(2)
    kept.starter.begin(PanelExperiment(experiment), lambda groups: parts(plan, groups, 0))
    return kept.starter.start("c", experiment, 0, plan.text(), {})


def test_groups_of_the_shared_ranks_make_one_launch(toolchain: Toolchain, shared: Panel) -> None:
    """The records are those of a launch alone, in the order of the plan's cases."""
    ring = Configuration((("coll_tuned_use_dynamic_rules", "1"),))
    cases = (PlanCase("MPI_Bcast", 64, configuration=ring), *CASES, PlanCase("MPI_Bcast", 8))
    plan = Plan("x", 1, cases, blocks=2, reps=3, warmup=2)
    ranks = starter_of(toolchain, 2)
    with ranks.keeping_ranks(shared):
        kept = Kept(ranks)
        alone, expected = kept.launch("alone", text=plan.text())
        run, records = of_two_groups(kept, plan, "together")
        assert len(shared.members) == 1
    assert run.finished and (run.member, run.visit, run.plan) == (alone.member, 2, plan.text())
    for kind in (CaseRecord, ConfigRecord, Check):
        told = [{str(each) for each in of if isinstance(each, kind)} for of in (expected, records)]
        assert told[0] == told[1] != set()
    taken, taken_together = (
        {each.case: len(each.ns) for each in of if isinstance(each, Samples)}
        for of in (expected, records)
    )
    assert taken == taken_together and {1, 2, 3} <= taken.keys()
    assert nprocs_of(records) == 2 and isinstance(records[-1], Footer)
    assert records[-1].cases == len(cases)


def test_a_group_that_fails_has_its_launch_made_alone(
    toolchain: Toolchain,
    shared: Panel,
    faulty: Path,  # noqa: F811
) -> None:
    """One function has a wrong result, so that ranks which measured beside it end."""
    data = Data(type="MPI_INT", op="MPI_SUM")
    cases = (PlanCase("MPI_Allreduce", 400), PlanCase("MPI_Bcast", 64))
    ranks = starter_of(toolchain, 2)
    ranks._fixed |= {PRELOAD: str(faulty), "PLUMBLINE_TEST_FAULT": "wrong"}
    with ranks.keeping_ranks(shared):
        plan = Plan("x", 1, cases, blocks=1, reps=2, data=data)
        run, records = of_two_groups(Kept(ranks), plan, "together")
        assert run.finished and run.visit == 1 and shared.members == []
    checks = {each.case: each.outcome for each in records if isinstance(each, Check)}
    assert checks == {0: "wrong", 1: "ok"}
    assert [each.case for each in records if isinstance(each, Samples)] == [1]


# --- what tells members apart ---------------------------------------------------------------------


def test_another_environment_has_other_ranks(kept: Kept) -> None:
    plain = kept.good("a")
    other = kept.good("b", {"PLUMBLINE_TEST_NOTHING": "1"})
    assert other.member != plain.member
    assert kept.good("c").member == plain.member
    assert kept.good("c", {"PLUMBLINE_TEST_NOTHING": "1"}).member == other.member


def test_files_that_change_have_other_ranks(kept: Kept, tmp_path: Path) -> None:
    """Both files that a variable names and files that these name; their names stay the same."""
    rules, parameters = tmp_path / "rules", tmp_path / "parameters"
    rules.write_text("first\n")
    parameters.write_text(f"# rules = {rules}\n")
    extra = {"PLUMBLINE_TEST_FILE": str(parameters)}
    first = kept.good("a", extra)
    assert kept.good("b", extra).member == first.member
    rules.write_text("other\n")
    second = kept.good("c", extra)
    assert second.member != first.member
    parameters.write_text(f"# rules are {rules}\n")
    assert kept.good("d", extra).member not in (first.member, second.member)


def test_the_profile_of_the_preload_library_is_read_again(
    toolchain: Toolchain, kept: Kept, tmp_path: Path
) -> None:
    """Decisions that calls have left on a communicator go with the profile before."""
    library = toolchain.installation.library
    version = json.dumps(library.version_string)

    def extra(name: str, function: str, variant: str) -> dict[str, str]:
        profile = tmp_path / name / FILE_NAME
        profile.parent.mkdir()
        rule = f"rule function={function} nprocs=2-2 bytes=0-inf variant={variant}"
        profile.write_text(f"plumbline-profile 1\nlibrary version={version}\n{rule}\n")
        return {PRELOAD: str(toolchain.preload), "PLUMBLINE_PROFILE": str(profile)}

    bcast, canary = "MPI_Bcast", "canary"
    first = kept.good("a", extra("1", "MPI_Allreduce", "allreduce_ring"))
    second = extra("2", bcast, "bcast_binomial")
    right, seen = kept.launch("b", second)
    (header,) = (record for record in seen if isinstance(record, Header))
    # Launches that visit ranks and launches that start them are joined.
    named = {value for value in header.environment.values() if FILE_NAME in value}
    assert second["PLUMBLINE_PROFILE"] in named
    assert not any(str(tmp_path / "1") in value for value in named)
    again = extra("3", "MPI_Allreduce", canary)
    wrong, records = kept.launch("c", again)
    assert [run.visit for run in (first, right, wrong)] == [1, 2, 3]
    assert len({run.member for run in (first, right, wrong)}) == 1
    outcomes = [record.outcome for record in records if isinstance(record, Check)]
    assert set(outcomes) == {"error", "ok"}
    fresh = kept.launch("d", again, fresh=True)[0]
    assert fresh.visit == 1


def test_plans_with_knobs_have_ranks_of_their_own(toolchain: Toolchain, kept: Kept) -> None:
    if toolchain.family.name != "openmpi":
        pytest.skip("knobs of Open MPI")
    kept.starter.start_by_choice()
    knobs = {"coll_tuned_allreduce_algorithm": "3"}
    case = PlanCase("MPI_Allreduce", 64, configuration=Configuration.of(knobs))
    text = Plan("x", 1, (case,), blocks=1, reps=2).text()
    extra = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    plain, _ = kept.launch("a", extra)
    run, records = kept.launch("b", extra, text)
    assert run.member != plain.member
    assert [one.in_force for one in records if isinstance(one, ConfigRecord)] == [True]


def test_who_counts_messages_has_ranks_of_its_own(toolchain: Toolchain, kept: Kept) -> None:
    """They are reported when MPI is finalised."""
    family = toolchain.family
    if not isinstance(family, CountsMessages) or not family.counting:
        pytest.skip(f"{family.name} does not count messages")
    run, _ = kept.launch("a", dict(family.counting))
    assert run.visit == 0 and run.finished and family.counted in run.stderr


# --- accidents ------------------------------------------------------------------------------------


def test_a_refused_plan_leaves_its_ranks_alive(kept: Kept) -> None:
    first = kept.good("a")
    run, records = kept.launch("b", text="plumbline-plan 1\nnonsense\n")
    assert run.failure and run.failure.how == "exit status 2" and not records
    assert "nonsense" in run.stderr
    after = kept.good("c")
    assert (after.member, after.visit, after.stderr) == (first.member, 3, "")


@pytest.mark.parametrize("noticed", ["before", "after"])
def test_a_rank_that_is_killed_while_it_waits_is_replaced(kept: Kept, noticed: str) -> None:
    """Also where its mpirun sees it only after the next launch was asked for."""
    first = kept.good("a")
    pids = kept.processes()
    (member,) = kept.panel.members
    if noticed == "after":
        os.kill(member.responder.pid, signal.SIGSTOP)
    os.kill(pids[-1], signal.SIGKILL)
    if noticed == "after":
        waker = later(lambda: os.kill(member.responder.pid, signal.SIGCONT))
    else:
        assert ends([*pids, member.responder.pid])
    after = kept.good("b")
    assert after.member != first.member and after.visit == 1
    if noticed == "after":
        waker.join()


def signal_all(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)


def later(what: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(1.5, what)
    timer.start()
    return timer


@pytest.mark.parametrize("who", ["rank", "mpirun"])
def test_ranks_that_are_killed_at_work_are_a_failed_launch(kept: Kept, who: str) -> None:
    """The case under way is blamed, as in a launch of its own; the next launch starts ranks."""
    first = kept.good("a")
    pids = kept.processes()
    (member,) = kept.panel.members
    victim = pids[-1] if who == "rank" else member.responder.pid
    killer = later(lambda: os.kill(victim, signal.SIGKILL))
    run, _ = kept.launch("b", text=LONG)
    killer.join()
    assert run.member == first.member and run.visit == 2
    assert run.failure and run.failure.kind == "ended" and run.failure.case in (0, 1)
    assert run.failure.under_way
    assert ends(pids)
    assert kept.good("c").visit == 1


def test_ranks_that_hang_are_ended_at_the_time_limit(toolchain: Toolchain) -> None:
    ranks = starter(toolchain, seconds=4.0)
    with ranks.keeping_ranks():
        kept = Kept(ranks)
        kept.good("a")
        pids = kept.processes()
        stopper = later(lambda: signal_all(pids, signal.SIGSTOP))
        run, _ = kept.launch("b", text=LONG)
        stopper.join()
        assert run.failure and run.failure.kind == "hung" and run.failure.case in (0, 1)
        assert ends(pids)
        assert kept.good("c").visit == 1


def test_ranks_with_a_wrong_result_are_not_asked_again(kept: Kept, faulty: Path) -> None:  # noqa: F811
    data = Data(type="MPI_INT", op="MPI_SUM")
    text = Plan("x", 1, (PlanCase("MPI_Allreduce", 400),), blocks=1, reps=2, data=data).text()
    extra = {PRELOAD: str(faulty), "PLUMBLINE_TEST_FAULT": "wrong"}
    run, records = kept.launch("a", extra, text)
    assert run.finished and [one.outcome for one in records if isinstance(one, Check)] == ["wrong"]
    again, _ = kept.launch("b", extra, text)
    assert again.member != run.member


def test_an_mpirun_that_hands_on_no_input_starts_every_launch(
    toolchain: Toolchain, kept: Kept, tmp_path: Path
) -> None:
    deaf = tmp_path / "mpirun"
    deaf.write_text(f'#!/bin/sh\nexec {toolchain.installation.mpirun} "$@" </dev/null\n')
    deaf.chmod(0o755)
    installation = msgspec.structs.replace(toolchain.installation, mpirun=deaf)
    ranks = starter(msgspec.structs.replace(toolchain, installation=installation))
    with ranks.keeping_ranks():
        other = Kept(ranks)
        assert [other.good("a").visit, other.good("b").visit] == [0, 0]


# --- bounds ---------------------------------------------------------------------------------------


def test_too_much_memory_ends_those_that_were_used_least_recently(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = kept.good("a"), kept.good("a")
    assert all(member.bytes > 1 << 20 for member in kept.panel.members)
    assert kept.good("b").member == first.member
    taken = sum(member.bytes for member in kept.panel.members)
    # Half of what is available and taken is a little less than three members.
    monkeypatch.setattr(machine, "available_memory", lambda: int(1.8 * taken))
    third = kept.good("a")
    assert [member.name for member in kept.panel.members] == [first.member, third.member]
    assert second.member not in (first.member, third.member)
    monkeypatch.setattr(machine, "available_memory", lambda: 0)
    assert [kept.good("c").visit for _ in range(3)] == [3, 2, 1]
    assert len(kept.panel.members) == 1


@pytest.mark.parametrize("bound", ["processes", "shared memory"])
def test_other_bounds(kept: Kept, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    kept.good("a")
    if bound == "processes":
        monkeypatch.setattr(panels, "MOST_PROCESSES", 3)
    else:
        monkeypatch.setattr(machine, "shared_is_half_empty", lambda: False)
    kept.good("a")
    assert len(kept.panel.members) == 1


# --- how this process ends ------------------------------------------------------------------------

KEEPS = """
import sys, time
from plumbline.system import ending
from tests.tuner.launch import test_panel as it
ranks = it.starter(it.find_toolchain())
try:
    with ending.by_signals(), ranks.keeping_ranks():
        kept = it.Kept(ranks)
        kept.good("a")
        kept.good("a")
        for member in kept.panel.members:
            print(member.responder.pid, *it.probes_of(member.responder.pid), flush=True)
        print("ready", flush=True)
        kept.launch("b", text=it.LONG) if sys.argv[1] == "busy" else time.sleep(60)
except ending.Ended as ended:
    sys.exit(ended.signal)
"""


@pytest.mark.parametrize("what", ["busy", "idle"])
@pytest.mark.parametrize("number", by_default([signal.SIGKILL], [signal.SIGTERM, signal.SIGINT]))
def test_ranks_do_not_outlive_this_process(
    toolchain: Toolchain, tmp_path: Path, number: signal.Signals, what: str
) -> None:
    del toolchain
    own = tmp_path / "temporary"
    own.mkdir()
    one = subprocess.Popen(
        [sys.executable, "-c", KEEPS, what],
        env=environment() | {"TMPDIR": str(own)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert one.stdout
    lines = list(iter(one.stdout.readline, "ready\n"))
    pids = [int(word) for line in lines for word in line.split()]
    assert len(pids) == 6 and all(map(is_alive, pids))
    time.sleep(0.5)
    one.send_signal(number)
    assert one.wait(20) == (-number if number == signal.SIGKILL else number)
    assert ends(pids)
    if number != signal.SIGKILL:
        assert list(own.iterdir()) == []


# --- other libraries ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mpich-5.0", "openmpi-5.0", "impi-2021"])
def test_every_mpirun_hands_on_requests(name: str) -> None:
    prefix = installations.prefix_of(name)
    try:
        found = find_toolchain(prefix)
    except PlumblineError as error:
        pytest.skip(str(error))
    ranks = starter(found)
    with ranks.keeping_ranks():
        kept = Kept(ranks)
        members = [kept.good(experiment).member for experiment in "aabb"]
        assert members[:2] == members[2:] and members[0] != members[1]
        assert all(member.bytes > 1 << 20 for member in kept.panel.members)
        pids = [pid for one in kept.panel.members for pid in probes_of(one.responder.pid)]
        assert len(pids) == 4
    assert ends(pids)
