"""Files as librecorder.so writes them, made by hand: for tests of their reader."""

from __future__ import annotations

from typing import Any

import numpy as np

from plumbline.detect import recording
from plumbline.detect.kinds import EventKind
from plumbline.detect.recording import SLOT

NAMES = ("MPI_Send", "MPI_Recv", "MPI_Allreduce")
PIECE = 16


def event(**fields: Any) -> np.ndarray:
    """One slot: a message to rank 0 of MPI_COMM_WORLD, unless `fields` say otherwise."""
    slot = np.zeros(1, SLOT)
    given = {"kind": EventKind.SEND, "site": -1, "blocks": -1, "post": 10, "start": 10, "end": 20}
    for name, value in (given | fields).items():
        slot[name] = value
    return slot


def pieces(table: int, key: int, content: bytes, number: int = 0) -> list[np.ndarray]:
    found = []
    for at in range(0, max(len(content), 1), 64):
        payload = np.frombuffer(content[at : at + 64].ljust(64, b"\0"), np.uint8)
        found.append(
            event(kind=PIECE, function=table, site=key, tag=number, extent=at, payload=payload)
        )
        found[-1]["bytes"] = len(content)
    return found


def members(*ranks: int, key: int = 0, number: int = 0) -> list[np.ndarray]:
    return pieces(1, key, np.array(ranks, "=i4").tobytes(), number)


def rank_file(
    *slots: np.ndarray,
    rank: int = 0,
    nprocs: int = 1,
    boot: bytes = b"one",
    offsets: tuple[tuple[int, int, int], tuple[int, int, int]] = ((0, 0, 0), (0, 0, 0)),
    **more: Any,
) -> bytes:
    """`offsets`: when, rank 0's clock less this one, round trip; at the beginning, at the end."""
    names = b"".join(name.encode().ljust(32, b"\0") for name in NAMES)
    size = recording._HEADER.size + len(names)
    header = recording._Header(
        magic=b"PLRECRD2", byte_order=1, header_bytes=size, slot_bytes=SLOT.itemsize,
        first_slot=size, rank=rank, nprocs=nprocs,
        job=more.get("job", 7), limit=more.get("limit", 1000),
        begin=more.get("begin", 0), end=more.get("end", 1000),
        begin_at=offsets[0][0], begin_offset=offsets[0][1], begin_round_trip=offsets[0][2],
        end_at=offsets[1][0], end_offset=offsets[1][1], end_round_trip=offsets[1][2],
        used=more.get("used", len(slots)), lost=more.get("lost", 0),
        finished=more.get("finished", 1), functions=len(NAMES), boot=boot, host=b"host",
        library=b"Open MPI v4.1.4",
        cpus=sum(1 << cpu for cpu in more.get("cpus", ())).to_bytes(128, "little"),
    )  # fmt: skip
    packed = recording._HEADER.pack(*header)
    return packed + names + b"".join(slot.tobytes() for slot in slots)


def alone() -> bytes:
    """One rank that sends to itself, with a call site and a collective."""
    frames = np.array([0x1234, (1 << 48) | 0x99], "=u8").tobytes()
    send = event(bytes=4, address=64, extent=4, content=5, poly=6, element=5, site=0)
    receive = event(
        kind=EventKind.RECEIVE, function=1, bytes=4, extent=4, content=5, poly=6, element=5
    )
    collective = [event(kind=kind, function=2, operation=1, tag=-1) for kind in (3, 4)]
    return rank_file(
        *members(0),
        *pieces(4, 0, b"/bin/true"),
        *pieces(4, 1, b"/usr/lib/" + b"x" * 90),
        *pieces(3, 0, frames),
        send,
        receive,
        *collective,
    )
