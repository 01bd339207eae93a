"""The contents of a recording, in numbers."""

from __future__ import annotations

import msgspec
import numpy as np

from plumbline.detect.kinds import Flag, Kind
from plumbline.detect.recording import CallSite, Recording

MOST_SITES = 10


class Site(msgspec.Struct, frozen=True):
    """A call site that sends: what it sent, on all ranks."""

    place: str
    frames: list[str]
    messages: int
    bytes: int


class Summary(msgspec.Struct, frozen=True):
    """`matched` messages have both sides, `verified` ones equal contents too. `lost`: events that
    there was no room for. `seconds`: from the first MPI_Init to the last end."""

    folder: str
    command: list[str]
    status: int
    library: str
    ranks: int
    finished: int
    seconds: float
    events: int
    sent: int
    sent_bytes: int
    matched: int
    verified: int
    unmatched: int
    collectives: int
    lost: int
    communicators: int
    functions: dict[str, int]
    sites: list[Site]


def summary(recording: Recording, folder: str, status: int) -> Summary:
    """`functions`: events by the function that began them; collectives once a rank."""
    events = recording.events
    sends = events[(events["kind"] == Kind.SEND) & ((events["flags"] & Flag.CANCELLED) == 0)]
    counted = np.bincount(
        events["function"][events["kind"] != Kind.OUTPUT], minlength=len(recording.functions)
    )
    return Summary(
        folder=folder,
        command=list(recording.command),
        status=status,
        library=recording.library,
        ranks=recording.nprocs,
        finished=sum(rank.finished for rank in recording.ranks),
        seconds=max(rank.end_ns for rank in recording.ranks) / 1e9,
        events=len(events),
        sent=len(sends),
        sent_bytes=int(sends["bytes"].sum()),
        matched=len(recording.messages),
        verified=int(recording.messages["verified"].sum()),
        unmatched=len(recording.unmatched()),
        collectives=int((events["kind"] == Kind.INPUT).sum()),
        lost=sum(rank.lost for rank in recording.ranks),
        communicators=len(recording.communicators),
        functions={
            name: int(count)
            for name, count in zip(recording.functions, counted, strict=True)
            if count
        },
        sites=_sites(recording, sends["call_site"], sends["bytes"]),
    )


def _sites(recording: Recording, numbers: np.ndarray, sizes: np.ndarray) -> list[Site]:
    has_site = numbers >= 0
    count = len(recording.call_sites)
    messages = np.bincount(numbers[has_site], minlength=count)
    total = np.bincount(numbers[has_site], weights=sizes[has_site], minlength=count)
    order = sorted(np.flatnonzero(messages).tolist(), key=lambda site: (-total[site], site))
    return [
        Site(
            place=str(recording.call_sites[site]),
            frames=[str(CallSite((frame,))) for frame in recording.call_sites[site].frames],
            messages=int(messages[site]),
            bytes=int(total[site]),
        )
        for site in order[:MOST_SITES]
    ]
