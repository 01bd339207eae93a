"""`probe --serve`: plan after plan in the same processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline_db import ndjson
from plumbline_db.probe_records import Check, Footer, Header, ProbeRecord, Samples
from tests.probes.launch import ENVIRONMENT, Probe, decode

pytestmark = pytest.mark.mpi

ALLREDUCE = "case id=0 function=MPI_Allreduce bytes=64 reps=5\n"
GOOD = "set blocks=2 warmup=2\n" + ALLREDUCE
# What keeps most between the lines of a plan: configs, groups of ranks, companies of trials, the
# global clock, threads, cold buffers, patterns, memory that ranks share.
PLANS = {
    "configs": "set blocks=2\nconfig id=a coll_tuned_use_dynamic_rules=1 "
    f"coll_tuned_allreduce_algorithm=3\n{ALLREDUCE}"
    "case id=1 function=MPI_Allreduce bytes=64 reps=5 config=a\n",
    "groups": GOOD + "case id=1 function=MPI_Bcast bytes=8 reps=5 ranks=1\n",
    "trials": "set blocks=1\ncase id=0 function=MPI_Reduce bytes=800 calls=40 least=8\n",
    "global": "set blocks=2 runtime=global clock_multiple=1\n" + ALLREDUCE,
    "tsc": "set blocks=2 clock=tsc\n" + ALLREDUCE,
    "cold": "set blocks=2 cache=overwrite\n" + ALLREDUCE,
    "patterns": "set blocks=2 warmup=2\n"
    "case id=0 function=point_to_point bytes=64 reps=5 variant=bsend_recv\n"
    "case id=1 function=neighbourhood bytes=64 reps=5 variant=neighbor_alltoall\n",
    "shared": "set blocks=2\n"
    "case id=0 function=MPI_Bcast bytes=4096 reps=5 variant=bcast_shared_memory\n",
    "stopping": "set nrep=rse:1e-9 nrep_min=5 nrep_step=5 nrep_max=10\n"
    "case id=0 function=MPI_Allreduce bytes=64\n",
    "overlap": "set blocks=1\noverlap id=0 bench=sender bytes=1024 work_ns=10000 triples=5\n",
}


class Server:
    """A `probe --serve` under mpirun, and its requests."""

    def __init__(self, probe: Probe, ranks: int = 2, environment: dict[str, str] | None = None):
        self.probe = probe
        self.visits = 0
        self.errors = probe.folder / "stderr"
        self.process = subprocess.Popen(
            [*probe.command(ranks, environment or {}), str(probe.binary), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors.open("wb"),
            env=os.environ | ENVIRONMENT,
            start_new_session=True,
        )

    def send(self, text: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def code(self) -> int:
        """The code of the next answer."""
        assert self.process.stdout
        self.visits += 1
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(rf"probe: visit {self.visits} ends with (\d)\n", line)
        assert found, (line, self.errors.read_text())
        return int(found[1])

    def ask(self, lines: str, first: int | None = None) -> Path:
        """The records of a plan that must come to its end, on the first ranks."""
        plan = self.probe.write(lines, f"plan-{self.visits}")
        out = self.probe.folder / f"records-{self.visits}.ndjson"
        began = time.monotonic()
        part = "" if first is None else f"\t{first}"
        self.send(f"{plan}\t{out}{part}\n".encode())
        assert self.code() == 0, self.errors.read_text()
        seconds = time.monotonic() - began
        ndjson.decode(out, plan=plan.read_text(), seconds=seconds)
        return out

    def end(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(20)

    def ranks(self) -> list[int]:
        """The processes of the probe in this session."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if session == self.process.pid and words[0] == str(self.probe.binary).encode():
                found.append(int(entry.name))
        return sorted(found)


@pytest.fixture
def serve(probe: Probe) -> Iterator[Callable[..., Server]]:
    begun: list[Server] = []

    def start(*arguments: Any, **more: Any) -> Server:
        begun.append(Server(probe, *arguments, **more))
        return begun[-1]

    yield start
    for server in begun:
        if server.process.poll() is None:
            os.killpg(server.process.pid, signal.SIGTERM)
            server.process.wait(20)


def shape(records: list[ProbeRecord]) -> list[tuple[str, Any]]:
    """The records without what differs between two launches of one plan: times, and orders in which
    cases end by them."""
    found = []
    for record in records:
        fields = msgspec.structs.asdict(record)
        kept = {
            name: fields[name]
            for name in ("case", "block", "function", "outcome", "config")
            if name in fields
        }
        found.append((type(record).__name__, kept))
    return found


def test_each_plan_has_the_records_of_a_launch_of_its_own(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    """Each plan is asked twice, so that it follows itself and others."""
    server = serve(3)
    alone = {name: probe.good(lines, 3).records for name, lines in PLANS.items()}
    for _ in range(2):
        for name, lines in PLANS.items():
            ours = decode(server.ask(lines))
            fresh = alone[name]
            assert shape(ours) == shape(fresh), name
            header, own = ours[0], fresh[0]
            for field in ("nprocs", "hosts", "binding", "library", "blocks", "seed"):
                assert getattr(header, field) == getattr(own, field), (name, field)
    assert server.end() == 0


def test_the_first_ranks_measure_as_a_launch_of_as_many_does(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    """Plans for all four ranks come between, so that all find each other again."""
    server = serve(4)
    alone = {name: probe.good(lines, 3).records for name, lines in PLANS.items()}
    for name, lines in PLANS.items():
        ours = decode(server.ask(lines, 3))
        assert shape(ours) == shape(alone[name]), name
        for field in ("nprocs", "hosts", "binding", "ppn", "nodes"):
            assert getattr(ours[0], field) == getattr(alone[name][0], field), (name, field)
        (whole, *_) = decode(server.ask(GOOD))
        assert isinstance(whole, Header) and whole.nprocs == 4
    assert server.end() == 0


def test_groups_measure_a_plan_each_at_the_same_time(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    """Each on ranks and processing units of its own; between them all ranks measure together."""
    server = serve(5)
    for name in ("configs", "groups", "global", "shared", "trials"):
        lines = [PLANS[name], GOOD]
        for turn in (0, 1):
            plan = probe.write(lines[turn], f"side-{server.visits}")
            probe.write(lines[1 - turn], "other").rename(plan.with_name(f"{plan.name}.1"))
            out = probe.folder / f"side-{server.visits}.ndjson"
            server.send(f"{plan}\t{out}\t2\t\t2\n".encode())
            assert server.code() == 0, server.errors.read_text()
            both = decode(out), decode(out.with_name(f"{out.name}.1"))
            for own, text in zip(both, (lines[turn], lines[1 - turn]), strict=True):
                assert shape(own) == shape(probe.good(text, 2).records), name
                assert isinstance(own[0], Header) and own[0].nprocs == 2
        (whole, *_) = decode(server.ask(GOOD))
        assert isinstance(whole, Header) and whole.nprocs == 5
    assert server.end() == 0


def test_a_group_whose_plan_is_refused_or_fails_counts_for_all(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    server = serve(4)
    plan, out = probe.write(GOOD), probe.folder / "out"
    request = f"{plan}\t{out}\t2\t\t2\n".encode()
    server.send(request)  # there is no plan of the second group
    assert server.code() == 2
    other = plan.with_name(f"{plan.name}.1")
    probe.write("case id=0 function=MPI_Bcast\n", "other").rename(other)
    server.send(request)
    assert server.code() == 2
    server.ask(GOOD)
    assert server.end() == 0
    server = serve(4, environment={"PLUMBLINE_REFUSES": "there_is_no_such_function"})
    probe.write(GOOD, "other").rename(other)
    server.send(request)
    assert server.code() == 1
    assert server.process.wait(20) == 1 and server.ranks() == []


def test_ranks_that_take_no_part_sleep(serve: Callable[..., Server]) -> None:
    server = serve(4)
    server.ask(GOOD)
    long = f"set blocks=400\n{ALLREDUCE.replace('reps=5', 'reps=100')}"
    before = {pid: ticks(pid) for pid in server.ranks()}
    server.ask(long, 2)
    taken = sorted(ticks(pid) - before[pid] for pid in before)
    assert taken[:2] in ([0, 0], [0, 1], [1, 1]) and taken[2] > 10


def test_other_numbers_of_ranks_are_refused(probe: Probe, serve: Callable[..., Server]) -> None:
    server = serve(4)
    plan, out = probe.write(GOOD), probe.folder / "refused"
    refused = (
        b"0",
        b"-1",
        b"5",
        b"2 ",
        b" 2",
        b"two",
        b"",
        b"2\t2",
        b"2\t\t3",
        b"2\t\t0",
        b"2\t\t2 ",
    )
    for ranks in refused:
        server.send(f"{plan}\t{out}\t".encode() + ranks + b"\n")
        assert server.code() == 2 and not out.exists(), ranks
        server.ask(GOOD, 2)
    assert server.end() == 0
    complaint = "for fewer ranks than 4 also a tab, RANKS"
    assert server.errors.read_text().count(complaint) == len(refused)


def test_all_ranks_end_when_the_first_ones_fail(probe: Probe, serve: Callable[..., Server]) -> None:
    server = serve(4, environment={"PLUMBLINE_REFUSES": "there_is_no_such_function"})
    server.send(f"{probe.write(GOOD)}\t{probe.folder / 'out'}\t2\n".encode())
    assert server.code() == 1
    assert server.process.wait(20) == 1
    assert server.ranks() == []


def test_the_time_of_a_visit_is_its_own(serve: Callable[..., Server]) -> None:
    server = serve()
    server.ask(GOOD)
    time.sleep(1)
    began = time.monotonic()
    (footer,) = [one for one in decode(server.ask(GOOD)) if isinstance(one, Footer)]
    assert 0 < footer.wall_ns / 1e9 < time.monotonic() - began


WRONG_REQUESTS = {
    "a word": b"nonsense",
    "empty": b"",
    "a tab": b"\t",
    "no records": b"a\t",
    "no plan": b"\tb",
    "three": b"a\tb\tc",
    "profile of a part": b"a\tb\t1\tc",
    "end": b"a\tb\t",
    "NUL": b"a\0b\tc",
    "long": b"x" * 100000,
}


def test_wrong_requests_are_refused_and_the_process_lives_on(serve: Callable[..., Server]) -> None:
    server = serve()
    for what, line in WRONG_REQUESTS.items():
        server.send(line + b"\n")
        assert server.code() == 2, what
        complaint = f"request {server.visits}: write PLAN, a tab, RECORDS"
        server.ask(GOOD)
        assert complaint in server.errors.read_text(), what
    assert server.end() == 0


def test_a_profile_is_refused_without_the_preload_library(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    server = serve()
    plan = probe.write(GOOD)
    server.send(f"{plan}\t{probe.folder / 'records'}\t2\t{plan}\n".encode())
    assert server.code() == 2
    server.ask(GOOD)
    assert server.end() == 0
    assert "libplumbline.so is not preloaded on all ranks" in server.errors.read_text()


def test_refused_plans_leave_everything_as_it_was(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    """Before the header is written, in it, and in configs; the input stays open."""
    server = serve()
    plan = probe.write("case id=0 function=MPI_Bcast\n", "broken")
    wants_threads = "overlap id=0 bench=multiple bytes=8 work_ns=1000 threads=2\n"
    for path in (plan, probe.folder / "none", probe.write(wants_threads, "threads")):
        server.send(f"{path}\t{probe.folder / 'refused'}\n".encode())
        assert server.code() == 2
        server.ask(GOOD)
    server.send(f"{probe.write(GOOD)}\t{probe.folder}\n".encode())
    assert server.code() == 2
    server.ask(GOOD)
    assert not (probe.folder / "refused").exists()
    assert server.end() == 0


@pytest.mark.parametrize(
    "text", [b"", b"plan\tout", b"end\n"], ids=["nothing", "a line that is cut", "end"]
)
def test_it_ends_with_its_input(serve: Callable[..., Server], text: bytes) -> None:
    server = serve(3)
    server.ask(GOOD)
    server.send(text)
    assert server.end() == 0
    assert server.process.stdout and server.process.stdout.read() == b""


def test_a_measurement_that_fails_ends_the_process(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    server = serve(environment={"PLUMBLINE_REFUSES": "there_is_no_such_function"})
    server.send(f"{probe.write(GOOD)}\t{probe.folder / 'out'}\n".encode())
    assert server.code() == 1
    assert server.process.wait(20) == 1
    assert not (probe.folder / "out").exists()


def test_a_case_that_is_wrong_is_so_in_every_visit(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    lines = "set blocks=1\ncase id=0 function=MPI_Allreduce type=MPI_INT op=MPI_SUM bytes=400\n"
    server = serve(3, environment=probe.fault("wrong"))
    for _ in range(2):
        records = decode(server.ask(lines))
        assert ("Check", {"case": 0, "outcome": "wrong"}) in shape(records)
        assert not any(isinstance(record, Samples) for record in records)


def test_what_was_right_in_an_earlier_visit_is_checked_afterwards_alone(
    probe: Probe, serve: Callable[..., Server]
) -> None:
    server = serve(environment=probe.fault("hundredth"))  # each hundredth Allreduce is wrong

    def outcome(number_of_bytes: int, reps: int) -> tuple[str, str]:
        lines = (
            "set blocks=1 warmup=0 sync=barrier\ncase id=0 function=MPI_Allreduce type=MPI_INT "
            f"op=MPI_SUM bytes={number_of_bytes} reps={reps}\n"
        )
        checks = [each for each in decode(server.ask(lines)) if isinstance(each, Check)]
        return checks[-1].outcome, checks[-1].detail[:5]

    assert outcome(400, 97) == ("ok", "")  # calls 1 to 99
    assert outcome(400, 97) == ("ok", "")  # 100 to 197, of which the last one is checked
    assert outcome(400, 2) == ("wrong", "after")  # 198 to 200
    assert outcome(800, 97) == ("ok", "")  # 201 to 299
    again, when = outcome(400, 2)  # 300: what was wrong once is checked before it is timed
    assert (again, when == "after") == ("wrong", False)


def test_a_rank_that_is_killed_while_it_waits_ends_all(serve: Callable[..., Server]) -> None:
    server = serve(3)
    server.ask(GOOD)
    os.kill(server.ranks()[-1], signal.SIGKILL)
    assert server.process.wait(20) != 0
    assert server.ranks() == []


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_waiting_ranks_take_no_processor_time(serve: Callable[..., Server]) -> None:
    server = serve(4)
    server.ask(GOOD)
    waiting = server.ranks()
    assert len(waiting) == 4
    before = {pid: ticks(pid) for pid in waiting}
    time.sleep(2)
    assert sum(ticks(pid) - before[pid] for pid in waiting) <= 4


def test_visits_leave_nothing_behind(serve: Callable[..., Server]) -> None:
    """Files stay open, and memory is taken, by the first visits alone."""
    server = serve(3)

    def held() -> tuple[list[int], int]:
        files = [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in server.ranks()]
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in server.ranks()]
        return files, max(pages)

    lines = [PLANS[name] for name in ("configs", "trials", "shared", "global")]
    for _ in range(5):
        for text in lines:
            server.ask(text)
            server.ask(text, 2)
    time.sleep(0.5)  # as below
    files, pages = held()
    for _ in range(30):
        for text in lines:
            server.ask(text)
            server.ask(text, 2)
    # Rank 0 answers while others may still have to close what the visit has opened.
    limit = time.monotonic() + 10
    while held()[0] != files and time.monotonic() < limit:
        time.sleep(0.05)
    assert held()[0] == files
    assert held()[1] < pages + 512  # 2 MiB
