"""Events of traced overlap cells: in order, inside of what was measured, and as they are where the
library's behaviour is known."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from plumbline.overlap.timeline import Timeline, TimelineEvent, clock_of, split, timelines
from plumbline_db.probe_records import ClockError, Overlap, OverlapTrace
from tests import busy
from tests.probes.launch import Launch, Probe
from tests.probes.test_overlap import memory_can_be_read

pytestmark = pytest.mark.mpi
BENCHES = ["sender", "receiver", "both", "vector", "structure", "overhead"]


def of_cells(launch: Launch) -> dict[int, list[Timeline]]:
    """Both parts by cell."""
    if launch.code != 0:
        pytest.fail(launch.stderr)  # whoever else has the processors
    found = {}
    for cell in launch.of(Overlap):
        records = [
            one
            for one in launch.records
            if not isinstance(one, Overlap | OverlapTrace) or one.cell == cell.cell
        ]
        found[cell.cell] = timelines(records, ["communication", "both"])
    return found


def named(timeline: Timeline, rank: int, name: str) -> TimelineEvent:
    (event,) = (one for one in timeline.lanes[rank] if one.name == name)
    return event


def test_events_are_in_order_and_inside_of_the_measured_time(probe: Probe) -> None:
    lines = "".join(
        f"overlap id={number} bench={name} bytes=100000 work_ns=50000 triples=6 traced=4\n"
        for number, name in enumerate(BENCHES)
    )
    launch = probe.run(f"set seed=3\n{lines}", 2)
    cells = of_cells(launch)
    assert [cells[number][0].cell.bench for number in range(len(BENCHES))] == BENCHES
    for one in (part for parts in cells.values() for part in parts):
        assert sorted(one.lanes) == [0, 1] and one.clock.domains == 1
        assert len(one.messages) == (2 if one.cell.bench == "both" else 1)
        for lane in one.lanes.values():
            for event, following in itertools.pairwise(lane):
                assert event.begin_ns <= event.end_ns <= following.begin_ns
        first = 1 if one.lanes[0][0].name == "await" else 0  # waits until it may begin
        assert one.lanes[0][first].begin_ns >= 0
        assert one.lanes[0][-1].end_ns == one.measured_ns
        assert 0 <= split(one, 0)["between"] < one.measured_ns
        for message in one.messages:
            assert message.begin_ns <= message.earliest_ns <= message.latest_ns
            waits = next(e for e in one.lanes[message.receiver] if e.name == "MPI_Wait")
            assert message.latest_ns >= waits.begin_ns or one.part == "both"


def test_only_the_last_triples_are_traced(probe: Probe) -> None:
    lines = "overlap id=0 bench=sender bytes=8 work_ns=9000 triples=9 traced=2\n"
    lines += "overlap id=1 bench=sender bytes=8 work_ns=9000 triples=9\n"
    traces = probe.run(lines, 2).of(OverlapTrace)
    assert {(one.cell, one.triple) for one in traces} == {(0, 7), (0, 8)}
    # Nobody but rank 0 does anything in computation alone.
    assert len(traces) == 2 * 5
    assert {one.rank for one in traces if one.part == "computation"} == {0}


def test_every_message_of_several_arrives_and_is_asked_for(probe: Probe) -> None:
    line = "overlap id=0 bench=both bytes=70000 work_ns=40000 test_ns=10000 requests=3 traced=3\n"
    _, both = of_cells(probe.run(line, 2))[0]
    assert [(one.sender, one.receiver) for one in both.messages] == [(0, 1)] * 3 + [(1, 0)] * 3
    names = [event.name for event in both.lanes[1]]
    assert names.count("MPI_Irecv") == names.count("MPI_Isend") == 3
    assert names.count("computation") == names.count("MPI_Testall") >= 8
    assert names.count("MPI_Waitall") == 2


@pytest.mark.parametrize("mode", ["perfect", "serial"])
def test_a_library_whose_overlap_is_known(probe: Probe, progress: Path, mode: str) -> None:
    """Messages of 300 us beside 600 us of work: Wait has nothing to do, or all of it."""
    line = "overlap id=0 bench=overhead bytes=8 work_ns=600000 triples=20 traced=20\n"
    known = {"LD_PRELOAD": str(progress), "PROGRESS": mode, "PROGRESS_NS": "300000"}

    def check() -> None:
        alone, both = of_cells(probe.run(line, 2, environment=known))[0]
        send, wait = named(alone, 0, "MPI_Send"), named(both, 0, "MPI_Wait")
        assert 300_000 <= send.end_ns - send.begin_ns < 400_000
        spent = split(both, 0)
        assert spent["computation"] > 300_000
        if mode == "serial":
            assert 300_000 <= wait.end_ns - wait.begin_ns == spent["wait"] < 400_000
        else:
            assert spent["wait"] < 100_000

    busy.patiently(check)


@pytest.mark.parametrize(
    ("btl", "calls"),
    [("vader,self", {"process_vm_readv"}), ("tcp,self", {"readv", "writev", "recvmsg", "sendmsg"})],
)
def test_what_the_library_asks_the_kernel_for_is_inside_its_calls(
    probe: Probe, btl: str, calls: set[str]
) -> None:
    """Open MPI copies between processes (CMA), or uses sockets."""
    if "vader" in btl and not memory_can_be_read():
        pytest.skip("processes may not read each other's memory here (no CMA)")
    line = "overlap id=0 bench=receiver bytes=524288 work_ns=20000 triples=8 traced=6\n"
    launch = probe.run(line, 2, environment={"OMPI_MCA_btl": btl})
    if not launch.header.library.startswith("Open MPI v4"):
        pytest.skip("not Open MPI 4")
    _, both = of_cells(launch)[0]
    inside = both.inside[0]
    assert {event.name for event in inside} & calls
    outer = [event for event in both.lanes[0] if event.name != "computation"]
    for event in inside:
        if event.end_ns <= both.measured_ns:
            assert any(a.begin_ns <= event.begin_ns <= event.end_ns <= a.end_ns for a in outer)


def test_the_receiver_copies_while_the_sender_computes(probe: Probe) -> None:
    """Open MPI 4.1, 512 KiB out of the sender's memory: as its side, or in its Wait."""
    if not memory_can_be_read():
        pytest.skip("processes may not read each other's memory here (no CMA)")
    lines = "".join(
        f"overlap id={number} bench={name} bytes=524288 work_ns=400000 triples=20 traced=15\n"
        for number, name in enumerate(("sender", "receiver"))
    )

    def check() -> None:
        launch = probe.run(lines, 2)
        if not launch.header.library.startswith("Open MPI v4"):
            pytest.skip("not Open MPI 4")
        cells = of_cells(launch)
        (_, sender), (_, receiver) = cells[0], cells[1]
        (message,) = sender.messages
        computes = named(sender, 0, "computation")
        assert computes.begin_ns <= message.latest_ns <= computes.end_ns
        waits = named(sender, 1, "MPI_Wait")
        assert waits.end_ns <= message.latest_ns and waits.begin_ns <= message.earliest_ns
        (message,) = receiver.messages
        waits = named(receiver, 0, "MPI_Wait")
        assert waits.begin_ns - 10_000 <= message.earliest_ns < waits.end_ns <= message.latest_ns

    busy.patiently(check)


def test_stamps_of_ranks_with_clocks_of_their_own_are_comparable(probe: Probe) -> None:
    """MPI_Wtime is not known to be one counter: two domains on this node."""
    line = "overlap id=0 bench=both bytes=8 work_ns=20000 triples=9 traced=9\n"
    launch = probe.run(f"set clock=wtime clock_sync=jk\n{line}", 2)
    alone, both = of_cells(launch)[0]
    assert [one.when for one in launch.of(ClockError)] == ["start", "end"]
    clock = clock_of(launch.records)
    assert clock.domains == 2 and clock == both.clock
    for one in (alone, both):
        assert len(one.messages) == 2
        for message in one.messages:
            assert message.begin_ns <= message.latest_ns + 2 * clock.bound_ns + 1000


def test_where_there_is_no_room_the_rest_is_left_out(probe: Probe) -> None:
    line = "overlap id=0 bench=sender bytes=8 work_ns=1000000 test_ns=1000 triples=40 traced=40\n"
    launch = probe.run(line, 2)
    own = [one for one in launch.of(OverlapTrace) if one.rank == 0]
    assert sum(len(one.names) for one in own) == 65536
    assert [one.triple for one in own if "full" in one.names] == [own[-1].triple]
    (found, _) = of_cells(launch)[0]
    assert found.triple < own[-1].triple < 39


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("overlap id=0 bench=sender bytes=1 work_ns=1 traced=101", "100"),
        ("overlap id=0 bench=sender bytes=1 work_ns=1 threads=2 traced=1", "one thread a rank"),
    ],
)
def test_plans_that_make_no_sense(probe: Probe, lines: str, said: str) -> None:
    probe.refuses(f"{lines}\n", said)
