"""A recording replayed by SimGrid, with a collective in place of what was made by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.detect import larger_run, simgrid_trace, simulated_replay
from plumbline.detect.analysis import analysed
from plumbline.detect.detecting import detect
from plumbline.detect.savings import LargerRun, SimulatedSaving
from plumbline.detect.simgrid_trace import Instead
from plumbline.measure import unkept
from plumbline.settings import Settings, campaign_file, starting
from plumbline.settings.toolchain import Toolchain
from tests import simgrid
from tests.bench.detection import broadcasts, exchanges, spmd

NPROCS = 8


def machine(nprocs: int, file: Path | None = None) -> tuple[Settings, Toolchain]:
    """A simulated one, of the file or with Open MPI's choices."""
    settings = campaign_file.load(file, {"nprocs": nprocs} | ({} if file else {"simulate": "ompi"}))
    return settings, simgrid.toolchain(settings)


def linear(me: spmd.Rank) -> spmd.Waits:
    for _ in range(3):
        yield from broadcasts.linear(me, me.data(100_000), 0)


def test_a_collective_stands_where_its_first_message_was(tmp_path: Path) -> None:
    recording = spmd.run(4, linear)
    detected = detect(recording)
    instead = {}
    for number, instance in enumerate(detected.instances):
        for message in instance.messages:
            for events in (detected.traffic.send_event, detected.traffic.receive_event):
                instead[int(events[message])] = Instead(number, f"bcast {instance.bytes} 0")
    simgrid_trace.write(recording, tmp_path, instead=instead)
    for rank in range(4):
        words = (tmp_path / f"rank-{rank}.trace").read_text()
        assert words.count(f"{rank} bcast 800000 0") == 3
        assert "send" not in words and "recv" not in words and "wait" not in words


def test_it_is_faster_on_a_cluster() -> None:
    recording = spmd.run(NPROCS, linear)
    settings, toolchain = machine(NPROCS)
    looked = analysed(recording)
    found = simulated_replay.of_recording(toolchain, settings, looked, looked.found)
    (finding,) = found
    told = finding.simulated
    assert told is not None and told.seconds is not None
    # Seven messages of 800 kB leave the root's link one behind the other: 4.5 ms a broadcast.
    assert 3 * 4.4e-3 < told.recorded_seconds < 3 * 6e-3
    assert told.seconds < 0.7 * told.recorded_seconds
    assert told.all_seconds == told.seconds

    larger = campaign_file.load(None, {"simulate": "ompi", "nprocs": 2 * NPROCS})
    with unkept.store_for(toolchain, starting.starter(toolchain, larger), "detect") as store:
        (again,) = simulated_replay.more_ranks(store, found, toolchain.space)
    assert again.simulated is not None
    (row,) = again.simulated.more_ranks
    assert (row.nprocs, row.shape, row.bytes) == (16, "linear", 800_000)
    assert 15 * 0.64e-3 < row.by_hand_seconds < 1.5 * 15 * 0.64e-3
    assert row.default_seconds < 0.5 * row.by_hand_seconds


def test_what_the_simulator_cannot_do_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It aborts with some libraries' broadcasts, and says so."""
    recording = spmd.run(4, linear)
    settings, toolchain = machine(4)
    monkeypatch.setitem(simulated_replay._ACTIONS, "MPI_Bcast", "no_such_action {bytes}")
    looked = analysed(recording)
    (finding,) = simulated_replay.of_recording(toolchain, settings, looked, looked.found)
    told = finding.simulated
    assert told is not None and told.seconds is None and told.all_seconds == told.recorded_seconds
    assert "SimGrid's replay with MPI_Bcast in place ended with status" in told.why


def test_rows_have_no_action() -> None:
    def rows(me: spmd.Rank) -> spmd.Waits:
        group = [rank for rank in range(8) if rank // 4 == me.world_rank // 4]
        yield from broadcasts.linear(me.among(group), me.data(100), 0)

    found = analysed(spmd.run(8, rows)).found
    assert found and not any(map(simulated_replay.can_stand, found))


def all_together(me: spmd.Rank) -> spmd.Waits:
    for _ in range(2):
        yield from broadcasts.linear(me, me.data(10_000), 0)


def and_a_ring(me: spmd.Rank) -> spmd.Waits:
    yield from all_together(me)
    yield from exchanges.allgather_ring(me, 100)


def and_a_message(me: spmd.Rank) -> spmd.Waits:
    yield from all_together(me)
    if me.rank == 1:
        me.send(me.data(3), 2, 9)
    if me.rank == 2:
        yield from me.recv(me.alloc(3), 1, 9)


def test_the_whole_run_on_more_ranks() -> None:
    """Where all that is sent belongs to collectives of all ranks: a linear broadcast grows with
    them, and MPI's own one grows less."""
    runs = {nprocs: run_on(nprocs, all_together) for nprocs in (8, 16)}
    by_hand = [run.by_hand_seconds or 0.0 for run in runs.values()]
    library = [run.seconds or 0.0 for run in runs.values()]
    assert [run.why for run in runs.values()] == ["", ""]
    assert 0 < library[0] < library[1] < by_hand[1]
    assert by_hand[1] > 1.5 * by_hand[0]


def test_what_more_ranks_would_do_is_not_guessed() -> None:
    assert "no multiple" in run_on(6, all_together).why
    left = run_on(8, and_a_message)
    assert left.seconds is None and "1 messages belong to no collective" in left.why
    ring = run_on(8, and_a_ring)
    assert ring.seconds is not None and ring.by_hand_seconds is None
    assert "allgather made by hand" in ring.why


def run_on(nprocs: int, main: spmd.Main) -> LargerRun:
    looked = analysed(spmd.run(4, main))
    settings, toolchain = machine(nprocs)
    simulated = SimulatedSaving("ompi", 1.0, None, None)
    found = [msgspec.structs.replace(each, simulated=simulated) for each in looked.found]
    told = larger_run.on_more_ranks(toolchain, settings, looked, found)[0].simulated
    assert told is not None
    (run,) = told.larger
    return run


def test_a_machine_of_a_campaign_file(tmp_path: Path) -> None:
    """The same run, with links a tenth as fast."""
    looked = analysed(spmd.run(4, all_together))
    seconds = []
    for bandwidth in (1.25e9, 1.25e8):
        file = tmp_path / f"{bandwidth:g}.toml"
        file.write_text(f'[simulate]\nlibrary = "ompi"\nbandwidth_bytes_per_second = {bandwidth}\n')
        settings, toolchain = machine(4, file)
        (finding,) = simulated_replay.of_recording(toolchain, settings, looked, looked.found)
        assert finding.simulated is not None
        seconds.append(finding.simulated.recorded_seconds)
    assert seconds[1] > 3 * seconds[0]
