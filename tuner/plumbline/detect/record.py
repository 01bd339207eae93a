"""One run of a user's command with every rank recorded into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.read import ABOUT, About
from plumbline.detect.record_file import SUFFIX
from plumbline.detect.recording import CallSite, Recording
from plumbline.results.profiling import library_of, recorded_run, usual_environment
from plumbline.system import paths, version
from plumbline_db import scratch
from plumbline_db.errors import UsageError

_MOST_SITES = 10


class _RecordedSite(msgspec.Struct, frozen=True):
    """A call site that sends: what it sent, on all ranks."""

    place: str
    frames: list[str]
    messages: int
    bytes: int


class RecordingSummary(msgspec.Struct, frozen=True):
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
    sites: list[_RecordedSite]


def summary(recording: Recording, folder: str, status: int) -> RecordingSummary:
    """`functions`: events by the function that began them; collectives once a rank."""
    events = recording.events
    sends = events[(events["kind"] == EventKind.SEND) & ((events["flags"] & Flag.CANCELLED) == 0)]
    counted = np.bincount(
        events["function"][events["kind"] != EventKind.OUTPUT], minlength=len(recording.functions)
    )
    return RecordingSummary(
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
        collectives=int((events["kind"] == EventKind.INPUT).sum()),
        lost=sum(rank.lost for rank in recording.ranks),
        communicators=len(recording.communicators),
        functions={
            name: int(count)
            for name, count in zip(recording.functions, counted, strict=True)
            if count
        },
        sites=_sites(recording, sends["call_site"], sends["bytes"]),
    )


def _sites(recording: Recording, numbers: np.ndarray, sizes: np.ndarray) -> list[_RecordedSite]:
    has_site = numbers >= 0
    count = len(recording.call_sites)
    messages = np.bincount(numbers[has_site], minlength=count)
    total = np.bincount(numbers[has_site], weights=sizes[has_site], minlength=count)
    order = sorted(np.flatnonzero(messages).tolist(), key=lambda site: (-total[site], site))
    return [
        _RecordedSite(
            place=str(recording.call_sites[site]),
            frames=[str(CallSite((frame,))) for frame in recording.call_sites[site].frames],
            messages=int(messages[site]),
            bytes=int(total[site]),
        )
        for site in order[:_MOST_SITES]
    ]


LIMIT_BYTES = 256 << 20


def record(
    command: Sequence[str],
    program: Path,
    mpi_prefix: Path | None,
    folder: Path,
    limit_bytes: int = LIMIT_BYTES,
) -> About:
    """Runs `command` to its end; `program` is where its first word was found. Each rank writes at
    most `limit_bytes` into `folder`, which all nodes must see. Raises PlumblineError where no rank
    was recorded."""
    _require_empty(folder)
    family, installation = library_of(program.absolute(), mpi_prefix)
    recorder = paths.layout().recorder(paths.build_id(installation.library))
    folder.mkdir(parents=True, exist_ok=True)
    variables = {
        "PLUMBLINE_RECORD": str(folder.absolute()),
        "PLUMBLINE_RECORD_BYTES": str(limit_bytes),
    }
    with scratch.folder(folder.absolute()) as own:
        environment = usual_environment(family, installation)
        run = recorded_run(command, installation, recorder, variables, own, environment)
    run.require(any(folder.glob(f"rank-*{SUFFIX}")))
    about = About(1, version.PLUMBLINE, list(command), run.started, run.status)
    with scratch.replacing(folder / ABOUT) as path:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=2))
    return about


def _require_empty(folder: Path) -> None:
    if folder.is_dir() and next(folder.iterdir(), None) is not None:
        raise UsageError(f"{folder} is not empty; name another folder for the recording")
