"""Files of ranks become one recording; what does not fit is an error that says what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plumbline.detect import read as read_module
from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.read import read
from plumbline.detect.record import summary
from plumbline.detect.recording import SLOT, Recording
from plumbline_db.errors import PlumblineError
from tests.bench.detection import speed
from tests.tuner.detect.rank_files import alone, event, members, pieces, rank_file


def recorded(folder: Path, *files: bytes) -> Recording:
    for rank, content in enumerate(files):
        (folder / f"rank-{rank}.record").write_bytes(content)
    return read(folder)


def test_a_rank_that_sends_to_itself(tmp_path: Path) -> None:
    recording = recorded(tmp_path, alone())
    assert recording.messages["verified"].tolist() == [True]
    assert recording.events["sequence"].tolist() == [-1, -1, 0, 0]
    assert recording.events["call_site"].tolist() == [0, -1, -1, -1]
    assert [frame.module for frame in recording.call_sites[0].frames] == [
        "/bin/true",
        "/usr/lib/" + "x" * 90,
    ]
    assert recording.library == "Open MPI v4.1.4"
    found = summary(recording, "here", 0)
    assert (found.sent, found.sent_bytes, found.matched, found.verified) == (1, 4, 1, 1)
    assert (found.collectives, found.functions) == (
        1,
        {"MPI_Send": 1, "MPI_Recv": 1, "MPI_Allreduce": 1},
    )


def test_ranks_of_the_world(tmp_path: Path) -> None:
    """A communicator with its ranks turned round; each rank has numbers of its own for it."""
    first = rank_file(
        *members(0, 1), *members(1, 0, key=4), event(comm=4, peer=0, content=9), nprocs=2
    )
    other = rank_file(
        *members(0, 1),
        *members(0, 1, key=1, number=1),
        *members(1, 0, key=2),
        event(kind=EventKind.RECEIVE, comm=2, peer=1, content=9),
        rank=1,
        nprocs=2,
    )
    recording = recorded(tmp_path, first, other)
    assert recording.events["peer"].tolist() == [1, 0]
    assert recording.events["comm"].tolist() == [1, 1]
    assert recording.communicators[1].ranks == (1, 0)
    assert recording.messages["verified"].tolist() == [True]


def test_a_peer_that_the_other_group_has_not(tmp_path: Path) -> None:
    """An inter-communicator of three ranks and one."""
    own = [*members(0, 1, 2, 3), *members(0, 1, 2, key=1), *pieces(2, 1, b"\3\0\0\0")]
    first = rank_file(*own, event(comm=1, peer=0), event(comm=1, peer=2), nprocs=4)
    others = [rank_file(*members(0, 1, 2, 3), rank=rank, nprocs=4) for rank in (1, 2, 3)]
    assert recorded(tmp_path, first, *others).events["peer"].tolist() == [3, -1]


def test_ranks_are_read_alike_on_any_number_of_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speed.write(tmp_path, speed.mixed(5, 3))
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(read_module, "processing_units", lambda cores=cores: cores)
        found.append(read(tmp_path))
    assert found[0].events.tobytes() == found[1].events.tobytes()
    assert found[0].messages.tobytes() == found[1].messages.tobytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    recording = speed.mixed(4, 4)
    speed.write(tmp_path, recording)
    found = read(tmp_path)
    assert found.events.tobytes() == recording.events.tobytes()
    assert found.messages.tobytes() == recording.messages.tobytes()


def test_clocks_of_hosts(tmp_path: Path) -> None:
    """Rank 1 and 2 share a clock that is 1000 ns behind rank 0's at 0, and 3000 at 1000; the
    better round trip counts. Zero is the earliest MPI_Init, that of rank 0."""
    slots = [*members(0, 1, 2), event(post=500, start=500, end=500)]
    files = [
        rank_file(*slots, rank=0, nprocs=3, begin=100),
        rank_file(
            *slots, rank=1, nprocs=3, boot=b"two", offsets=((0, 1000, 40), (1000, 9999, 900))
        ),
        rank_file(*slots, rank=2, nprocs=3, boot=b"two", offsets=((0, 777, 60), (1000, 3000, 50))),
    ]
    recording = recorded(tmp_path, *files)
    assert recording.events["post_ns"].tolist() == [400, 2400, 2400]
    assert [rank.error_ns for rank in recording.ranks] == [0, 25, 25]


def test_content_that_nobody_has_seen(tmp_path: Path) -> None:
    flags = [0, Flag.UNKNOWN_CONTENT, Flag.INCOMPLETE, Flag.CANCELLED]
    slots = [event(kind=EventKind.RECEIVE, bytes=4, content=3, flags=flag) for flag in flags]
    recording = recorded(tmp_path, rank_file(*members(0), *slots))
    assert recording.events["content"].tolist() == [3, 0, 0, 0]


def test_a_slot_that_was_being_written(tmp_path: Path) -> None:
    half = pieces(3, 5, b"x" * 80)[0]
    recording = recorded(
        tmp_path, rank_file(*members(0), event(kind=0), half, event(), finished=0, used=99)
    )
    assert len(recording.events) == 1
    assert not recording.ranks[0].finished
    assert recording.ranks[0].end_ns == 20


WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "ends too early"),
    "other": (lambda: b"PLRECRD9" + alone()[8:], "another version"),
    "kind": (lambda: rank_file(*members(0), event(kind=9)), "kind is 9"),
    "peer": (lambda: rank_file(*members(0), event(peer=1)), "no rank 1"),
    "comm": (lambda: rank_file(*members(0), event(comm=3)), "communicator 3"),
    "site": (lambda: rank_file(*members(0), event(site=3)), "call site 3"),
    "time": (lambda: rank_file(*members(0), event(end=1)), "ends before it begins"),
    "poly": (lambda: rank_file(*members(0), event(poly=2**61 - 1)), "poly"),
    "bytes": (lambda: rank_file(*members(0), event(bytes=-1)), "bytes is -1"),
    "ranks": (lambda: rank_file(*members(0, 0), event()), "twice"),
    "function": (lambda: rank_file(*members(0), event(function=3)), "function is 3"),
}


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_wrong(tmp_path: Path, name: str) -> None:
    content, said = WRONG[name]
    with pytest.raises(PlumblineError, match=said):
        recorded(tmp_path, content())


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match="no recording"):
        read(tmp_path)
    first = rank_file(*members(0, 1), nprocs=2)
    with pytest.raises(PlumblineError, match="1 of 2 ranks are missing"):
        recorded(tmp_path, first)
    other = rank_file(*members(0, 1), nprocs=2, rank=1, job=8)
    with pytest.raises(PlumblineError, match="another run"):
        recorded(tmp_path, first, other)


def test_numbers_are_those_of_the_header() -> None:
    """The reader's kinds, modes, flags, elements and functions are those of event.h."""
    text = (Path(__file__).parents[3] / "probes" / "recorder" / "event.h").read_text()
    listed = text.partition("enum pl_element {")[2].partition("}")[0]
    names = [name.strip().removeprefix("PL_") for name in listed.split(",")]
    from plumbline.detect import kinds

    assert names == [element.name for element in kinds.Element]
    for flag in kinds.Flag:
        assert f"PL_{flag.name} = {flag.value}" in text
    assert SLOT.itemsize == 192
    assert np.dtype(SLOT).names is not None


@pytest.mark.parametrize(
    ("cpus", "bind"),
    [
        (((0, 1), (0, 1), (0, 1)), "none"),
        (((0,), (1,), (0,)), "core"),
        (((0, 64), (1, 65), (2, 66)), "core"),
        (((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 2, 3)), "plain"),
        (((0,), (), (1,)), "plain"),
    ],
)
def test_where_ranks_might_run(
    tmp_path: Path, cpus: tuple[tuple[int, ...], ...], bind: str
) -> None:
    files = [
        rank_file(*members(0, 1, 2), rank=rank, nprocs=3, cpus=own) for rank, own in enumerate(cpus)
    ]
    recording = recorded(tmp_path, *files)
    assert tuple(rank.cpus for rank in recording.ranks) == cpus
    assert recording.bind == bind
