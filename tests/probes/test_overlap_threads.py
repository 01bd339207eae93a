"""Overlap cells with threads: the level that they need, `load`, `multiple`, and helpers."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest

from tests import busy
from tests.probes.launch import ROOT, Probe
from tests.probes.test_overlap import cells

pytestmark = pytest.mark.mpi
FUNNELED = {"PLUMBLINE_THREADS": "funneled"}
MULTIPLE = {"PLUMBLINE_THREADS": "multiple"}
LOAD = "overlap id=0 bench=load bytes=8 work_ns=1000 triples=1 threads=1\n"
TWO = "overlap id=0 bench=multiple bytes=8 work_ns=1000 triples=1 threads=2\n"
HELPER = "overlap id=0 bench=sender bytes=8 work_ns=1000 triples=1 helper=1\n"


@pytest.mark.parametrize(
    ("lines", "environment", "said"),
    [
        (LOAD, {}, "PLUMBLINE_THREADS=funneled"),
        (TWO, FUNNELED, "PLUMBLINE_THREADS=multiple"),
        (HELPER, {}, "PLUMBLINE_THREADS=multiple"),
        (LOAD, {"PLUMBLINE_THREADS": "many"}, "takes 'funneled' or 'multiple'"),
        (LOAD, {"PLUMBLINE_THREADS": ""}, "takes 'funneled' or 'multiple'"),
    ],
)
def test_threads_that_the_library_was_not_asked_for(
    probe: Probe, lines: str, environment: dict[str, str], said: str
) -> None:
    launch = probe.run(lines, 2, environment=environment)
    assert launch.code == 2 and said in launch.stderr
    assert launch.records == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("bench=sender threads=2", "it has no threads"),
        ("bench=multiple", "how many threads"),
        ("bench=openmp", "how many threads"),
        ("bench=openmp threads=2 test_ns=5", "it tests for no message"),
        ("bench=multiple threads=2 requests=2", "no requests but its own"),
        ("bench=load threads=1 test_ns=5", "it tests for no message"),
        ("bench=sender spare=1", "helper=1"),
        ("bench=sender helper=2", "helper=2"),
    ],
)
def test_plans_that_make_no_sense(probe: Probe, line: str, said: str) -> None:
    probe.refuses(f"overlap id=0 bytes=8 work_ns=1 {line}\n", said)


def test_helpers_of_one_plan_are_alike(probe: Probe) -> None:
    probe.refuses(HELPER + HELPER.replace("id=0", "id=1 spare=1"), "all spare or none")


@pytest.mark.alone
def test_threads_compute_while_messages_go(probe: Probe) -> None:
    """Each does the work of the round: alone in the time that was asked for, N of them in no less;
    no thread takes no time."""
    lines = "".join(
        f"overlap id={threads} bench=load bytes=1000 work_ns=200000 triples=7 threads={threads}"
        f" kernel={kernel}\n"
        for threads, kernel in enumerate(("registers", "registers", "memory"))
    )

    def check() -> None:
        found = cells(probe.run(lines, 2, environment=FUNNELED))
        for threads, one in found.items():
            assert (one.threads, one.halves, one.latencies) == (threads, 2, 0)
            assert one.delivered and one.test_ns == 0
            for times in (one.communication_ns, one.computation_ns, one.both_ns):
                assert len(times) == 7 and all(0 <= ns < 10**10 for ns in times)
        middle = {threads: statistics.median(one.computation_ns) for threads, one in found.items()}
        assert middle[0] < 20_000 < 100_000 < middle[1]
        assert middle[2] > 100_000

    busy.patiently(check)


@pytest.mark.alone
def test_threads_on_the_core_of_their_rank_are_felt(probe: Probe) -> None:
    """As many threads as processing units, on each side, busy all the time: of some messages one at
    least waits until the system takes the core from a thread."""
    units = len(os.sched_getaffinity(0))
    line = f"overlap id=0 bench=load bytes=8 work_ns=100000 triples=15 threads={units}\n"

    def check() -> None:
        (one,) = cells(probe.run(line, 2, environment=FUNNELED)).values()
        assert max(one.both_ns) > 3 * statistics.median(one.communication_ns)

    busy.patiently(check)


@pytest.mark.alone
def test_a_parallel_region_computes_beside_a_message(probe: Probe) -> None:
    """Each thread does the work of the cell, so that a region takes no less than its own thread."""
    lines = "".join(
        f"overlap id={threads} bench=openmp bytes=100000 work_ns=200000 triples=7 "
        f"threads={threads} kernel={kernel}\n"
        for threads, kernel in ((1, "registers"), (2, "registers"), (3, "memory"))
    )

    def check() -> None:
        found = cells(probe.run(lines, 2, environment=FUNNELED))
        assert sorted(found) == [1, 2, 3]
        for threads, one in found.items():
            assert one.delivered and (one.threads, one.halves, one.latencies) == (threads, 1, 1)
            assert len(one.both_ns) == 7
            assert statistics.median(one.computation_ns) > 100_000
            assert statistics.median(one.both_ns) > 100_000 > one.communication_ns[0] > 0

    busy.patiently(check)


def test_threads_send_at_the_same_time(probe: Probe) -> None:
    """A message each; the data are checked, also with MPI_Test in the work."""
    lines = "".join(
        f"overlap id={number} bench=multiple bytes={size} work_ns=20000 triples=5 {rest}\n"
        for number, (size, rest) in enumerate(
            [
                (1000, "threads=1"),
                (100_000, "threads=3"),
                (1000, "threads=4 test_ns=5000 kernel=memory"),
            ]
        )
    )
    found = cells(probe.run(lines, 2, environment=MULTIPLE))
    assert [found[number].threads for number in range(3)] == [1, 3, 4]
    for one in found.values():
        assert one.delivered and one.requests == one.threads and one.latencies == 1
        for times in (one.communication_ns, one.computation_ns, one.both_ns):
            assert len(times) == 5 and all(0 < ns < 10**10 for ns in times)


def test_a_message_of_a_thread_that_comes_wrong(probe: Probe, asked: Path) -> None:
    wrong = MULTIPLE | {"LD_PRELOAD": str(asked), "WRONG": "1"}
    (one,) = cells(probe.run(TWO, 2, environment=wrong)).values()
    assert not one.delivered and one.both_ns == []


def test_a_helper_asks_the_library_meanwhile(probe: Probe, asked: Path) -> None:
    """On both ranks; without one nobody asks."""
    counted = MULTIPLE | {"LD_PRELOAD": str(asked)}
    # On a busy machine the helper does not get a processor in each of the triples.
    long = HELPER.replace("work_ns=1000 triples=1", "work_ns=200000 triples=99")
    for line, helped in ((long, True), (long.replace(" helper=1", ""), False)):
        launch = probe.run(line, 2, environment=counted)
        (one,) = cells(launch).values()
        times = [int(found) for found in re.findall(r"asked (\d+) times", launch.stderr)]
        assert one.helper == helped and one.delivered and len(times) == 2
        assert all(count > 0 for count in times) if helped else times == [0, 0]


def test_a_core_of_its_own(probe: Probe) -> None:
    """Two ranks, bound to a core each, and two helpers."""
    argv = ["mpirun", "--oversubscribe", "--bind-to", "core:overload-allowed", "-np", "2"]
    argv += ["-x", "PLUMBLINE_THREADS=multiple", str(probe.binary), "--plan"]
    out = probe.folder / "spare.ndjson"
    plan = probe.write(HELPER.replace("helper=1", "helper=1 spare=1"), "spare")
    launch = probe.start([*argv, str(plan), "--out", str(out)], out)
    if len(os.sched_getaffinity(0)) < 4:
        assert launch.code == 2 and "too few processing units" in launch.stderr
        assert launch.records == []
    else:
        (one,) = cells(launch).values()
        assert one.helper and one.delivered


def test_no_data_race(tmp_path: Path) -> None:
    """The C test of the thread pool, built with the sanitizer of threads."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no gcc")
    flags = ["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fsanitize=thread", "-pthread"]
    flags += [f"-I{ROOT / folder}" for folder in ("tests", "probes")]
    sources = [ROOT / "tests/probes/unit/test_thread_pool.c"]
    sources += [
        ROOT / "probes" / name
        for name in ("overlap/thread_pool.c", "overlap/work.c", "system/units.c")
    ]
    program, empty = tmp_path / "race", tmp_path / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    for what in ([empty], sources):
        words = [compiler, *flags, *map(str, what), "-lm", "-o", str(program)]
        built = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        ran = built.returncode == 0 and subprocess.run(
            [str(program)], capture_output=True, text=True, timeout=60, check=False
        )
        if what == [empty] and (not ran or ran.returncode):
            pytest.skip("the sanitizer of threads does not run here")
    assert ran, built.stderr
    assert ran.returncode == 0 and "data race" not in ran.stderr, ran.stdout + ran.stderr
