"""Round trips: which pairs, how many, and against a ping-pong that is not ours."""

from __future__ import annotations

import os
import statistics
import subprocess
from pathlib import Path

import pytest

from plumbline_db.probe_records import Footer, PingPong
from tests import busy
from tests.probes.launch import ENVIRONMENT, Launch, Probe

pytestmark = pytest.mark.mpi
LINES = "pingpong bytes=0 reps=30\npingpong bytes=70000 reps=11\npingpong bytes=8\n"
REPS = {0: 30, 70000: 11, 8: 100}


def trips(launch: Launch) -> list[PingPong]:
    assert launch.code == 0, launch.stderr
    return launch.of(PingPong)


def run(probe: Probe, lines: str, ranks: int, *options: str) -> Launch:
    out = probe.folder / "records.ndjson"
    argv = ["mpirun", "--oversubscribe", *options, "-np", str(ranks), str(probe.binary)]
    return probe.start([*argv, "--plan", str(probe.write(lines)), "--out", str(out)], out)


def test_one_pair_of_each_class(probe: Probe) -> None:
    """Bound to cores, four ranks on two: some share a core, some a socket."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    launch = run(probe, f"set seed=3\n{LINES}", 4, "--bind-to", "core:overload-allowed")
    found = trips(launch)
    binding = launch.header.binding
    classes = {record.pair for record in found}
    assert "same_core" in classes and "other_node" not in classes
    for record in found:
        assert 0 <= record.first < record.second < 4
        same = binding[record.first] == binding[record.second]
        assert (record.pair == "same_core") == same
        assert len(record.round_trip_ns) == REPS[record.bytes]
        assert all(0 < ns < 10**9 for ns in record.round_trip_ns)
    assert len(found) == len(classes) * len(REPS)
    assert len({(record.pair, record.first, record.second) for record in found}) == len(classes)
    assert isinstance(launch.records[-1], Footer)
    assert launch.footer.timed_ns == sum(sum(record.round_trip_ns) for record in found)


def test_after_the_blocks_in_random_order(probe: Probe) -> None:
    lines = "".join(f"pingpong bytes={size} reps=2\n" for size in range(8))
    case = "case id=0 function=MPI_Barrier bytes=0 reps=2\n"
    orders = set()
    for seed in (1, 2):
        launch = probe.run(f"set seed={seed} blocks=1 warmup=0\n{case}{lines}", 2)
        orders.add(tuple(record.bytes for record in trips(launch)))
        kinds = [type(record).__name__ for record in launch.records]
        assert kinds.index("PingPong") > kinds.index("Samples")
    assert len(orders) == 2
    assert all(sorted(order) == list(range(8)) for order in orders)


def test_pairs_change_with_the_seed(probe: Probe) -> None:
    lines = "blocks=0\npingpong bytes=0 reps=1\n"
    found = {
        (record.first, record.second)
        for seed in range(6)
        for record in trips(run(probe, f"set seed={seed} {lines}", 5, "--bind-to", "none"))
        if record.pair in ("same_cache", "same_socket")
    }
    # On several sockets, ranks that are not bound are in no class.
    assert len(found) != 1


def test_one_rank_has_nobody_to_play_with(probe: Probe) -> None:
    assert trips(probe.run(LINES, 1)) == []


@pytest.mark.alone
def test_who_waits_sleeps(probe: Probe, usage: Path, tmp_path: Path) -> None:
    """While two ranks play, the others take next to no processor time (most libraries would spin
    in a receive); rank 0, which waits for results, neither."""
    out = tmp_path / "usage"
    for seed in range(20):  # until rank 0 is not in the pair
        plan = f"set seed={seed} warmup=1\npingpong bytes=8 reps=1\n"
        first = trips(probe.run(plan, 5))
        if not first:
            pytest.skip("ranks are bound to no socket here")
        if all(record.first > 0 for record in first):
            break
    players = {rank for record in first for rank in (record.first, record.second)}
    plan = f"set seed={seed} warmup=1\npingpong bytes=8 reps=500000\n"
    environment = {"LD_PRELOAD": str(usage), "PLUMBLINE_TEST_USAGE": str(out)}
    found = trips(probe.run(plan, 5, environment))
    assert {rank for record in found for rank in (record.first, record.second)} == players
    used = [float(Path(f"{out}.{rank}").read_text()) for rank in range(5)]
    working = min(used[rank] for rank in players)
    waiting = max(used[rank] for rank in set(range(5)) - players)
    assert working > 0.1
    if waiting >= working / 3:
        busy.undecided(f"who waits takes processor time: {used}")


@pytest.mark.alone
def test_against_another_program(probe: Probe, tmp_path: Path) -> None:
    """Half round trips of a program that shares no line with ours, launches taking turns; a factor
    of two either way is noise of the machine."""
    program = tmp_path / "roundtrips"
    source = Path(__file__).with_name("roundtrips.c")
    subprocess.run(["mpicc", "-O2", "-o", str(program), str(source)], check=True, timeout=60)
    sizes = (8, 4096, 65536, 1048576)
    ours: dict[int, list[float]] = {size: [] for size in sizes}
    theirs: dict[int, list[float]] = {size: [] for size in sizes}
    lines = "".join(f"pingpong bytes={size}\n" for size in sizes)
    for seed in range(5):
        for record in trips(probe.run(f"set seed={seed}\n{lines}", 2)):
            ours[record.bytes].append(statistics.median(record.round_trip_ns) / 2)
        done = subprocess.run(
            ["mpirun", "--oversubscribe", "-np", "2", str(program), *map(str, sizes)],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | ENVIRONMENT,
            check=True,
        )
        for line in done.stdout.splitlines():
            theirs[int(line.split()[0])].append(float(line.split()[1]))
    for size in sizes:
        ratio = statistics.median(ours[size]) / statistics.median(theirs[size])
        if not 1 / 2.5 < ratio < 2.5:
            busy.undecided(f"{size} B: {ours[size]} and {theirs[size]}")
